//===- DataSet.h - What a model is fed with ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_DATASET_H
#define MPOPT_API_DATASET_H

#include "mp-opt/Data/DataFiles.h"

#include <optional>

namespace mp {

/// Inputs and, perhaps, the outputs that they should give.
struct DataSet {
  /// What messages call it.
  std::string path;
  /// Tells whether its files are those of another time, without reading them:
  /// their sizes, inodes and times of change. Empty if that cannot be known.
  std::string version;
  std::vector<NamedTensor> inputs, expected;
  /// Values go to inputs in their order, whatever they are called.
  bool isPositional = false;
};

/// Reads a file or a test_data_set of ONNX. Of an .npz, `in:NAME` are inputs,
/// `out:NAME` expected outputs, and names without either inputs too.
llvm::Expected<DataSet> readDataSet(llvm::StringRef path);

/// The same for a file that may have expected outputs only: where no name
/// begins with `out:`, all are outputs. There are no inputs in it.
llvm::Expected<DataSet> readExpected(llvm::StringRef path);

/// Reads a file that has one tensor, .npy, .pb, ..., which is called `name`.
llvm::Expected<NamedTensor> readTensor(llvm::StringRef name,
                                       llvm::StringRef path);

/// The same of plain elements in the machine's order; one of `sizes` may be -1.
llvm::Expected<NamedTensor> readRawTensor(llvm::StringRef name,
                                          llvm::StringRef path,
                                          ElementKind kind,
                                          llvm::ArrayRef<int64_t> sizes);

/// The tensors of a data set or of the newest checkpoint in a folder, inputs
/// and expected outputs of a folder told apart by `in:` and `out:`. `warn` gets
/// what is said of checkpoints that are not whole.
llvm::Expected<std::vector<NamedTensor>>
readTensors(llvm::StringRef path,
            llvm::function_ref<void(const llvm::Twine &)> warn);

/// The size, inode and time of change of a regular file; empty for what is
/// none.
std::string describeVersion(llvm::StringRef path);

/// "float32", "f32", "float", ...; Undefined for other names.
ElementKind parseElementKind(llvm::StringRef name);

/// "float32[32,784]"; one size may be '?', which becomes -1. False for other
/// texts.
bool parseTensorType(llvm::StringRef text, ElementKind &kind,
                     llvm::SmallVectorImpl<int64_t> &sizes);

} // namespace mp

#endif // MPOPT_API_DATASET_H
