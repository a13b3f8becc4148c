//===- Accuracy.h - Counts correctly classified labels ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_ACCURACY_H
#define MPOPT_API_RUN_ACCURACY_H

#include "mp-opt/Data/Tensor.h"

#include "llvm/Support/JSON.h"

namespace mp {

struct Accuracy {
  /// The output with the scores, and the axis of its classes.
  std::string output;
  unsigned axis = 1;
  uint64_t correct = 0, count = 0;

  double get() const { return double(correct) / double(count); }
  /// "accuracy 0.975 (1755 of 1800) of 'logits'".
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::json::OStream &json) const;
};

/// Counts how often the class with the greatest score is the label. The scores
/// are the first float output that has the sizes of the labels plus one axis:
/// the axis after the batch, or the last one. Negative labels do not count.
/// Fails if there is no such output, or if labels are not classes.
llvm::Expected<Accuracy> computeAccuracy(llvm::ArrayRef<NamedTensor> outputs,
                                         const NamedTensor &labels);

} // namespace mp

#endif // MPOPT_API_RUN_ACCURACY_H
