//===- ModelValue.h - Inputs and outputs of a model -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_MODELVALUE_H
#define MPOPT_API_MODEL_MODELVALUE_H

#include "mp-opt/API/Model/DataSet.h"
#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/Execution/ModelInterface.h"

namespace mp {

/// An input, with the names of its symbolic dimensions, empty for others.
struct ModelValue : ProgramValue {
  llvm::SmallVector<std::string> dimNames;

  /// "float32[batch,784]", as numpy calls the type.
  std::string describe() const;
};

struct BindingOptions {
  /// The seed of random numbers for inputs without data and default: floats of
  /// N(0, 1), integers and booleans of 0 and 1. An unknown size is taken from
  /// data with a dimension of the same name, else it is 32 (defaultDimension in
  /// Graph/ValueSizes.h). Without a seed no data are made up.
  std::optional<uint64_t> seed;
  /// Gets a warning for data that the model does not take, and notes of types
  /// that were converted and of sizes that were made up.
  MessageFn onMessage;
};

/// Returns one tensor per input, empty for inputs without data. Elements of
/// another type are converted with a note (API/InputFit.h). Fails, naming the
/// tensor, if types or sizes do not fit the model, or if data are missing.
llvm::Expected<std::vector<Tensor>>
bindInputs(llvm::ArrayRef<ModelValue> inputs, const DataSet &data,
           const BindingOptions &options = {});

} // namespace mp

#endif // MPOPT_API_MODEL_MODELVALUE_H
