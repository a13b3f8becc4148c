//===- Harness.h - What must hold for every input ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs mp-opt's libraries on one input, as the tool does, and ends the process
// when a promise is broken: a failed run says why in one error, a run without
// errors succeeds, what is written can be read again, and what was not changed
// is written as it was.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FUZZ_HARNESS_H
#define MPOPT_FUZZ_HARNESS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace mp::fuzz {

enum class Mode { BF16, FP16, Emulate, Train, TrainFP16 };
inline constexpr unsigned modeCount = 5;

/// The other files that mp-opt reads, by the first byte of the input.
enum class Reader : char {
  PolicyYAML = 'y',
  GaudiJSON = 'g',
  List = 'l',
  Schemas = 's',
  ONNXText = 't',
  Npy = 'n',
  Npz = 'z',
  Safetensors = 'f',
  TensorProto = 'p',
};

class Harness {
public:
  Harness();
  ~Harness();

  /// The whole path; true if the model was converted.
  bool runModel(llvm::StringRef bytes, Mode mode);
  /// The mode is chosen by the bytes: inputs are models and nothing else.
  bool runModel(llvm::StringRef bytes);
  /// A file for `reader`; true if it was accepted.
  bool runText(llvm::StringRef text, Reader reader);

private:
  mlir::MLIRContext &getContext();
  /// Imports and verifies. `what` is for messages about broken promises.
  mlir::OwningOpRef<mlir::ModuleOp> read(llvm::StringRef bytes, bool isText);
  std::string write(mlir::ModuleOp module);
  bool convert(mlir::ModuleOp module, Mode mode);
  void checkUnchanged(mlir::ModuleOp module, llvm::StringRef bytes);
  void checkErrors(bool succeeded, const char *what);
  bool runPolicy(llvm::StringRef text, Reader reader);

  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  unsigned uses = 0;
  unsigned errors = 0;
  bool verifying = false;
  std::string firstError;
  /// The folder in which models pretend to be; it holds one data file.
  std::string folder;
};

/// Says which promise is broken, and ends the process as a crash would.
[[noreturn]] void fail(const llvm::Twine &message);

} // namespace mp::fuzz

#endif // MPOPT_FUZZ_HARNESS_H
