//===- Seeds.cpp - The inputs that fuzzing starts from --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Seeds.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"

#include "google/protobuf/text_format.h"

#include <algorithm>

namespace mp::fuzz {

/// The model that a text stands for, as bytes; empty if it is none.
static std::string parseModel(llvm::StringRef file, const std::string &text) {
  ::onnx::ModelProto model;
  std::string bytes;
  if (file.ends_with(".onnx"))
    return text;
  if (file.ends_with(".pbtxt")) {
    if (!google::protobuf::TextFormat::ParseFromString(text, &model))
      fail("cannot read seed " + file);
  } else if (!::onnx::OnnxParser::Parse(model, text.c_str()).IsOK()) {
    return bytes;
  }
  model.SerializeToString(&bytes);
  return bytes;
}

void Seeds::add(llvm::StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    fail("cannot read seed " + file + ": " + buffer.getError().message());
  std::string name = llvm::sys::path::filename(file).str();
  std::string text = (*buffer)->getBuffer().str();
  if (file.ends_with(".onnx") || file.ends_with(".pbtxt") ||
      file.ends_with(".onnxtxt"))
    if (std::string bytes = parseModel(file, text); !bytes.empty())
      models.push_back({name, bytes});
  static constexpr std::pair<llvm::StringLiteral, Reader> readers[] = {
      {".policy.yaml", Reader::PolicyYAML},
      {".gaudi.json", Reader::GaudiJSON},
      {".list.txt", Reader::List},
      {".schemas.json", Reader::Schemas},
      {".onnxtxt", Reader::ONNXText},
      {".npy", Reader::Npy},
      {".npz", Reader::Npz},
      {".safetensors", Reader::Safetensors},
      {".tensor.pb", Reader::TensorProto},
  };
  for (const auto &[extension, reader] : readers)
    if (file.ends_with(extension))
      texts.push_back({name, text, reader});
}

void Seeds::load(llvm::StringRef path) {
  std::vector<std::string> files;
  std::error_code error;
  namespace fs = llvm::sys::fs;
  if (!fs::is_directory(path)) {
    add(path);
    return;
  }
  for (fs::directory_iterator it(path, error), end; it != end && !error;
       it.increment(error))
    files.push_back(it->path());
  std::sort(files.begin(), files.end());
  for (const std::string &file : files)
    add(file);
}

} // namespace mp::fuzz
