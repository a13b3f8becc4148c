//===- ONNXTarget.h - ONNX models in and out of MLIR ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Import converts a model to a module of the onnx dialect without loss; export
// converts such a module back to a model. Errors are diagnostics at the
// module's location, which names the file.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TARGET_ONNX_ONNXTARGET_H
#define MPOPT_TARGET_ONNX_ONNXTARGET_H

#include "mp-opt/Support/FileContent.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace mp {

/// The handling of models that violate ONNX's rules in a harmless way: a
/// warning, or an error.
enum class CheckLevel { Lenient, Strict };

struct ImportOptions {
  /// Folders that may contain external data. Without any, data that links lead
  /// to are refused. With some, links may lead into these or into the model's
  /// folder.
  std::vector<std::string> externalDataRoots = {};
  CheckLevel check = CheckLevel::Lenient;
};

/// Imports the binary model in `buffer`. The module's big constants refer to
/// the buffer and to the external data files next to `path`, which stay mapped
/// as long as the context lives. Returns null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
importONNX(std::shared_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef path,
           mlir::MLIRContext *context, const ImportOptions &options = {});

/// Imports a model in ONNX's text form. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
importONNXText(std::shared_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef path,
               mlir::MLIRContext *context, const ImportOptions &options = {});

/// The external data files that the model refers to, by the names in it.
llvm::SmallVector<std::string> getExternalFiles(mlir::ModuleOp module);

/// The content of one of these files, opened as by import; `path` is the
/// model's.
llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>>
openExternalFile(llvm::StringRef path, llvm::StringRef name,
                 const ImportOptions &options = {});

/// The names of external data files in the bytes of a binary model. The result
/// is unspecified for bytes that are not a model.
llvm::StringSet<> findExternalFiles(llvm::StringRef model);

/// A model ready to be written. Constants are converted and copied only when
/// the contents are read; these do not outlive it.
class ExportedModel {
public:
  virtual ~ExportedModel() = default;

  /// The content of an external data file; empty if none is needed.
  virtual const FileContent &getExternalData() const = 0;
  /// Sets the name of that file, derived from the hash of its content:
  /// `<model>-<16 hexadecimal digits>.data`. The model refers to it by this
  /// name.
  virtual std::string nameExternalData(uint64_t hash) = 0;
  /// Data files of the imported model that the exported one still refers to.
  virtual llvm::ArrayRef<std::string> getKeptFiles() const = 0;
  /// The ModelProto.
  virtual FileContent getModel() const = 0;
  /// Writes ONNX's text form, all data inside.
  virtual mlir::LogicalResult writeText(llvm::raw_ostream &os) const = 0;
};

/// Exports `module` for a file of the name `model`. Tensors that were
/// external, and all big ones if the model would exceed protobuf's 2 GB, go to
/// an external data file. Null after an error. The module must outlive the
/// result.
std::unique_ptr<ExportedModel> exportONNX(mlir::ModuleOp module,
                                          llvm::StringRef model);

/// True if `name` has the form of names that `exportONNX` gives to data of
/// `model`.
bool isDataFileOf(llvm::StringRef name, llvm::StringRef model);

/// Writes the binary model's bytes, with zeros for the data of big tensors
/// (gaps, if `os` is a file). Bytes that are not a model are written as zeros.
void writeWithoutData(llvm::StringRef model, llvm::raw_fd_ostream &os);

} // namespace mp

#endif // MPOPT_TARGET_ONNX_ONNXTARGET_H
