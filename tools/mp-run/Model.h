//===- Model.h - A model on its way to be run -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MODEL_H
#define MPOPT_TOOLS_MODEL_H

#include "DataSet.h"
#include "Flags.h"

#include "mp-opt/API/ModelInput.h"
#include "mp-opt/Execution/CodeCache.h"
#include "mp-opt/Execution/Program.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

namespace mp {

/// Where the time goes, printed at the end.
struct Timing {
  mlir::DefaultTimingManager manager;
  mlir::TimingScope root;

  Timing();
};

/// The flags that say how a model is read and compiled.
struct ModelFlags {
  uint64_t threads = 0;
  std::vector<std::string> dims, roots;
  std::string kernels = "auto", schemas, cache;
  /// What `apply` makes of `kernels`.
  Target target;
  bool inPlace = false, bf16 = false, fp16 = false, isTimed = false;
  /// What `apply` makes of `cache` and `isTimed`; the latter is null without.
  std::shared_ptr<CodeCache> codeCache;
  std::shared_ptr<Timing> timing;

  void addTo(Flags &flags);
  /// Checks them, and makes `registry` know the schemas and the process the
  /// threads. An exit code if that fails.
  std::optional<int> apply(const Flags &flags, mlir::DialectRegistry &registry);
  CompileOptions getOptions() const;

  /// "bf16", "fp16", or empty.
  llvm::StringRef getPrecision() const {
    return bf16 ? "bf16" : fp16 ? "fp16" : "";
  }
};

/// A model that has been read. Diagnostics are printed as they come. Functions
/// that return an exit code return exitOk if all is well.
class Model {
public:
  explicit Model(const mlir::DialectRegistry &registry);
  /// A copy of a model that there is already, in its context.
  Model(mlir::ModuleOp module, llvm::StringRef name);

  int read(llvm::StringRef path, const ModelFlags &flags);

  /// Rewrites the model for "bf16" or "fp16"; nothing to do for the empty
  /// string.
  int mix(llvm::StringRef precision, const ModelFlags &flags);
  /// Every float becomes float64.
  int widen();
  int runPasses(llvm::function_ref<void(mlir::OpPassManager &)> add);

  /// What the model takes, before it is compiled; `dims` are sizes of symbolic
  /// dimensions by their names.
  std::vector<ModelValue> getInputs(const llvm::StringMap<int64_t> &dims);
  mlir::ModuleOp getModule() { return *module; }
  /// The bytes of its file.
  llvm::StringRef getContent() const { return input.getContent(); }
  const std::string &getName() const { return name; }
  /// Gives back the memory of the file's content, which is read again where it
  /// is needed. For when there are copies of what is trained.
  void releasePages() { input.releasePages(); }

  /// Compiles it, and uses it up. Null after an error.
  std::unique_ptr<Program> compile(const CompileOptions &options);

private:
  ModelInput input;
  std::string name;
  /// Null if nobody asks.
  mlir::TimingScope *timing = nullptr;
  std::unique_ptr<mlir::MLIRContext> owned;
  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Adds the sizes of data to `options`: code for known sizes is faster.
void addSizes(llvm::ArrayRef<ModelValue> inputs, llvm::ArrayRef<Tensor> data,
              CompileOptions &options);

} // namespace mp

#endif // MPOPT_TOOLS_MODEL_H
