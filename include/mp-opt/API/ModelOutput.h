//===- ModelOutput.h - Writing what a run makes of a model ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output and its data file are both complete before either has a name, and
// the data file's name is made of its content: at any moment, the model at the
// output's path is the old one with the old data or the new one with the new.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODELOUTPUT_H
#define MPOPT_API_MODELOUTPUT_H

#include "mp-opt/API/ModelInput.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>

namespace mp {

struct ModelOutputOptions {
  /// The file, or standard output if it is empty.
  std::string path;
  /// Whether the model is written, or the others alone.
  bool writesModel = true;
  /// Where the model has been read from.
  std::string inputPath;
  /// Folders below which the input's external data may lie behind links.
  std::vector<std::string> externalDataRoots;
  /// Whether text of MLIR is without big weights. Absent: where it goes to
  /// standard output.
  std::optional<bool> elideWeights;
  /// Other files that are written beside the model.
  std::vector<std::string> others;
  /// Called as "export" and "write" begin.
  std::function<void(llvm::StringRef step)> onStep;
};

/// Whether both paths lead to one file; "-" and "" are none.
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

  /// Writes `module`, or the input if it is `unchanged`. The context's
  /// diagnostics say what cannot be exported (Error.h: isReported).
  llvm::Error write(mlir::ModuleOp module, Format format, bool unchanged);
  /// What the former would do, in a sentence, instead of doing it: as far as
  /// that is known beforehand, it fails where that would.
  llvm::Expected<std::string> describeWrite(mlir::ModuleOp module,
                                            Format format);
  /// Writes what `print` prints, unless that returns false.
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

  /// The output's folder, where its data go.
  std::optional<Directory> folder;
  std::unique_ptr<AtomicFile> main;
  std::vector<std::unique_ptr<AtomicFile>> parts;
  /// The data files that the output refers to.
  llvm::StringSet<> needed;
  /// Folders made for copies, outermost first.
  std::vector<std::string> madeFolders;
};

/// Takes the data of big constants away; the printer could leave them out too,
/// but only after spelling them out.
void elideWeights(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_API_MODELOUTPUT_H
