//===- SizeChanges.h - Types of a model whose sizes have changed -*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_SEARCH_SIZECHANGES_H
#define MPOPT_LIB_API_SEARCH_SIZECHANGES_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Makes the sizes of all results of nodes and of outputs unknown.
void forgetTypes(mlir::ModuleOp module);

/// Adds types that the model does not store, as far as they can be inferred.
void inferTypes(mlir::ModuleOp module);

/// Describes the outputs by the types of their values, if all ranks are known.
/// ONNX demands the ranks of outputs.
void describeOutputs(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_LIB_API_SEARCH_SIZECHANGES_H
