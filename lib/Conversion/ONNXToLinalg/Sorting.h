//===- Sorting.h - Code that sorts ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_SORTING_H
#define MPOPT_LIB_CONVERSION_SORTING_H

#include "Emitter.h"

namespace mp {

/// Returns an i1 that is true if item x (an index in [0, count)) goes before
/// item y. Any answer is safe.
using BeforeFn = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

/// The indices in [0, count), int64, in the order of `before`; ties are ordered
/// by index. A bottom-up merge sort.
TensorValue sortIndices(Emitter &e, Size count, BeforeFn before);

/// x < y for elements, where NaN is the greatest.
mlir::Value isLess(Scalars &s, mlir::Value x, mlir::Value y, bool isUnsigned);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_SORTING_H
