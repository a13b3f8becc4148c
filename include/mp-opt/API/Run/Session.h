//===- Session.h - A model compiled for its data ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_SESSION_H
#define MPOPT_API_RUN_SESSION_H

#include "mp-opt/API/Model/Model.h"

namespace mp {

/// Adds the sizes of data to `options`: code for known sizes is faster.
void addSizes(llvm::ArrayRef<ModelValue> inputs, llvm::ArrayRef<Tensor> data,
              CompileOptions &options);

/// Runs the call with this number on inputs by name; those that are not given
/// take their defaults.
llvm::Expected<llvm::SmallVector<Tensor>>
runByName(Program &program, llvm::ArrayRef<NamedTensor> inputs, int64_t number);

struct SessionOptions {
  CompileOptions compile;
  BindingOptions binding;
};

/// A compiled model and the inputs of its next call.
class Session {
public:
  /// Binds `data` to the inputs of `model`, and compiles it for their sizes.
  static llvm::Expected<Session> create(std::unique_ptr<Model> model,
                                        const DataSet &data,
                                        const SessionOptions &options);

  Program &getProgram() { return *program; }
  Model &getModel() { return *model; }
  /// One tensor per input of the program, empty to use the default.
  llvm::MutableArrayRef<Tensor> getInputs() { return inputs; }

  /// Sets states without data to their defaults, in memory that calls may
  /// overwrite. Otherwise each call of a program that updates states in place
  /// would begin with copies.
  llvm::Error takeStates();

  /// Runs one call; the outputs are in the model's order.
  llvm::Expected<std::vector<NamedTensor>> run();

private:
  Session() = default;

  /// The order matters: the program needs the model's context.
  std::unique_ptr<Model> model;
  std::unique_ptr<Program> program;
  std::vector<Tensor> inputs;
};

} // namespace mp

#endif // MPOPT_API_RUN_SESSION_H
