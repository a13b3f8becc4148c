//===- ModelValue.h - What a model takes ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODELVALUE_H
#define MPOPT_API_MODELVALUE_H

#include "mp-opt/API/DataSet.h"
#include "mp-opt/Execution/ModelInterface.h"

namespace mp {

/// An input, with the names of its symbolic dimensions, empty for others.
struct ModelValue : ProgramValue {
  llvm::SmallVector<std::string> dimNames;

  /// "float[batch,784]".
  std::string describe() const;
};

/// Fails unless `tensor` is what `input` takes.
llvm::Error checkInput(const ModelValue &input, const Tensor &tensor);

/// One tensor for each of `inputs`, those without data empty. What is missing
/// and has no default is made of random numbers if there is a seed: floats of
/// N(0, 1), integers and booleans of 0 and 1. Fails, naming the tensor, where
/// names, types or sizes differ from what the model takes, or data are missing.
llvm::Expected<std::vector<Tensor>>
bindInputs(llvm::ArrayRef<ModelValue> inputs, const DataSet &data,
           std::optional<uint64_t> seed = std::nullopt);

} // namespace mp

#endif // MPOPT_API_MODELVALUE_H
