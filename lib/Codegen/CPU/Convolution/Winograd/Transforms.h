//===- Transforms.h - Matrices of short convolutions ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_TRANSFORMS_H
#define MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_TRANSFORMS_H

#include "../../Contract/LoopBuilder.h"

namespace mp::kernel {

/// A matrix as a list of rows.
using Factors = llvm::SmallVector<llvm::SmallVector<double>>;

/// The matrices by which `results` neighbouring sums over a filter of `length`
/// positions take results + length - 1 products:
///
///     sums ((filter g) * (patch d)),  * by element.
///
/// They come from values of polynomials at as many points, infinity among
/// them (Cook and Toom).
struct ShortConvolution {
  ShortConvolution(int64_t results, int64_t length);
  int64_t getNumPlaces() const { return patchFactors.size(); }

  int64_t results;
  /// Matrices of places x places, places x filter positions, results x places.
  Factors patchFactors, filterFactors, sumFactors;
};

/// The product of a matrix with a column of floats, scalars or vectors.
llvm::SmallVector<mlir::Value> multiply(LoopBuilder &e, const Factors &factors,
                                        llvm::ArrayRef<mlir::Value> values);

/// The same along both dimensions of a square of values: `read` returns line i
/// of it, `store` gets, for each place of the results' lines, their elements.
void transformSquare(
    LoopBuilder &e, const Factors &factors,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t)> read,
    llvm::function_ref<void(int64_t, llvm::ArrayRef<mlir::Value>)> store);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONVOLUTION_WINOGRAD_TRANSFORMS_H
