//===- DataPass.h - Checks and hashes data concurrently ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BLAKE3 hashes 2 GB per second and core. Large data should not block the start
// of a run for that long, so they are hashed concurrently with the epochs that
// read them. The same pass checks if a step can be trained on the data.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_DATAPASS_H
#define MPOPT_API_TRAIN_DATAPASS_H

#include "mp-opt/API/Model/DataRules.h"
#include "mp-opt/Data/DataFiles.h"

#include <atomic>
#include <future>

namespace mp {

/// Tensors of one file.
struct ReadData {
  std::string path;
  std::vector<NamedTensor> tensors;
  /// The data are batches, not rows.
  bool areBatches = false;
  /// True if hashes of the tensors are requested.
  bool isHashed = false;
};

class DataPass {
public:
  /// Starts reading the elements of all tensors.
  DataPass(std::vector<ReadData> data, llvm::StringMap<DataRule> rules);
  /// Cancels the pass.
  ~DataPass();

  /// BLAKE3 in hexadecimal digits, by the tensors' names; waits for them.
  const DataAttributes &getHashes();
  /// Waits as well. One error for all that breaks a rule.
  llvm::Error check();

private:
  struct Findings {
    DataAttributes hashes;
    std::vector<std::string> faults;
  };
  Findings read() const;
  void read(const ReadData &file, const NamedTensor &data,
            Findings &findings) const;
  void wait();

  const std::vector<ReadData> data;
  const llvm::StringMap<DataRule> rules;
  std::atomic<bool> isGivenUp = false;
  std::future<Findings> pending;
  Findings findings;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_DATAPASS_H
