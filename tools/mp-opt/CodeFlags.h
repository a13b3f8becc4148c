//===- CodeFlags.h - What the command line says of code ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_CODEFLAGS_H
#define MPOPT_TOOLS_CODEFLAGS_H

#include "CodeOutput.h"

#include "llvm/Support/CommandLine.h"

namespace mp {

/// Prints what --help=code says.
void printCodeHelp();

/// The flags of --emit=llvm, obj and lib, as LLVM's parser knows them.
struct CodeFlags {
  explicit CodeFlags(llvm::cl::OptionCategory &category) : category(category) {}

  /// Fails where they contradict themselves or each other; `isCode` if they
  /// have anything to speak of.
  llvm::Error check(bool isCode) const;
  void fill(CodeOptions &options) const;

  llvm::cl::OptionCategory &category;
  llvm::cl::opt<std::string> target{
      "target", llvm::cl::desc("system that code is made for"),
      llvm::cl::value_desc("triple"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> cpu{
      "cpu", llvm::cl::desc("processor that code is made for"),
      llvm::cl::value_desc("name"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> kernels{
      "kernels", llvm::cl::init("auto"),
      llvm::cl::desc("how 16-bit operands are multiplied"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> inPlace{
      "in-place", llvm::cl::desc("write next states over their inputs"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> symbols{
      "symbols", llvm::cl::desc("start of names in C"),
      llvm::cl::value_desc("prefix"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> linker{"cc", llvm::cl::desc("links libraries"),
                                    llvm::cl::value_desc("program"),
                                    llvm::cl::cat(category)};
  llvm::cl::opt<std::string> runtime{
      "runtime", llvm::cl::desc("run-time library of another target"),
      llvm::cl::value_desc("file"), llvm::cl::cat(category)};
};

} // namespace mp

#endif // MPOPT_TOOLS_CODEFLAGS_H
