//===- ObservedRanges.h - Ranges of values in data --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics of the values of a model, from fp32 runs on data: which of them
// fit into 16 bit. A file of ranges and the metadata of a model contain them as
// JSON:
//
//   {"format": "mp-opt.ranges", "version": 1, "model": "9f...", "batches": 8,
//    "fields": ["max", "energy", "lost", "smallest", "partial"],
//    "values": {"h": [4.5, 812.1, 1.2e-12, null, 300], ...}}
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_DATA_OBSERVEDRANGES_H
#define MPOPT_PRECISION_DATA_OBSERVEDRANGES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>
#include <string>

namespace mp {

/// One value in all batches. Elements that mask a softmax do not count.
struct ObservedRange {
  /// The greatest magnitude; infinite if an element is not finite.
  double max = 0;
  /// The sum of squares of all elements, and that of the errors that fp16 makes
  /// of elements below its normal numbers (2^-14), which it flushes to zero or
  /// to a multiple of 2^-24.
  double energy = 0, lost = 0;
  /// The smallest magnitude above zero, for values that divide; infinite if all
  /// elements are zero.
  std::optional<double> smallest = {};
  /// The greatest magnitude that a partial sum can have, in any order of the
  /// terms, in the sum or mean that computes the value.
  std::optional<double> partial = {};

  /// The part of the energy that fp16 loses.
  double getLostShare() const;
  void merge(const ObservedRange &other);
};

class ObservedRanges {
public:
  /// Reads JSON. The error names what was found and expected.
  static llvm::Expected<ObservedRanges> parse(llvm::StringRef text);
  /// Reads a file; the error begins with its path.
  static llvm::Expected<ObservedRanges> read(llvm::StringRef path);

  /// Prints JSON with a line for each value or, for metadata, in one line with
  /// four digits per number.
  void print(llvm::raw_ostream &os, bool isCompact) const;
  /// Writes a file atomically.
  llvm::Error write(llvm::StringRef path) const;

  /// Fails if `other` is of another model.
  llvm::Error merge(const ObservedRanges &other);

  /// The structure of the model as it was read (getStructureDigest); empty if
  /// the ranges are of a training run, whose values are found by their names.
  std::string model;
  uint64_t batches = 0;
  /// Ranges by the names of values; `NAME:value` in the body of a function.
  std::map<std::string, ObservedRange> values;
};

} // namespace mp

#endif // MPOPT_PRECISION_DATA_OBSERVEDRANGES_H
