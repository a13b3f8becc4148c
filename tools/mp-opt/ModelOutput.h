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

#ifndef MPOPT_TOOLS_MODELOUTPUT_H
#define MPOPT_TOOLS_MODELOUTPUT_H

#include "Options.h"
#include "RunWatch.h"

#include "mp-opt/API/ModelInput.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/BuiltinOps.h"

namespace mp {

class ModelOutput {
public:
  ModelOutput(const Options &options, const ModelInput &input,
              const RunWatch &watch)
      : options(options), input(input), watch(watch) {}

  /// Fails if a file to be written is one that is read, or another one that is
  /// written: of those named by flags, and of the data files of `module`.
  llvm::Error checkPaths() const;
  llvm::Error checkDataFiles(mlir::ModuleOp module);

  /// Writes `module`, or the input if it is `unchanged`. An error without a
  /// text has been reported already.
  llvm::Error write(mlir::ModuleOp module, Format format, bool unchanged);
  /// Writes what `print` prints, unless that returns false.
  llvm::Error write(llvm::function_ref<bool(llvm::raw_ostream &)> print);

private:
  llvm::Error writeONNX(mlir::ModuleOp module);
  llvm::Error writeText(mlir::ModuleOp module);
  llvm::Error writeUnchanged(mlir::ModuleOp module);
  bool printMLIR(mlir::ModuleOp module, Format format,
                 llvm::raw_ostream &os) const;

  llvm::Error open();
  llvm::Error addData(ExportedModel &model, ForEachFn forEach);
  llvm::Error addCopies(llvm::ArrayRef<std::string> names);
  llvm::Error addCopy(llvm::StringRef name);
  llvm::Error commit();
  llvm::Expected<std::vector<std::string>> findObsolete() const;
  void removeUnused(llvm::StringRef leftover) const;
  bool isOldData(llvm::StringRef name) const;

  const Options &options;
  const ModelInput &input;
  const RunWatch &watch;
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

} // namespace mp

#endif // MPOPT_TOOLS_MODELOUTPUT_H
