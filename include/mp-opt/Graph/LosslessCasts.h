//===- LosslessCasts.h - Remove casts that lose nothing ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_LOSSLESSCASTS_H
#define MPOPT_GRAPH_LOSSLESSCASTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Removes these casts from graphs, subgraphs and functions:
///   - casts to the type that the operand has already,
///   - casts that give back what another one has widened; of two casts in a
///     row, the first, if it loses nothing and has no other user,
///   - casts of constants of at most 1024 whole numbers that fit: the constant
///     gets the type.
/// Casts whose result is an output, casts for which the user has a rule
/// (mp.class), values that training algorithms name, and scopes in which no
/// classified node is allowed are left alone. Returns the number of removed
/// casts that a pass had inserted. A second call changes nothing.
int64_t removeLosslessCasts(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_GRAPH_LOSSLESSCASTS_H
