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

} // namespace mp

#endif // MPOPT_LIB_API_SEARCH_SIZECHANGES_H
