//===- ForeignContent.cpp - Recognizes files that are not models ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parsers of protobuf and MLIR would report such a file as a faulty model.
// Names of files may be misleading; their first bytes are not.
//
//===----------------------------------------------------------------------===//

#include "ForeignContent.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace mp {

namespace {
struct Signature {
  /// The offset of the signature.
  size_t offset;
  StringLiteral bytes, meaning;
};
} // namespace

static constexpr Signature signatures[] = {
    {0, "\x93NUMPY", "a NumPy array (.npy), which holds a tensor and no model"},
    {0, "\x89HDF\r\n\x1a\n",
     "an HDF5 file (.h5): a Keras model is exported with tf2onnx or "
     "model.export"},
    {0, "\x1f\x8b", "a gzip archive: unpack it first"},
    {0, "\x28\xb5\x2f\xfd", "a zstd archive: unpack it first"},
    {0,
     "\xfd"
     "7zXZ",
     "an xz archive: unpack it first"},
    {0, "BZh9", "a bzip2 archive: unpack it first"},
    {0, "GGUF", "a GGUF file, which is not an ONNX model"},
    {4, "TFL3", "a TensorFlow Lite model, which is not an ONNX model"},
    {4, "ORTM",
     "a model in onnxruntime's own format (.ort): take the .onnx file that it "
     "was made from"},
    {0,
     "\x7f"
     "ELF",
     "a compiled program or library"},
    {0, "version https://git-lfs.github.com/spec/",
     "a Git LFS pointer in place of the file: 'git lfs pull' fetches it"},
    {0, "<?xml", "XML, which is not an ONNX model"},
};

/// Recognizes an archive by the name of its first file.
static std::string describeZip(StringRef content) {
  constexpr size_t nameLength = 26, nameStart = 30;
  if (content.size() < nameStart)
    return "a ZIP archive";
  StringRef name = content.substr(
      nameStart, support::endian::read16le(content.data() + nameLength));
  if (name.ends_with(".npy"))
    return "a NumPy archive (.npz), which holds tensors and no model";
  if (name.ends_with("data.pkl") || name.ends_with("/.format_version"))
    return "a PyTorch file (.pt): torch.onnx.export makes a model of a module";
  return "a ZIP archive";
}

static bool isPickle(StringRef content) {
  // Pickle protocols 2 to 5, with the final opcode.
  return content.size() > 2 && content[0] == '\x80' && content[1] >= 2 &&
         content[1] <= 5 && content.ends_with(".");
}

static bool isSafetensors(StringRef content) {
  constexpr size_t prefix = 8;
  return content.size() > prefix &&
         content.drop_front(prefix).starts_with("{\"") &&
         support::endian::read64le(content.data()) <= content.size() - prefix;
}

std::string describeForeignContent(StringRef content) {
  for (const Signature &known : signatures)
    if (content.substr(known.offset).starts_with(known.bytes))
      return known.meaning.str();
  if (content.starts_with("PK\x03\x04"))
    return describeZip(content);
  if (isPickle(content))
    return "a Python pickle, such as old PyTorch files: torch.onnx.export "
           "makes a model of a module";
  if (isSafetensors(content))
    return "a safetensors file, which holds tensors and no model";
  StringRef text = content.take_front(256).ltrim();
  if (text.starts_with_insensitive("<!doctype") ||
      text.starts_with_insensitive("<html"))
    return "a web page: the download of the model has failed, it seems";
  return "";
}

bool beginsLikeMLIR(StringRef text) {
  text = text.ltrim();
  while (text.starts_with("//"))
    text = text.split('\n').second.ltrim();
  if (text.empty() || text.starts_with("{-#"))
    return true;
  // MLIR text begins with results, aliases, or operations with their full
  // names.
  auto begins = [](char c) { return isAlpha(c) || c == '_'; };
  auto continues = [](char c) { return isAlnum(c) || c == '_' || c == '$'; };
  if (StringRef("%#!\"").contains(text[0]))
    return text.size() > 1 && (begins(text[1]) || isAlnum(text[1])) &&
           text[1] != '"';
  if (!begins(text[0]))
    return false;
  StringRef word = text.take_while(continues);
  return word == "module" || word == "unrealized_conversion_cast" ||
         text.drop_front(word.size()).starts_with(".");
}

std::string describeText(StringRef text) {
  constexpr size_t maxShown = 40;
  StringRef line = text.ltrim().split('\n').first.rtrim();
  // Other characters might be control sequences of a terminal.
  std::string shown;
  for (char c : line.take_front(maxShown))
    shown += isPrint(c) ? c : '?';
  return "text that begins with '" + shown +
         (line.size() > maxShown ? "...'" : "'");
}

} // namespace mp
