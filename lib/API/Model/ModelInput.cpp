//===- ModelInput.cpp - Reading a model in any form -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/ModelInput.h"
#include "ForeignContent.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

using namespace mlir;

namespace mp {

StringRef getKind(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  return "note";
}

//===----------------------------------------------------------------------===//
// Schemas
//===----------------------------------------------------------------------===//

namespace {
/// Makes the dialect of every context know the domains of a file.
class SchemaExtension
    : public DialectExtension<SchemaExtension, onnxir::ONNXDialect> {
public:
  explicit SchemaExtension(std::shared_ptr<const SchemaRegistry> schemas)
      : schemas(std::move(schemas)) {}

  void apply(MLIRContext *, onnxir::ONNXDialect *dialect) const override {
    dialect->useSchemas(schemas);
  }

private:
  std::shared_ptr<const SchemaRegistry> schemas;
};
} // namespace

llvm::Error registerSchemas(StringRef json, StringRef name,
                            DialectRegistry &registry) {
  std::unique_ptr<SchemaRegistry> schemas = SchemaRegistry::createBuiltin();
  if (llvm::Error failed = schemas->addJSON(json, name))
    return failed;
  registry.addExtension(
      TypeID::get<SchemaExtension>(),
      std::make_unique<SchemaExtension>(
          std::shared_ptr<const SchemaRegistry>(std::move(schemas))));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// ModelInput
//===----------------------------------------------------------------------===//

/// Recognizes paths that a shell or a browser should have resolved.
static StringRef describeForeignPath(StringRef path) {
  if (path.contains("://"))
    return "; it is a URL: download the file first";
  if (path.starts_with("~"))
    return "; a shell makes a folder of '~' only outside of quotes";
  return "";
}

llvm::Error ModelInput::read(StringRef file) {
  path = file.str();
  name = path == "-" ? "<stdin>" : path;
  auto content =
      path == "-"
          ? llvm::MemoryBuffer::getSTDIN()
          : llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false);
  if (!content)
    return llvm::createStringError(
        "cannot read it: " + content.getError().message() +
        describeForeignPath(path));
  buffer = std::move(*content);
  if (path == "-" && buffer->getBufferSize() == 0)
    return llvm::createStringError("no model on standard input");
  return check();
}

llvm::Error ModelInput::set(StringRef content, StringRef file,
                            bool isBorrowed) {
  path = name = file.str();
  buffer = isBorrowed ? llvm::MemoryBuffer::getMemBuffer(
                            content, name, /*RequiresNullTerminator=*/false)
                      : llvm::MemoryBuffer::getMemBufferCopy(content, name);
  return check();
}

void ModelInput::releasePages() {
#ifdef __linux__
  // LLVM calls posix_madvise, which does nothing in glibc.
  if (buffer &&
      buffer->getBufferKind() == llvm::MemoryBuffer::MemoryBuffer_MMap)
    ::madvise(const_cast<char *>(buffer->getBufferStart()),
              buffer->getBufferSize(), MADV_DONTNEED);
#endif
}

static constexpr std::pair<StringLiteral, Format> extensions[] = {
    {".onnx", Format::ONNX},        {".pb", Format::ONNX},
    {".onnxtxt", Format::ONNXText}, {".onnxtext", Format::ONNXText},
    {".mlir", Format::MLIR},        {".mlirbc", Format::Bytecode},
};

std::vector<StringRef> getFormatExtensions() {
  auto names = llvm::make_first_range(extensions);
  return {names.begin(), names.end()};
}

Format getFormatOfName(StringRef name) {
  for (const auto &[extension, format] : extensions)
    if (llvm::sys::path::extension(name).equals_insensitive(extension))
      return format;
  return Format::Auto;
}

Format chooseFormat(Format wanted, StringRef name, Format input) {
  if (wanted != Format::Auto)
    return wanted;
  Format format = getFormatOfName(name);
  if (format != Format::Auto)
    return format;
  return isONNX(input) && !name.empty() ? Format::ONNX : Format::MLIR;
}

/// ONNX text starts with '<' or with comments before it. Other printable
/// content is MLIR text, and all else is protobuf.
static Format getFormatOfContent(StringRef content) {
  if (content.starts_with("ML\xefR"))
    return Format::Bytecode;
  StringRef text = content.take_front(4096);
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 && !isspace(c))
      return Format::ONNX;
  while (text.ltrim().starts_with("#"))
    text = text.ltrim().split('\n').second;
  return text.ltrim().starts_with("<") ? Format::ONNXText : Format::MLIR;
}

static bool isText(Format format) {
  return format == Format::ONNXText || format == Format::MLIR;
}

Format ModelInput::getFormat() const {
  Format format = getFormatOfName(path);
  if (format == Format::MLIR && buffer->getBuffer().starts_with("ML\xefR"))
    return Format::Bytecode;
  return format == Format::Auto ? getFormatOfContent(buffer->getBuffer())
                                : format;
}

llvm::Error ModelInput::check() const {
  StringRef content = buffer->getBuffer();
  auto expect = [](const Twine &expected, const Twine &found) {
    return llvm::createStringError("expected " + expected + ", found " + found);
  };
  constexpr StringLiteral any = "an ONNX model, ONNX text or MLIR";
  if (std::string found = describeForeignContent(content); !found.empty())
    return expect(any, found);
  Format named = getFormatOfName(path), looks = getFormatOfContent(content);
  if (named == Format::ONNX && isText(looks) && !content.trim().empty())
    return expect("a binary ONNX model",
                  looks == Format::ONNXText ? "ONNX text: name it .onnxtxt"
                  : beginsLikeMLIR(content) ? "MLIR: name it .mlir"
                                            : describeText(content));
  if (named == Format::Auto && looks == Format::MLIR &&
      !beginsLikeMLIR(content))
    return expect(any, describeText(content));
  return llvm::Error::success();
}

/// Adds the line of the text to a diagnostic.
static LogicalResult addPlace(Diagnostic &diagnostic) {
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    diagnostic << " (line " << place.getLine() << ", column "
               << place.getColumn() << ")";
  // The next handler prints the message.
  return failure();
}

OwningOpRef<ModuleOp> ModelInput::import(MLIRContext &context,
                                         const ImportOptions &options,
                                         raw_ostream *excerpts) const {
  Format format = getFormat();
  if (format == Format::ONNX)
    return importONNX(buffer, name, &context, options);
  if (format == Format::ONNXText)
    return importONNXText(buffer, name, &context, options);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(buffer->getBuffer(), name), {});
  if (excerpts) {
    SourceMgrDiagnosticHandler handler(*sources, &context, *excerpts);
    return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  }
  ScopedDiagnosticHandler handler(&context, addPlace);
  return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
}

} // namespace mp
