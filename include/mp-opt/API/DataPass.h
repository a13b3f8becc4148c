//===- DataPass.h - Judges and hashes data beside other work ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BLAKE3 reads 2 GB a second of one core: too long to wait for where data are
// big, and nothing beside the epochs that read them, too. The same pass tells
// whether a step can be trained on the data.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_DATAPASS_H
#define MPOPT_API_DATAPASS_H

#include "mp-opt/API/DataRules.h"
#include "mp-opt/Data/DataFiles.h"

#include <atomic>
#include <future>

namespace mp {

/// Tensors of one file.
struct ReadData {
  std::string path;
  std::vector<NamedTensor> tensors;
  /// They are batches, not rows.
  bool areBatches = false;
  /// Hashes of them are asked for.
  bool isHashed = false;
};

class DataPass {
public:
  /// Begins to read the elements of all tensors.
  DataPass(std::vector<ReadData> data, llvm::StringMap<DataRule> rules);
  /// Gives up.
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

#endif // MPOPT_API_DATAPASS_H
