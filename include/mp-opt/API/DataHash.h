//===- DataHash.h - Hashes training data beside other work ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BLAKE3 reads 2 GB a second of one core: too long to wait for where data are
// big, and nothing beside the epochs that read them, too.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_DATAHASH_H
#define MPOPT_API_DATAHASH_H

#include "mp-opt/Data/DataFiles.h"

#include <atomic>
#include <future>

namespace mp {

class DataHash {
public:
  /// Begins to hash the elements of each tensor.
  explicit DataHash(std::vector<NamedTensor> tensors);
  /// Gives up.
  ~DataHash();

  /// BLAKE3 in hexadecimal digits, by the tensors' names; waits for them.
  const DataAttributes &get();

private:
  DataAttributes compute() const;

  const std::vector<NamedTensor> tensors;
  std::atomic<bool> isGivenUp = false;
  std::future<DataAttributes> pending;
  DataAttributes hashes;
};

} // namespace mp

#endif // MPOPT_API_DATAHASH_H
