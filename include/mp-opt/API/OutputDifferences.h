//===- OutputDifferences.h - Outputs against expected ones ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_OUTPUTDIFFERENCES_H
#define MPOPT_API_OUTPUTDIFFERENCES_H

#include "mp-opt/API/DataSet.h"
#include "mp-opt/Data/Difference.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <optional>

namespace mp {

/// What the relative root mean square error of an output may be.
struct ErrorBound {
  /// What rounding explains, as far as that has been found out.
  double explained = std::numeric_limits<double>::infinity();
  /// What is bearable, whatever explains it.
  double bearable = std::numeric_limits<double>::infinity();

  double get() const { return std::min(explained, bearable); }
};

struct OutputDifference {
  std::string name;
  Difference numbers;
  /// Absent where each element has its tolerance.
  std::optional<ErrorBound> bound = std::nullopt;
  /// How far the reference in its own types is from float64, if that is far.
  std::optional<double> ownError = std::nullopt;
  /// So the numbers are those beside the reference in its own types.
  bool isAgainstOwn = false;
  /// "float[8,4] instead of float[16,4]", where nothing stands side by side.
  std::string otherSizes = {};
  /// No input reaches the output's elements: it is the same for all data.
  bool isConstant = false;

  /// Further off than it may be, or not finite where it should be, or without
  /// any element that can be compared.
  bool isOutside() const;
  /// Why the output proves nothing: "output 'y' is NaN in both"; empty if it
  /// does.
  std::string describeEmpty() const;
};

/// Compares what is expected with the output of its name, or of its place.
/// Fails where there is none, or where it has another type or other sizes.
llvm::Expected<std::vector<OutputDifference>>
compareOutputs(llvm::ArrayRef<NamedTensor> outputs,
               llvm::ArrayRef<NamedTensor> expected, bool isPositional,
               const Tolerance &tolerance);

/// The same with the expected outputs of `data`; fails if there are none.
llvm::Expected<std::vector<OutputDifference>>
compareOutputs(llvm::ArrayRef<NamedTensor> outputs, const DataSet &data,
               const Tolerance &tolerance);

/// True if an output is outside of its bound, or an element of one is outside
/// of the tolerance.
bool isOutside(llvm::ArrayRef<OutputDifference> differences);

/// "nothing compared: output 'y' is NaN in both", where an output has elements
/// but no finite ones, or no output at all proves anything; else empty.
std::string describeEmpty(llvm::ArrayRef<OutputDifference> differences);

/// A table, with the bounds of errors, or with the worst element of each output
/// that is outside of the tolerance.
void printDifferences(llvm::ArrayRef<OutputDifference> differences,
                      llvm::raw_ostream &os);
void printJSON(const OutputDifference &difference, llvm::json::OStream &json);
/// An object with all outputs and, if there are any, their differences.
void printJSON(llvm::ArrayRef<NamedTensor> outputs,
               llvm::ArrayRef<OutputDifference> differences,
               llvm::raw_ostream &os);

} // namespace mp

#endif // MPOPT_API_OUTPUTDIFFERENCES_H
