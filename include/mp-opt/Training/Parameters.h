//===- Parameters.h - The values that training starts from ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_PARAMETERS_H
#define MPOPT_TRAINING_PARAMETERS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

/// Fails with an error that names the first element of the parameter's value
/// that is NaN or infinite: no step would make it, or what it is multiplied
/// with, a number again. Elements that cannot be read pass.
mlir::LogicalResult checkFinite(onnxir::InitializerOp parameter);

} // namespace mp

#endif // MPOPT_TRAINING_PARAMETERS_H
