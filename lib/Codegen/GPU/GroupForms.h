//===- GroupForms.h - What groups look like ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_GROUPFORMS_H
#define MPOPT_LIB_CODEGEN_GPU_GROUPFORMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {

/// The branch around all that a group does, if there is one: without results,
/// around one op. Its condition is for all threads the same.
mlir::scf::IfOp findGuard(mlir::Block &body);

/// What a map leaves everywhere in its one output, if it is the same number,
/// from outside of the map; null otherwise.
mlir::Value getFilling(mlir::linalg::GenericOp op);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_GROUPFORMS_H
