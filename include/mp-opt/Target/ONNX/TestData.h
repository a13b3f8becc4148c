//===- TestData.h - Folders of test data that ONNX has ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `test_data_set_N` holds `input_0.pb`, `output_0.pb` and so on, a
// TensorProto each, in the order of the model's inputs and outputs.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TARGET_ONNX_TESTDATA_H
#define MPOPT_TARGET_ONNX_TESTDATA_H

#include "mp-opt/Data/DataFiles.h"

namespace mp {

struct TestData {
  /// Ordered by position; names may be empty.
  std::vector<NamedTensor> inputs, outputs;
};

/// Parses the bytes of a TensorProto. External data are read from `folder`.
llvm::Expected<NamedTensor> parseTensorProto(const DataBuffer &file,
                                             llvm::StringRef folder);

/// Reads one file that holds a TensorProto; errors begin with the path.
llvm::Expected<NamedTensor> readTensorProto(llvm::StringRef path);

/// Reads a folder; errors begin with the path of the file.
llvm::Expected<TestData> readTestData(llvm::StringRef folder);

} // namespace mp

#endif // MPOPT_TARGET_ONNX_TESTDATA_H
