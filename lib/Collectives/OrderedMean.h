//===- OrderedMean.h - Means whose bits are known ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_COLLECTIVES_ORDEREDMEAN_H
#define MPOPT_LIB_COLLECTIVES_ORDEREDMEAN_H

#include "mp-opt/Collectives/Communicator.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mp {

/// Elements of one type, one member of a bucket.
template <typename T> using Member = llvm::MutableArrayRef<T>;

/// Replaces elements, float or double, by their means over all ranks: the sum,
/// in the order of ranks and from +0 on, divided by the number of ranks. The
/// bytes that this rank sends are added to `sent`. With `isWireBF16`, what is
/// sent of floats is rounded to bf16: elements, and means.
template <typename T>
llvm::Error makeMeans(Communicator &ranks, llvm::ArrayRef<Member<T>> bucket,
                      bool isWireBF16, uint64_t &sent);

/// The same without the division, and never rounded.
template <typename T>
llvm::Error makeSums(Communicator &ranks, llvm::ArrayRef<Member<T>> bucket,
                     uint64_t &sent);

/// The means of those elements that this rank owns: of a member of n, rank r
/// of N has those from r n / N on and in front of (r + 1) n / N, rounded down.
template <typename T>
llvm::Error scatterMeans(Communicator &ranks, llvm::ArrayRef<Member<T>> bucket,
                         bool isWireBF16, uint64_t &sent);

/// Replaces what other ranks own by what they have; of floats, with
/// `isWireBF16`, rounded to bf16.
template <typename T>
llvm::Error gatherRanges(Communicator &ranks, llvm::ArrayRef<Member<T>> bucket,
                         bool isWireBF16, uint64_t &sent);

/// The means of a table of `size` rows, of which all but `rows`, in ascending
/// order, are zero on this rank: rows travel with their indices. False where
/// all of them are fewer bytes, or where a rank has a row that there is not:
/// the table is as it was then, on all ranks.
llvm::Expected<bool> makeRowMeans(Communicator &ranks, Member<float> table,
                                  llvm::ArrayRef<int64_t> rows, int64_t size,
                                  bool isWireBF16, uint64_t &sent);

/// Replaces flags, bytes, by 1 where all ranks have not 0, else by 0.
llvm::Error makeConjunctions(Communicator &ranks,
                             llvm::ArrayRef<Member<char>> bucket,
                             uint64_t &sent);

} // namespace mp

#endif // MPOPT_LIB_COLLECTIVES_ORDEREDMEAN_H
