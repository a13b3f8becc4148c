//===- ModelOutput.h - Writing what a run makes of a model ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output and its data file are both complete before either gets its name,
// and the data file's name is derived from its content. At any time, the model
// at the output's path is either the old one with the old data or the new one
// with the new data.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_MODELOUTPUT_H
#define MPOPT_API_MODEL_MODELOUTPUT_H

#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>

namespace mp {

struct ModelOutputOptions {
  /// The file, or standard output if it is empty.
  std::string path;
  /// True if the model is written; false if only the other files are.
  bool writesModel = true;
  /// The path from which the model was read.
  std::string inputPath;
  /// Folders in which links to the input's external data may end.
  std::vector<std::string> externalDataRoots;
  /// True if MLIR text omits big weights. If absent, they are omitted on
  /// standard output only.
  std::optional<bool> elideWeights;
  /// Data files that the result shares with the input are copied next to it;
  /// if false, such a result is refused.
  bool copiesDataFiles = true;
  /// Other files that are written together with the model.
  std::vector<std::string> others;
  /// Called as "export" and "write" begin.
  std::function<void(llvm::StringRef step)> onStep;
};

/// True if both paths lead to the same file; "-" and "" are not files.
bool isSameFile(llvm::StringRef lhs, llvm::StringRef rhs);

class ModelOutput {
public:
  ModelOutput(ModelOutputOptions options, const ModelInput &input)
      : options(std::move(options)), input(input) {}

  /// Fails if a file to be written is the input, one of the others that are
  /// `read`, or another one that is written.
  llvm::Error checkPaths(llvm::ArrayRef<std::string> read) const;
  /// Fails if a file to be written is a data file of the input, which is
  /// `module`; those are never touched.
  llvm::Error checkDataFiles(mlir::ModuleOp module);

  /// Writes `module`, or the input itself if it is `unchanged`. The context's
  /// diagnostics report errors of the export (Error.h: isReported).
  llvm::Error write(mlir::ModuleOp module, Format format, bool unchanged);
  /// Describes in one sentence what that `write` would do, without doing it. As
  /// far as can be known beforehand, it fails in the same cases.
  llvm::Expected<std::string> describeWrite(mlir::ModuleOp module,
                                            Format format);
  /// Writes the text that `print` prints, unless `print` returns false.
  llvm::Error write(llvm::function_ref<bool(llvm::raw_ostream &)> print);

private:
  llvm::Error writeONNX(mlir::ModuleOp module);
  llvm::Error writeText(mlir::ModuleOp module);
  llvm::Error writeUnchanged(mlir::ModuleOp module);
  bool printMLIR(mlir::ModuleOp module, Format format,
                 llvm::raw_ostream &os) const;

  void begin(llvm::StringRef step) const {
    if (options.onStep)
      options.onStep(step);
  }
  llvm::Error open();
  llvm::Error addData(ExportedModel &model, ForEachFn forEach);
  llvm::Error addCopies(llvm::ArrayRef<std::string> names);
  llvm::Error addCopy(llvm::StringRef name);
  llvm::Error commit();
  llvm::Expected<std::vector<std::string>> findObsolete() const;
  void removeUnused(llvm::StringRef leftover) const;
  bool isOldData(llvm::StringRef name) const;

  ModelOutputOptions options;
  const ModelInput &input;
  /// The input's data files, which are never touched.
  std::vector<FileIdentity> inputFiles;

  /// The output's folder, into which its data are written.
  std::optional<Directory> folder;
  std::unique_ptr<AtomicFile> main;
  std::vector<std::unique_ptr<AtomicFile>> parts;
  /// The data files that the output refers to.
  llvm::StringSet<> needed;
  /// Folders made for copies, outermost first.
  std::vector<std::string> madeFolders;
};

/// Removes the data of big constants. The printer could elide them too, but
/// only after formatting them.
void elideWeights(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_API_MODEL_MODELOUTPUT_H
