//===- StepRecord.h - What training steps give ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_STEPRECORD_H
#define MPOPT_API_STEPRECORD_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

struct StepRecord {
  /// Steps made, this one included, and epochs that were over before it.
  uint64_t step = 0, epoch = 0;
  double loss = 0;
  /// Of a loss that is a sum, by the names of its parts.
  std::vector<std::pair<std::string, double>> parts;
  /// The learning rate, the loss scale, and how many steps it has skipped;
  /// absent where the model has none.
  std::optional<double> rate, scale, skipped;

  void printJSON(llvm::json::OStream &json) const;
};

/// What a run has come to.
struct TrainingResult {
  StepRecord last;
  /// Steps that this run has made.
  uint64_t made = 0;
  double seconds = 0;

  /// "steps 40  loss 0.25  1.2 s  33 steps/s".
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

} // namespace mp

#endif // MPOPT_API_STEPRECORD_H
