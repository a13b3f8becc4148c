//===- Model.h - A model on its way to be run -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_MODEL_H
#define MPOPT_API_MODEL_MODEL_H

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Model/ModelConversion.h"
#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/API/Model/ModelValue.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/MemoryFigures.h"
#include "mp-opt/Execution/Program.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/Timing.h"

#include <functional>

namespace mp {

/// Registers the dialects of models with the contexts of `registry`.
void registerModelDialects(mlir::DialectRegistry &registry);

struct ModelOptions {
  /// Folders that may contain external data, in addition to the model's own.
  std::vector<std::string> externalDataRoots;
  /// `parse` does not copy the content, which outlives the model and programs
  /// made of it.
  bool borrowsContent = false;
  /// The strictness of checks: harmless mistakes may count as errors.
  CheckLevel check = CheckLevel::Lenient;
  /// Receives errors, warnings and notes when they occur. It may be called by
  /// any thread. Without it, errors are only returned by functions.
  MessageFn onMessage;
  /// Receives excerpts with the faulty line for errors in MLIR text; null to
  /// include the excerpts in messages.
  llvm::raw_ostream *excerpts = nullptr;
  /// Receives a timer for each step; may be null.
  mlir::TimingScope *timing = nullptr;
};

/// A model in its own context. Errors are of kind NotSupported if the model is
/// valid but cannot be compiled.
class Model {
public:
  /// Reads a file in any form; "-" is standard input.
  static llvm::Expected<std::unique_ptr<Model>>
  read(llvm::StringRef path, const mlir::DialectRegistry &registry,
       ModelOptions options = {});
  /// Parses a file's content. External data are read from the folder of `name`.
  static llvm::Expected<std::unique_ptr<Model>>
  parse(llvm::StringRef content, llvm::StringRef name,
        const mlir::DialectRegistry &registry, ModelOptions options = {});
  /// Copies a module within its context. The context's handlers receive all
  /// messages.
  static std::unique_ptr<Model> copy(mlir::ModuleOp module,
                                     llvm::StringRef name);

  /// Rewrites the model and fills `reports`, which are complete after their
  /// `prepare` and `finish`. The error is of kind NotSupported if a strict
  /// policy refuses the model. `dims` are as for `addConversion`.
  llvm::Error convert(const ConversionOptions &options,
                      Reports *reports = nullptr,
                      llvm::ArrayRef<std::string> dims = {});
  /// Rewrites the model for "bf16" or "fp16", as mp-opt does by default; does
  /// nothing for the empty string. `dims` are sizes of symbolic dimensions by
  /// name.
  llvm::Error mix(llvm::StringRef precision,
                  const llvm::StringMap<int64_t> &dims);
  /// Fails if a name is not that of a dimension of the model.
  llvm::Error checkDimensions(const llvm::StringMap<int64_t> &dims);
  /// Calls of functions become the functions' nodes.
  llvm::Error inlineFunctions();
  /// Converts every float to float64.
  llvm::Error widen();
  /// Fails if one of the passes does, or leaves an invalid model.
  llvm::Error runPasses(llvm::function_ref<void(mlir::PassManager &)> add);

  /// The bytes of an ONNX file. Fails if the data belong in separate files,
  /// i.e. for models that were read from such files or exceed 2 GB.
  llvm::Expected<std::string> getONNX();
  /// Writes an ONNX file atomically. External data go to a file next to it.
  /// Data that are in files of the model which was read are copied, or refused.
  llvm::Error writeONNX(llvm::StringRef path, bool copiesDataFiles = false);

  /// Fails as `writeONNX` does if the model itself cannot be exported. Writes
  /// nothing.
  llvm::Error checkONNX(llvm::StringRef path);

  /// The inputs of the model before it is compiled. Fails with kind
  /// NotSupported if they are not all tensors.
  llvm::Expected<std::vector<ModelValue>>
  getInputs(const llvm::StringMap<int64_t> &dims);
  /// Ordered as the outputs.
  std::vector<std::string> getOutputNames();
  mlir::ModuleOp getModule() { return *module; }
  /// The input that the model was read from.
  const ModelInput &getInput() const { return input; }
  /// The bytes of its file; empty for a copy.
  llvm::StringRef getContent() const { return input.getContent(); }
  const std::string &getName() const { return name; }
  /// Releases the memory of the file's content, which is read again on demand.
  /// Useful after the trainable values have been copied.
  void releasePages() { input.releasePages(); }

  /// Frees the nodes of a compiled model and the memory that compilation used;
  /// only the context remains.
  void discard();

  /// Compiles the model and consumes it, except its context, which must outlive
  /// the program. The name of the file is appended to `options.title`.
  llvm::Expected<std::unique_ptr<Program>>
  compile(const CompileOptions &options);
  /// Plans the work of a device in one call, without kernel code and without a
  /// device. `options` are as for `compile`, except `device`. Consumes the
  /// model. With a `chip` ("sm_90a"), kernels are compiled for it and counted,
  /// which predictions of their time need (DeviceTime.h).
  llvm::Expected<DevicePlan> plan(const CompileOptions &options,
                                  llvm::StringRef chip = "");

  /// Plans the memory for calls of the program without compiling it. The device
  /// need not be present. Consumes the model.
  llvm::Expected<MemoryFigures> planMemory(const CompileOptions &options);

private:
  Model(const mlir::DialectRegistry &registry, ModelOptions options);
  Model(mlir::ModuleOp module, llvm::StringRef name);

  llvm::Error import(llvm::StringRef path);
  llvm::Expected<std::unique_ptr<ExportedModel>> exportTo(llvm::StringRef path);
  llvm::Expected<CompileOptions> complete(const CompileOptions &options);
  llvm::Error fail(ErrorKind kind, const llvm::Twine &text);
  llvm::Error refuse(ErrorKind kind, llvm::StringRef path,
                     const llvm::Twine &text);

  ModelInput input;
  std::string name;
  ModelOptions options;
  /// Null for a copy.
  std::unique_ptr<mlir::MLIRContext> owned;
  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace mp

#endif // MPOPT_API_MODEL_MODEL_H
