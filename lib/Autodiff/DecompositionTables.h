//===- DecompositionTables.h - The families of decompositions ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is one table per file of Decompositions/.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_DECOMPOSITIONTABLES_H
#define MPOPT_LIB_AUTODIFF_DECOMPOSITIONTABLES_H

#include "mp-opt/Autodiff/Decompositions.h"

namespace mp {

llvm::ArrayRef<Decomposition> getActivationDecompositions();
llvm::ArrayRef<Decomposition> getArithmeticDecompositions();
llvm::ArrayRef<Decomposition> getBookkeepingDecompositions();
llvm::ArrayRef<Decomposition> getBroadcastDecompositions();
llvm::ArrayRef<Decomposition> getConvolutionDecompositions();
llvm::ArrayRef<Decomposition> getDropoutDecompositions();
llvm::ArrayRef<Decomposition> getIndexingDecompositions();
llvm::ArrayRef<Decomposition> getLossDecompositions();
llvm::ArrayRef<Decomposition> getNormalizationDecompositions();
llvm::ArrayRef<Decomposition> getPoolingDecompositions();
llvm::ArrayRef<Decomposition> getRecurrentDecompositions();
llvm::ArrayRef<Decomposition> getRecurrentGradDecompositions();
llvm::ArrayRef<Decomposition> getResizeDecompositions();

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_DECOMPOSITIONTABLES_H
