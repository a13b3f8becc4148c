//===- ModelInput.h - Reading a model in any form ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_MODELINPUT_H
#define MPOPT_API_MODEL_MODELINPUT_H

#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace mp {

/// The last three are code for a processor and only valid for outputs.
enum class Format {
  Auto,
  ONNX,
  ONNXText,
  MLIR,
  Bytecode,
  LLVM,
  Object,
  Library
};

/// ".onnx" and its like.
std::vector<llvm::StringRef> getFormatExtensions();
/// The format given by the extension of a file's name; Auto if unknown.
Format getFormatOfName(llvm::StringRef name);

/// The format of an output: `wanted`, else the format given by its name, else
/// that of the input. Without a name, MLIR text is the default.
Format chooseFormat(Format wanted, llvm::StringRef name, Format input);

/// True for text or bytecode of MLIR; and true for binary or text of ONNX.
inline bool isMLIR(Format format) {
  return format == Format::MLIR || format == Format::Bytecode;
}
inline bool isONNX(Format format) {
  return format == Format::ONNX || format == Format::ONNXText;
}

/// Registers the operators that `json` describes with every context of
/// `registry`, in addition to ONNX's own. Errors refer to the text as `name`.
llvm::Error registerSchemas(llvm::StringRef json, llvm::StringRef name,
                            mlir::DialectRegistry &registry);

/// Receives messages about the model or the data called `name`.
using MessageFn =
    std::function<void(llvm::StringRef name, mlir::DiagnosticSeverity severity,
                       const llvm::Twine &text)>;

/// "error", "warning", "remark" or "note".
llvm::StringRef getKind(mlir::DiagnosticSeverity severity);
inline llvm::StringRef getKind(const mlir::Diagnostic &diag) {
  return getKind(diag.getSeverity());
}

/// One input file.
class ModelInput {
public:
  /// Reads a file; `path` "-" is standard input. Also fails if the content is
  /// clearly not a model, but an archive, a script or an error page.
  llvm::Error read(llvm::StringRef path);
  /// Sets the input to a copy of `content`, which is called `path`; or to
  /// `content` itself, which must then outlive all models made of it.
  llvm::Error set(llvm::StringRef content, llvm::StringRef path,
                  bool isBorrowed = false);
  /// The format given by the name, else recognized from the content.
  Format getFormat() const;
  /// Returns null and emits a diagnostic on errors. If `excerpts` is set, it
  /// receives excerpts with the faulty line of MLIR text; otherwise the
  /// diagnostic names the line.
  mlir::OwningOpRef<mlir::ModuleOp>
  import(mlir::MLIRContext &context, const ImportOptions &options,
         llvm::raw_ostream *excerpts = nullptr) const;

  /// The name used in messages.
  const std::string &getName() const { return name; }
  /// Empty if nothing was read.
  llvm::StringRef getContent() const {
    return buffer ? buffer->getBuffer() : llvm::StringRef();
  }
  /// The file's pages are read again when they are touched.
  void releasePages();

private:
  llvm::Error check() const;

  std::shared_ptr<llvm::MemoryBuffer> buffer;
  std::string path, name;
};

} // namespace mp

#endif // MPOPT_API_MODEL_MODELINPUT_H
