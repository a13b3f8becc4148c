//===- Summary.h - The table at the end of a run ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUMMARY_H
#define MPOPT_TOOLS_SUMMARY_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace mp {

/// The bytes of all initializers and constants of known size.
uint64_t countWeightBytes(mlir::ModuleOp module);

/// What the precision pipeline says it did.
struct Summary {
  std::string precision;
  int64_t low = 0;
  int64_t f32 = 0;
  int64_t other = 0;
  int64_t castsInserted = 0;
  int64_t castsRemoved = 0;
  int64_t elementsToZero = 0;
  int64_t masksClamped = 0;

  void print(llvm::raw_ostream &os, uint64_t bytesBefore,
             uint64_t bytesAfter) const;
};

/// Takes the summary off the module; absent if no pipeline left one.
std::optional<Summary> takeSummary(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_TOOLS_SUMMARY_H
