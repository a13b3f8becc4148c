//===- Model.h - A model on its way to be run -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_H
#define MPOPT_API_MODEL_H

#include "mp-opt/API/Error.h"
#include "mp-opt/API/ModelConversion.h"
#include "mp-opt/API/ModelInput.h"
#include "mp-opt/API/ModelValue.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/MemoryFigures.h"
#include "mp-opt/Execution/Program.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/Timing.h"

#include <functional>

namespace mp {

/// Makes contexts of `registry` know what models are made of.
void registerModelDialects(mlir::DialectRegistry &registry);

struct ModelOptions {
  /// Folders below which external data may lie; they may always lie below the
  /// model's own.
  std::vector<std::string> externalDataRoots;
  /// Whether what is wrong, but harmless, is an error.
  CheckLevel check = CheckLevel::Lenient;
  /// Gets errors, warnings and notes as they come, and may be called by any
  /// thread. Without it, errors are known from what functions return.
  MessageFn onMessage;
  /// Gets what is wrong in text of MLIR, with the line; null to have it in the
  /// messages.
  llvm::raw_ostream *excerpts = nullptr;
  /// Gets a timer for each step; null if nobody asks.
  mlir::TimingScope *timing = nullptr;
};

/// A model in a context of its own. Errors are of kind NotSupported if nothing
/// is wrong with the model but that it cannot be compiled.
class Model {
public:
  /// A file in any form; "-" is standard input.
  static llvm::Expected<std::unique_ptr<Model>>
  read(llvm::StringRef path, const mlir::DialectRegistry &registry,
       ModelOptions options = {});
  /// A file's content. External data lie beside the file that `name` would be.
  static llvm::Expected<std::unique_ptr<Model>>
  parse(llvm::StringRef content, llvm::StringRef name,
        const mlir::DialectRegistry &registry, ModelOptions options = {});
  /// A copy of a module, in its context, whose handlers get all messages.
  static std::unique_ptr<Model> copy(mlir::ModuleOp module,
                                     llvm::StringRef name);

  /// Rewrites the model, and makes `reports`, which are complete after their
  /// `prepare` and `finish`. The kind of the error is NotSupported where a
  /// strict policy refuses it.
  llvm::Error convert(const ConversionOptions &options,
                      Reports *reports = nullptr);
  /// Rewrites the model for "bf16" or "fp16", as mp-opt does without further
  /// options; nothing to do for the empty string. `dims` are sizes of symbolic
  /// dimensions by their names.
  llvm::Error mix(llvm::StringRef precision,
                  const llvm::StringMap<int64_t> &dims);
  /// Fails if a name is none that a dimension of the model has.
  llvm::Error checkDimensions(const llvm::StringMap<int64_t> &dims);
  /// Calls of functions become the functions' nodes.
  llvm::Error inlineFunctions();
  /// Every float becomes float64.
  llvm::Error widen();
  /// Fails if one of the passes does, or leaves an invalid model.
  llvm::Error runPasses(llvm::function_ref<void(mlir::PassManager &)> add);

  /// The bytes of an ONNX file. Fails where data belong into a file of their
  /// own: those of models that are read from such, or that exceed 2 GB.
  llvm::Expected<std::string> getONNX();
  /// Writes an ONNX file, whole or not at all; data outside of it go to a file
  /// beside it.
  llvm::Error writeONNX(llvm::StringRef path);

  /// Fails as `writeONNX` would because of what the model is, and writes
  /// nothing.
  llvm::Error checkONNX(llvm::StringRef path);

  /// What the model takes, before it is compiled. Fails, of kind NotSupported,
  /// if that is not tensors alone.
  llvm::Expected<std::vector<ModelValue>>
  getInputs(const llvm::StringMap<int64_t> &dims);
  /// In their order.
  std::vector<std::string> getOutputNames();
  mlir::ModuleOp getModule() { return *module; }
  /// What it has been read from.
  const ModelInput &getInput() const { return input; }
  /// The bytes of its file; nothing for a copy.
  llvm::StringRef getContent() const { return input.getContent(); }
  const std::string &getName() const { return name; }
  /// Gives back the memory of the file's content, which is read again where it
  /// is needed. For when there are copies of what is trained.
  void releasePages() { input.releasePages(); }

  /// Frees the nodes of a model that has been compiled, and gives back the
  /// memory that compiling took; nothing is left of it but its context.
  void discard();

  /// Compiles it, and uses it up, but not its context, which must outlive the
  /// program. `options.title` is completed by the name of the file.
  llvm::Expected<std::unique_ptr<Program>>
  compile(const CompileOptions &options);
  /// What a device would do in a call, without code of kernels and without a
  /// device: `options` are as of `compile`, but for `device`. Uses the model
  /// up, too.
  llvm::Expected<DevicePlan> plan(const CompileOptions &options);

  /// Uses the model up, too, but compiles nothing: what memory calls of the
  /// program would take. The device need not be there.
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

#endif // MPOPT_API_MODEL_H
