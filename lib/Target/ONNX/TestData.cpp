//===- TestData.cpp - Folders of test data that ONNX has ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "ExternalData.h"

#include "mp-opt/Target/ONNX/TestData.h"

#include "llvm/Support/Path.h"

#include <map>

using namespace llvm;
namespace path = llvm::sys::path;

namespace mp {

/// The elements' bytes, whichever field they are in.
static Expected<DataBuffer> takeData(::onnx::TensorProto &tensor,
                                     StringRef folder) {
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) {
    ExternalData external(folder.str(), {});
    Expected<StringRef> bytes = external.get(tensor);
    if (!bytes)
      return bytes.takeError();
    return DataBuffer::copy(*bytes);
  }
  auto owner = std::make_shared<std::string>();
  if (tensor.has_raw_data())
    owner->swap(*tensor.mutable_raw_data());
  else if (std::optional<std::string> typed = packTyped(tensor))
    *owner = std::move(*typed);
  else
    return createStringError("its elements do not fit into their type");
  return DataBuffer{{owner->data(), owner->size()}, owner};
}

static Expected<NamedTensor> convert(::onnx::TensorProto &proto,
                                     StringRef folder) {
  auto kind = ElementKind::Undefined;
  if (proto.data_type() > 0 && proto.data_type() <= int(ElementKind::Int2))
    kind = ElementKind(proto.data_type());
  SmallVector<int64_t> sizes(proto.dims().begin(), proto.dims().end());
  if (kind == ElementKind::Undefined || proto.has_segment())
    return createStringError("expected the bytes of a TensorProto");
  if (!getElementBytes(kind))
    return createStringError("tensors of " + getElementKindName(kind) +
                             " are not supported");
  Expected<DataBuffer> data = takeData(proto, folder);
  if (!data)
    return data.takeError();
  Expected<Tensor> tensor = makeTensor(kind, sizes, *data);
  if (!tensor)
    return tensor.takeError();
  return NamedTensor{proto.name(), std::move(*tensor)};
}

Expected<NamedTensor> parseTensorProto(const DataBuffer &file,
                                       StringRef folder) {
  StringRef text = file.getText();
  try {
    silenceProtobuf();
    ::onnx::TensorProto proto;
    if (text.size() > INT32_MAX ||
        !proto.ParseFromArray(text.data(), int(text.size())))
      return createStringError("expected the bytes of a TensorProto");
    return convert(proto, folder);
  } catch (const std::exception &exception) {
    return createStringError(exception.what());
  }
}

Expected<NamedTensor> readTensorProto(StringRef file) {
  Expected<DataBuffer> content = DataBuffer::open(file);
  if (!content)
    return prefixError(file, content.takeError());
  Expected<NamedTensor> tensor =
      parseTensorProto(*content, path::parent_path(file));
  if (!tensor)
    return prefixError(file, tensor.takeError());
  return tensor;
}

/// Reads `<prefix>0.pb` and so on.
static Expected<std::vector<NamedTensor>>
readNumbered(StringRef folder, StringRef prefix, ArrayRef<std::string> names) {
  std::map<unsigned, std::string> files;
  for (StringRef name : names) {
    unsigned number;
    StringRef digits = name;
    if (digits.consume_front(prefix) && digits.consume_back(".pb") &&
        !digits.getAsInteger(10, number))
      files[number] = name.str();
  }
  std::vector<NamedTensor> tensors;
  for (const auto &[number, name] : files) {
    if (number != tensors.size())
      return createStringError(folder + ": '" + prefix + Twine(tensors.size()) +
                               ".pb' is missing");
    Expected<NamedTensor> tensor = readTensorProto((folder + "/" + name).str());
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

Expected<TestData> readTestData(StringRef folder) {
  auto fail = [&](std::error_code error) {
    return createStringError(folder + ": cannot read it: " + error.message());
  };
  ErrorOr<Directory> opened = Directory::open(folder);
  if (!opened)
    return fail(opened.getError());
  auto names = opened->list();
  if (!names)
    return fail(names.getError());
  auto inputs = readNumbered(folder, "input_", *names);
  if (!inputs)
    return inputs.takeError();
  auto outputs = readNumbered(folder, "output_", *names);
  if (!outputs)
    return outputs.takeError();
  if (inputs->empty() && outputs->empty()) {
    auto file = llvm::find_if(*names, [](StringRef name) {
      return name.ends_with(".npz") || name.ends_with(".safetensors");
    });
    return createStringError(
        folder + ": expected files such as 'input_0.pb' in it" +
        (file == names->end()
             ? ", or the path of an .npz or .safetensors file"
             : "; is '" + std::string(*file) + "', which it has, meant?"));
  }
  return TestData{std::move(*inputs), std::move(*outputs)};
}

} // namespace mp
