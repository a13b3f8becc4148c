//===- CausalMask.h - Keys that no query attends to -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_CAUSALMASK_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_CAUSALMASK_H

#include "AttentionPlan.h"

namespace mp::kernel::tiling {

/// The comparison of indices that masks the scores of all later keys; absent if
/// they are not known to be masked. Scores that a comparison replaces, or adds
/// to, by minus infinity are masked; so are those by a number below -1e30,
/// unless other operands or comparisons could mask the whole row.
std::optional<CausalMask> getCausalMask(const AttentionShape &shape);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_CAUSALMASK_H
