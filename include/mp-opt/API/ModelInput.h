//===- ModelInput.h - Reading a model in any form ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODELINPUT_H
#define MPOPT_API_MODELINPUT_H

#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace mp {

/// The last three are of code for a processor: outputs only.
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
/// What the extension of a file's name says; Auto if it says nothing.
Format getFormatOfName(llvm::StringRef name);

/// That of an output: `wanted`, else what its name says, else that of the
/// input, but text of MLIR where there is no name.
Format chooseFormat(Format wanted, llvm::StringRef name, Format input);

/// Text or bytecode of MLIR, and binary or text of ONNX.
inline bool isMLIR(Format format) {
  return format == Format::MLIR || format == Format::Bytecode;
}
inline bool isONNX(Format format) {
  return format == Format::ONNX || format == Format::ONNXText;
}

/// Makes every context of `registry` know the operators that `json`
/// describes, beside ONNX's own. Errors call the text `name`.
llvm::Error registerSchemas(llvm::StringRef json, llvm::StringRef name,
                            mlir::DialectRegistry &registry);

/// Gets what is said of a model, or of data, known as `name`.
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
  /// `path` "-" is standard input. Fails as well where the content is plainly
  /// no model: an archive, a script, a page of an error.
  llvm::Error read(llvm::StringRef path);
  /// The same of a copy of `content`, which is called `path`.
  llvm::Error set(llvm::StringRef content, llvm::StringRef path);
  /// As its name says, else as its content looks.
  Format getFormat() const;
  /// Null after an error, which is a diagnostic. Where there is a stream for
  /// `excerpts`, what is wrong in text of MLIR goes there, with its line;
  /// elsewhere the diagnostic says which line it is.
  mlir::OwningOpRef<mlir::ModuleOp>
  import(mlir::MLIRContext &context, const ImportOptions &options,
         llvm::raw_ostream *excerpts = nullptr) const;

  /// What messages call it.
  const std::string &getName() const { return name; }
  /// Empty where nothing was read.
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

#endif // MPOPT_API_MODELINPUT_H
