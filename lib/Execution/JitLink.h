//===- JitLink.h - Machine code of PTX by nvJitLink -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nvJitLink is CUDA's library for linking device code. It includes the
// assembler of ptxas and is often installed without CUDA's programs: Python
// packages of GPU frameworks contain it. It is opened on demand.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_JITLINK_H
#define MPOPT_LIB_EXECUTION_JITLINK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mp {

class JitLink {
public:
  /// Opens libnvJitLink.so.13 or .12 from the loader's path, or the file named
  /// by MPOPT_NVJITLINK. Null if there is no such library; errors explain why
  /// the library that was found cannot be used. It is opened once and never
  /// closed.
  static llvm::Expected<const JitLink *> find();

  /// A cubin of `ptx` for `chip`. Errors are the library's.
  llvm::Expected<std::string> assemble(llvm::StringRef ptx,
                                       llvm::StringRef chip) const;

private:
  /// Signatures as in nvJitLink.h: results are zero for success, and a handle
  /// is a pointer.
  using Handle = void *;
  int (*create)(Handle *, uint32_t numOptions, const char **options) = nullptr;
  int (*addData)(Handle, int kind, const void *data, size_t size,
                 const char *name) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*getCubinSize)(Handle, size_t *) = nullptr;
  int (*getCubin)(Handle, void *) = nullptr;
  int (*getLogSize)(Handle, size_t *) = nullptr;
  int (*getLog)(Handle, char *) = nullptr;
  int (*destroy)(Handle *) = nullptr;

  /// Fails if the file at `path` is not the library.
  llvm::Error open(const std::string &path);
  llvm::Error describe(Handle handle, llvm::StringRef chip, int code) const;

  friend struct FoundJitLink;
};

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_JITLINK_H
