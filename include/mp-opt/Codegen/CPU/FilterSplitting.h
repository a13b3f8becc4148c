//===- FilterSplitting.h - Convolutions as sums -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_FILTERSPLITTING_H
#define MPOPT_CODEGEN_CPU_FILTERSPLITTING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Makes a contraction for each filter position of convolutions on tensors if
/// the positions are so far apart that most of them read the padding of the
/// image: with 3 x 3 positions that are 12 pixels apart, 82 of 100 reads from
/// an image of 14 x 14 are zeros. Each contraction adds to the results whose
/// filter position is in the image. The last one, whose position is in the
/// image for all results, has the epilogue. Sizes of images have to be known;
/// those of batches do not matter.
void splitFilters(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_FILTERSPLITTING_H
