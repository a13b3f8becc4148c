//===- LinkedCode.h - Object files in this process --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_LINKEDCODE_H
#define MPOPT_LIB_EXECUTION_LINKEDCODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace llvm::orc {
class ExecutionSession;
class JITDylib;
class ObjectLinkingLayer;
} // namespace llvm::orc

namespace mp {

/// Object files that are linked in this process. They may come from a compiler
/// or from the cache.
class LinkedCode {
public:
  using Symbols = std::vector<std::pair<std::string, const void *>>;

  LinkedCode();
  ~LinkedCode();

  /// `symbols` are definitions that the objects may use in addition to those of
  /// this process.
  llvm::Error link(std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects,
                   const Symbols &symbols);
  /// Finds a function or variable of the objects.
  llvm::Expected<void *> find(llvm::StringRef name) const;

private:
  llvm::Error define(const Symbols &symbols);

  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  llvm::orc::JITDylib *library = nullptr;
};

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_LINKEDCODE_H
