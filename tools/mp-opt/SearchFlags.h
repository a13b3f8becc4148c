//===- SearchFlags.h - Flags of bisect and reduce ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SEARCHFLAGS_H
#define MPOPT_TOOLS_SEARCHFLAGS_H

#include "Flags.h"
#include "Interrupt.h"

#include "mp-opt/API/Search/CandidateSearch.h"

#include "mlir/IR/DialectRegistry.h"

namespace mp {

/// Flags that bisect and reduce share. The object must live until the search
/// ends.
struct SearchFlags {
  /// `tool` begins messages: "mp-opt bisect".
  SearchFlags(Flags &flags, llvm::StringRef tool);

  /// Parses the arguments, which must name one model; returns an exit code if
  /// the run is over.
  std::optional<int> parse(llvm::ArrayRef<const char *> arguments,
                           mlir::DialectRegistry &registry);
  ModelOptions getModelOptions() const;
  /// Prepares a search with `check`, or with the command of --check without
  /// one.
  llvm::Expected<CandidateSearch> open(std::unique_ptr<ModelCheck> check = {});

  /// Reports an error of the search; returns its exit code.
  int report(llvm::Error error) const;
  void say(mlir::DiagnosticSeverity severity, const llvm::Twine &text) const;
  /// Reports that the check answers the opposite of what the search needs,
  /// with the end of what it has printed; returns the exit code.
  int refuse(const llvm::Twine &text, const CheckAnswer &answer) const;
  /// Reports a signal; returns the exit code.
  int reportInterrupt(uint64_t runs) const;

  Flags &flags;
  llvm::StringRef tool;
  std::string input, output, check, data, state, schemas;
  std::vector<std::string> roots;
  CheckLevel level = CheckLevel::Lenient;
  uint64_t timeout = 0, maxRuns = 1000;
  bool isJSON = false;

private:
  Interrupt interrupt;
};

} // namespace mp

#endif // MPOPT_TOOLS_SEARCHFLAGS_H
