//===- LinalgToLoops.h - Structured ops on buffers as loops -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes one loop nest of each linalg op on memrefs: dimensions that all
// operands hold contiguously are joined, the innermost loop runs over
// contiguous memory, reductions over it accumulate in registers, and loops of
// enough work are runtime.parallel. The division of work does not depend on the
// number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_LINALGTOLOOPS_H
#define MPOPT_CODEGEN_CPU_LINALGTOLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {

/// Replaces `op`, whose operands are memrefs; inside of a runtime.parallel,
/// without further parallel loops. Ranges of parallel loops have about
/// `rangeElements` elements.
mlir::LogicalResult lowerToLoops(mlir::RewriterBase &rewriter,
                                 mlir::linalg::LinalgOp op,
                                 int64_t rangeElements);

/// Replaces a loop over rows by one parallel loop over all of its points.
void lowerToLoops(mlir::RewriterBase &rewriter, mlir::scf::ForallOp forall,
                  int64_t rangeElements);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_LINALGTOLOOPS_H
