//===- QuantizedOperators.h - com.microsoft's in ONNX's ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_QUANTIZEDOPERATORS_H
#define MPOPT_LIB_CONVERSION_QUANTIZEDOPERATORS_H

#include "mp-opt/Autodiff/Decompositions.h"

namespace mp {

/// The decomposition into ONNX operators of an operator on quantized values
/// that onnxruntime's quantizer writes; null for all others.
const Decomposition *findQuantizedDecomposition(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_QUANTIZEDOPERATORS_H
