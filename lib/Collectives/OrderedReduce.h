//===- OrderedReduce.h - Reductions whose bits are known --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_COLLECTIVES_ORDEREDREDUCE_H
#define MPOPT_LIB_COLLECTIVES_ORDEREDREDUCE_H

#include "mp-opt/Collectives/Communicator.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mp {

/// Elements of one type, one member of a bucket.
template <typename T> using Member = llvm::MutableArrayRef<T>;

/// Replaces float or double elements by the result of an mp_operation over all
/// ranks. Sums follow the order of ranks, from +0 on. The number of bytes that
/// this rank sends is added to `sent`. With `isWireBF16`, floats of a mean or a
/// scatter, and their means, are rounded to bf16 before they are sent.
template <typename T>
llvm::Error orderedReduce(Communicator &ranks, llvm::ArrayRef<Member<T>> bucket,
                          int32_t operation, bool isWireBF16, uint64_t &sent);

/// Computes the means of a table of `size` rows, all of which are zero on this
/// rank except `rows`, which are in ascending order. Rows are sent with their
/// indices. Returns false, with the table unchanged on all ranks, if sending
/// the whole table takes fewer bytes, or if a rank has an invalid row.
llvm::Expected<bool> allReduceRowMean(Communicator &ranks, Member<float> table,
                                      llvm::ArrayRef<int64_t> rows,
                                      int64_t size, bool isWireBF16,
                                      uint64_t &sent);

/// Replaces each flag byte by 1 if it is nonzero on all ranks, else by 0.
llvm::Error allReduceAnd(Communicator &ranks,
                         llvm::ArrayRef<Member<char>> bucket, uint64_t &sent);

} // namespace mp

#endif // MPOPT_LIB_COLLECTIVES_ORDEREDREDUCE_H
