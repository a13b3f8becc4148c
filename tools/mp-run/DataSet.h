//===- DataSet.h - What a model is fed with ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_DATASET_H
#define MPOPT_TOOLS_DATASET_H

#include "Flags.h"

#include "mp-opt/Data/DataFiles.h"
#include "mp-opt/Execution/Program.h"

namespace mp {

/// An input, with the names of its symbolic dimensions, empty for others.
struct ModelValue : ProgramValue {
  llvm::SmallVector<std::string> dimNames;

  /// "float[batch,784]".
  std::string describe() const;
};

/// Inputs and, perhaps, the outputs that they should give.
struct DataSet {
  /// What messages call it.
  std::string path;
  std::vector<NamedTensor> inputs, expected;
  /// Values go to inputs in their order, whatever they are called.
  bool isPositional = false;

  bool empty() const { return inputs.empty() && expected.empty(); }
};

/// Reads a file or a test_data_set. Of an .npz, `in:NAME` are inputs,
/// `out:NAME` expected outputs, and names without either inputs too.
llvm::Expected<DataSet> readDataSet(llvm::StringRef path);

/// "float32", "f32", "float", ...; Undefined for other names.
ElementKind parseElementKind(llvm::StringRef name);

/// NAME=FILE of --input; the file has one tensor.
llvm::Expected<NamedTensor> readInput(llvm::StringRef text);
/// NAME:FILE:float32[32,784] of --raw.
llvm::Expected<NamedTensor> readRaw(llvm::StringRef text);

/// The flags that say what goes into a model.
struct DataFlags {
  std::vector<std::string> inputs, raw;
  std::optional<std::string> random;

  void addTo(Flags &flags);
  /// An exit code if they are wrong.
  std::optional<int> check(const Flags &flags) const;
  /// Reads `path`, if it is not empty, and what the flags name.
  llvm::Expected<DataSet> read(llvm::StringRef path) const;
};

/// One tensor for each of `inputs`, those without data empty. What is missing
/// is made if the flags ask for it: floats of N(0, 1), integers and booleans of
/// 0 and 1. Fails, naming the tensor,
/// where names, types or sizes differ from what the model takes, or data are
/// missing.
llvm::Expected<std::vector<Tensor>>
bindInputs(llvm::ArrayRef<ModelValue> inputs, const DataSet &data,
           const DataFlags &flags);

/// Fails unless `tensor` is what `input` takes.
llvm::Error checkInput(const ModelValue &input, const Tensor &tensor);

} // namespace mp

#endif // MPOPT_TOOLS_DATASET_H
