//===- ONNXToLinalg.h - A model as a function on tensors --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main graph becomes the function `main` of tensor, linalg, kernel, scf and
// arith ops. Its arguments are the graph's inputs, followed by its bigger
// constants; its results are the outputs. Attributes describe each argument and
// result. Booleans take a byte; integers have no sign.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CONVERSION_ONNXTOLINALG_H
#define MPOPT_CONVERSION_ONNXTOLINALG_H

#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Precision/Analysis/ExcessPrecision.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace mp {

struct ONNXToLinalgOptions {
  /// Sizes of symbolic dimensions, by name.
  llvm::StringMap<int64_t> dims;
  /// Sizes of inputs, by name; where given, they count instead of `dims`.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputSizes;
  /// Roundings of products that only fp32 nodes read are dropped
  /// (ExcessPrecision.h). The last `numWatched` outputs are not readers; they
  /// are fp32 if their values are not rounded.
  bool excessPrecision = false;
  unsigned numWatched = 0;
  /// Gradients of maxima over windows are gathered by the cells of the image,
  /// as devices do it best, and windows at borders are not padded.
  bool gathersPools = false;
};

/// Replaces the main graph of `module`. Fails with one error that lists all
/// nodes without a lowering, or an error at the node. With `excessPrecision`,
/// there are a remark of category `mp-precision` at each node whose rounding is
/// dropped and a note that lists them; `dropped`, if not null, receives them.
mlir::LogicalResult
convertONNXToLinalg(mlir::ModuleOp module, const ONNXToLinalgOptions &options,
                    std::vector<DroppedRounding> *dropped = nullptr);

} // namespace mp

#endif // MPOPT_CONVERSION_ONNXTOLINALG_H
