//===- DataSet.h - Input data of a model ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_DATASET_H
#define MPOPT_API_MODEL_DATASET_H

#include "mp-opt/Data/DataFiles.h"

#include <optional>

namespace mp {

/// Inputs and, optionally, expected outputs.
struct DataSet {
  /// The name used in messages.
  std::string path;
  /// Identifies the version of the files by their sizes, inodes and
  /// modification times, without reading them. Empty if unknown.
  std::string version;
  std::vector<NamedTensor> inputs, expected;
  /// Values are assigned to inputs by position; names are ignored.
  bool isPositional = false;
};

/// Reads a file or a test_data_set of ONNX. Of an .npz, `in:NAME` are inputs,
/// `out:NAME` expected outputs, and names without either inputs too.
llvm::Expected<DataSet> readDataSet(llvm::StringRef path);

/// Reads a file that may contain only expected outputs: if no name begins with
/// `out:`, all tensors are outputs. The result has no inputs.
llvm::Expected<DataSet> readExpected(llvm::StringRef path);

/// Reads a file that has one tensor, .npy, .pb, ..., which is called `name`.
llvm::Expected<NamedTensor> readTensor(llvm::StringRef name,
                                       llvm::StringRef path);

/// Reads plain elements in the machine's byte order; one of `sizes` may be -1.
llvm::Expected<NamedTensor> readRawTensor(llvm::StringRef name,
                                          llvm::StringRef path,
                                          ElementKind kind,
                                          llvm::ArrayRef<int64_t> sizes);

/// Reads the tensors of a data set or of the newest checkpoint in a folder. In
/// a folder, names of inputs and expected outputs are prefixed with `in:` and
/// `out:`. `warn` receives warnings about incomplete checkpoints.
llvm::Expected<std::vector<NamedTensor>>
readTensors(llvm::StringRef path,
            llvm::function_ref<void(const llvm::Twine &)> warn);

/// The size, inode and modification time of a regular file; empty for anything
/// else.
std::string describeVersion(llvm::StringRef path);

/// "float32", "f32", "float", ...; Undefined for other names.
ElementKind parseElementKind(llvm::StringRef name);

/// "float32[32,784]"; one size may be '?', which becomes -1. False for other
/// strings.
bool parseTensorType(llvm::StringRef text, ElementKind &kind,
                     llvm::SmallVectorImpl<int64_t> &sizes);

} // namespace mp

#endif // MPOPT_API_MODEL_DATASET_H
