//===- DataBatches.h - Several batches of input data ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the batches that --calibrate and similar flags run a model on.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_DATABATCHES_H
#define MPOPT_API_RUN_DATABATCHES_H

#include "mp-opt/API/Model/ModelValue.h"

#include "mlir/IR/BuiltinOps.h"

namespace mp {

struct DataBatchOptions {
  /// Batches that are taken at most; 0 for all. They are spread evenly over the
  /// files and over the batches of each.
  uint64_t limit = 8;
  /// Rows in a batch where the model leaves the first size of its inputs open.
  uint64_t rows = 4;
  /// Gets warnings of data that the model does not take, and notes of types
  /// that were converted.
  MessageFn onMessage = nullptr;
};

/// Reads batches for a model with these inputs. Each of the result is a data
/// set with the inputs by name, in the types that the model takes; inputs that
/// have defaults may be left out. A path is
/// - an .npz, .safetensors or .npy file, whose tensors are one batch, batches
///   (one more dimension than the input) or rows (more than the first size that
///   the model states, or more than `rows` of an input whose first size is
///   open). A tensor with the sizes of its input is the same in each batch, if
///   others have batches. A remainder of rows is left out;
/// - a folder with input_0.pb and so on; a folder of such folders
///   (test_data_set_0 ...), of data files, or of both;
/// - NAME=FILE, an input from a file (.npy, .pb or with one tensor), or
///   NAME:FILE:TYPE[SIZES], raw elements. All paths of these two forms make up
///   one file.
/// Fails, naming the file and the input, if a path cannot be read, an input has
/// other sizes or another type, an input without default is missing, or there
/// is not a single batch.
llvm::Expected<std::vector<DataSet>>
readDataBatches(llvm::ArrayRef<std::string> paths,
                llvm::ArrayRef<ModelValue> inputs,
                const DataBatchOptions &options = {});

/// Fails if the batches have numbers that the inputs of `module` cannot take,
/// such as a NaN or a label that is not a class. Names the file, the batch, the
/// input and the element.
llvm::Error checkDataBatches(llvm::ArrayRef<DataSet> batches,
                             mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_API_RUN_DATABATCHES_H
