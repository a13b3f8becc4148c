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

/// Replaces elements by their means over all ranks: the sum, in the order of
/// ranks and from +0 on, divided by the number of ranks. The bytes that this
/// rank sends are added to `sent`. With `isWireBF16`, what is sent is rounded
/// to bf16: elements, and means.
llvm::Error makeMeans(Communicator &ranks, llvm::ArrayRef<Member<float>> bucket,
                      bool isWireBF16, uint64_t &sent);
llvm::Error makeMeans(Communicator &ranks,
                      llvm::ArrayRef<Member<double>> bucket, uint64_t &sent);

/// Replaces flags, bytes, by 1 where all ranks have not 0, else by 0.
llvm::Error makeConjunctions(Communicator &ranks,
                             llvm::ArrayRef<Member<char>> bucket,
                             uint64_t &sent);

} // namespace mp

#endif // MPOPT_LIB_COLLECTIVES_ORDEREDMEAN_H
