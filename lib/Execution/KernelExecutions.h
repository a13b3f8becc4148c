//===- KernelExecutions.h - How often blocks of a kernel run ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Basic blocks are visited in topological order without back edges. One
// executes as often as its predecessors branch to it; a header of a loop as
// often as that, times its trip count. Within a loop only branches that stay in
// it share its executions, and its exits share those of the whole loop.
// Branches that depend on the numbers of block and thread alone, such as those
// to the parts of a kernel, are evaluated for a sample of threads; so are trip
// counts, such as those of a causal mask.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_KERNELEXECUTIONS_H
#define MPOPT_LIB_EXECUTION_KERNELEXECUTIONS_H

#include "mp-opt/Execution/KernelCounts.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

#include <map>
#include <optional>
#include <vector>

namespace mp {

class KernelExecutions {
public:
  /// Threads of a launch for which branches are evaluated.
  static constexpr unsigned numSamples = 256;

  KernelExecutions(llvm::Function &kernel, LaunchShape shape,
                   llvm::LoopInfo &loops, llvm::ScalarEvolution &evolution);

  /// Executions of a basic block by a thread, on average.
  double get(llvm::BasicBlock *block) const;

private:
  struct Sample {
    int64_t block = 0, thread = 0;
  };
  /// How often each sample executes a block, divided by the number of samples.
  using Shares = std::vector<float>;

  void leave(llvm::BasicBlock *block);
  std::optional<int64_t> evaluate(const llvm::Value *value,
                                  const Sample &sample, unsigned depth = 16);
  std::optional<int64_t> evaluate(const llvm::SCEV *expression,
                                  const Sample &sample, unsigned depth = 12);
  std::optional<double> findTrips(llvm::Loop *loop, const Sample &sample);
  Shares &getShares(llvm::BasicBlock *block) {
    Shares &shares = executed[block];
    shares.resize(numSamples);
    return shares;
  }

  const LaunchShape shape;
  llvm::LoopInfo &loops;
  llvm::ScalarEvolution &evolution;
  std::vector<Sample> samples;
  std::map<llvm::BasicBlock *, Shares> executed;
  /// Executions of a loop's first block by edges from outside.
  std::map<llvm::Loop *, Shares> entered;
};

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_KERNELEXECUTIONS_H
