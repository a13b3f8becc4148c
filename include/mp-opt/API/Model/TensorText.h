//===- TensorText.h - Tensors as users see them -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_TENSORTEXT_H
#define MPOPT_API_MODEL_TENSORTEXT_H

#include "mp-opt/Data/Tensor.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mp {

/// Statistics of the elements of a tensor.
struct TensorRange {
  explicit TensorRange(const Tensor &tensor);

  int64_t count = 0, nans = 0, infinities = 0;
  /// Over finite elements; `least > greatest` if there are none.
  double least, greatest, mean = 0;
};

/// Prints one line per tensor: name, type, range.
void printTable(llvm::ArrayRef<NamedTensor> tensors, llvm::raw_ostream &os);
/// Prints the same and a few elements.
void printValues(llvm::ArrayRef<NamedTensor> tensors, llvm::raw_ostream &os);
/// Prints the same as an object.
void printJSON(const NamedTensor &named, llvm::json::OStream &json);

/// "1.5", "-3.40282e+38".
std::string formatShort(double number);
/// Formats an error with three digits: "0.00123".
std::string formatError(double number);
/// Formats a share of 1 with two digits: "1.6 %".
std::string formatPercent(double share);
/// A number in JSON; null if it is not finite.
llvm::json::Value toJSON(double number);

/// Pads a text to at least `width` characters.
std::string pad(llvm::StringRef text, size_t width);
std::string padLeft(llvm::StringRef text, size_t width);

} // namespace mp

#endif // MPOPT_API_MODEL_TENSORTEXT_H
