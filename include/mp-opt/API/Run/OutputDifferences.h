//===- OutputDifferences.h - Outputs against expected ones ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_OUTPUTDIFFERENCES_H
#define MPOPT_API_RUN_OUTPUTDIFFERENCES_H

#include "mp-opt/API/Model/DataSet.h"
#include "mp-opt/Data/Difference.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <optional>

namespace mp {

/// The bounds of an output's relative root mean square error.
struct ErrorBound {
  /// The error that rounding explains; infinite if unknown.
  double explained = std::numeric_limits<double>::infinity();
  /// The error that is acceptable for any cause.
  double bearable = std::numeric_limits<double>::infinity();

  double get() const { return std::min(explained, bearable); }
};

struct OutputDifference {
  std::string name;
  Difference numbers;
  /// Absent if each element has a tolerance instead.
  std::optional<ErrorBound> bound = std::nullopt;
  /// The error of the reference in its own types against float64, if large.
  std::optional<double> ownError = std::nullopt;
  /// The numbers compare with the reference in its own types, because of
  /// `ownError`.
  bool isAgainstOwn = false;
  /// "float[8,4] instead of float[16,4]" if sizes differ, so that nothing can
  /// be compared.
  std::string otherSizes = {};
  /// The output's elements do not depend on any input.
  bool isConstant = false;

  /// True if the output exceeds its bound, is not finite where it should be, or
  /// has no element that can be compared.
  bool isOutside() const;
  /// The reason why the output proves nothing: "output 'y' is NaN in both";
  /// empty if it does prove something.
  std::string describeEmpty() const;
};

/// Compares expected tensors with the outputs of the same names or, if
/// `isPositional`, the same indices. Floats may have different types. Fails if
/// an output is missing, or has other sizes or another kind of type.
llvm::Expected<std::vector<OutputDifference>>
compareOutputs(llvm::ArrayRef<NamedTensor> outputs,
               llvm::ArrayRef<NamedTensor> expected, bool isPositional,
               const Tolerance &tolerance);

/// Compares with the expected outputs of `data`; fails if there are none.
llvm::Expected<std::vector<OutputDifference>>
compareOutputs(llvm::ArrayRef<NamedTensor> outputs, const DataSet &data,
               const Tolerance &tolerance);

/// True if an output is outside of its bound, or an element of one is outside
/// of the tolerance.
bool isOutside(llvm::ArrayRef<OutputDifference> differences);

/// "nothing compared: output 'y' is NaN in both" if an output has elements but
/// no finite ones, or if no output proves anything; otherwise empty.
std::string describeEmpty(llvm::ArrayRef<OutputDifference> differences);

/// Prints a table with the bounds of errors, or with the worst element of each
/// output that is outside of the tolerance.
void printDifferences(llvm::ArrayRef<OutputDifference> differences,
                      llvm::raw_ostream &os);
void printJSON(const OutputDifference &difference, llvm::json::OStream &json);
/// Prints an object with all outputs and, if there are any, their differences.
void printJSON(llvm::ArrayRef<NamedTensor> outputs,
               llvm::ArrayRef<OutputDifference> differences,
               llvm::raw_ostream &os);

} // namespace mp

#endif // MPOPT_API_RUN_OUTPUTDIFFERENCES_H
