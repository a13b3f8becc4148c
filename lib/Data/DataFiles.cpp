//===- DataFiles.cpp - Files that hold tensors ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/DataFiles.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace llvm;

namespace mp {

Error prefixError(const Twine &what, Error error) {
  return createStringError(what + ": " + toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

Expected<DataBuffer> DataBuffer::open(StringRef path) {
  auto content = WritableMemoryBuffer::getFile(path);
  if (!content)
    return createStringError("cannot read it: " + content.getError().message());
  std::shared_ptr<WritableMemoryBuffer> owner = std::move(*content);
  return DataBuffer{owner->getBuffer(), owner};
}

DataBuffer DataBuffer::copy(StringRef bytes) {
  std::shared_ptr<WritableMemoryBuffer> owner =
      WritableMemoryBuffer::getNewUninitMemBuffer(bytes.size());
  llvm::copy(bytes, owner->getBufferStart());
  return {owner->getBuffer(), owner};
}

Expected<Tensor> makeTensor(ElementKind kind, ArrayRef<int64_t> sizes,
                            const DataBuffer &buffer) {
  unsigned element = getElementBytes(kind);
  std::optional<int64_t> bytes = getByteCount(sizes, element);
  if (!bytes || uint64_t(*bytes) != buffer.bytes.size()) {
    std::string expected = bytes ? std::to_string(*bytes) : "more than 2^63";
    return createStringError("expected " + expected + " bytes of data for " +
                             describeType(kind, sizes) + ", found " +
                             Twine(buffer.bytes.size()));
  }
  if (kind == ElementKind::Bool)
    for (char byte : buffer.bytes)
      if (byte & ~1)
        return createStringError("expected booleans of 0 and 1, found " +
                                 Twine(unsigned(uint8_t(byte))));
  // Complex numbers consist of two elements.
  unsigned alignment = std::min(element, 8u);
  if (reinterpret_cast<uintptr_t>(buffer.bytes.data()) % alignment == 0)
    return Tensor(kind, sizes, buffer.bytes.data(), buffer.owner);
  Expected<Tensor> copy = Tensor::create(kind, sizes);
  if (copy && *bytes)
    std::memcpy(copy->getData(), buffer.bytes.data(), *bytes);
  return copy;
}

Expected<Tensor> parseRaw(const DataBuffer &file, ElementKind kind,
                          ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> known(sizes);
  auto *open = llvm::find(known, -1);
  if (open != known.end()) {
    *open = 1;
    std::optional<int64_t> row = getByteCount(known, getElementBytes(kind));
    if (!row || *row == 0 || file.bytes.size() % *row)
      return createStringError(Twine(file.bytes.size()) + " bytes are not a " +
                               "number of rows of " +
                               describeType(kind, sizes));
    *open = int64_t(file.bytes.size()) / *row;
  }
  return makeTensor(kind, known, file);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::optional<DataFormat> getFormatOfName(StringRef path) {
  return StringSwitch<std::optional<DataFormat>>(sys::path::extension(path))
      .CaseLower(".npy", DataFormat::Npy)
      .CaseLower(".npz", DataFormat::Npz)
      .CaseLower(".safetensors", DataFormat::Safetensors)
      .Default(std::nullopt);
}

std::optional<DataFormat> getDataFormat(StringRef path, StringRef content) {
  if (auto format = getFormatOfName(path))
    return format;
  if (content.starts_with("\x93NUMPY"))
    return DataFormat::Npy;
  if (content.starts_with("PK\3\4") || content.starts_with("PK\5\6"))
    return DataFormat::Npz;
  if (content.size() > 8 && content[8] == '{')
    return DataFormat::Safetensors;
  return std::nullopt;
}

static Expected<std::vector<NamedTensor>> parse(DataFormat format,
                                                const DataBuffer &file) {
  if (format == DataFormat::Npz)
    return parseNpz(file);
  if (format == DataFormat::Safetensors)
    return parseSafetensors(file);
  Expected<Tensor> tensor = parseNpy(file);
  if (!tensor)
    return tensor.takeError();
  return std::vector<NamedTensor>{{"", std::move(*tensor)}};
}

/// Advice on how to convert a file of another format with numpy.
static std::string adviseFormat(StringRef path) {
  StringRef suffix = sys::path::extension(path);
  std::string array =
      StringSwitch<std::string>(suffix)
          .Cases({".csv", ".txt", ".tsv"},
                 ("numpy.loadtxt('" + sys::path::filename(path) +
                  "', delimiter='" + (suffix == ".tsv" ? "\\t" : ",") +
                  "', dtype='float32')")
                     .str())
          .Cases({".pt", ".pth", ".pkl", ".pickle"}, "an array of it")
          .Default("");
  return array.empty() ? array
                       : "; numpy.savez('data.npz', NAME=" + array +
                             ") makes one, NAME that of an input";
}

Expected<std::vector<NamedTensor>> readDataFile(StringRef path) {
  Expected<DataBuffer> file = DataBuffer::open(path);
  if (!file)
    return prefixError(path, file.takeError());
  std::optional<DataFormat> format = getDataFormat(path, file->getText());
  if (!format)
    return createStringError(path +
                             ": expected an .npz, .npy or .safetensors "
                             "file" +
                             adviseFormat(path));
  auto tensors = parse(*format, *file);
  if (!tensors)
    return prefixError(path, tensors.takeError());
  return tensors;
}

static Error write(DataFormat format, ArrayRef<NamedTensor> tensors,
                   raw_ostream &os) {
  if (format == DataFormat::Npz)
    return writeNpz(tensors, os);
  if (format == DataFormat::Safetensors)
    return writeSafetensors(tensors, {}, os);
  if (tensors.size() != 1)
    return createStringError("an .npy file holds one tensor, not " +
                             Twine(tensors.size()));
  return writeNpy(tensors.front().tensor, os);
}

Error checkDataFileName(StringRef path, bool haveNames) {
  StringRef suffix = sys::path::extension(path);
  if (suffix.empty() || getFormatOfName(path))
    return Error::success();
  bool isTorch = suffix == ".pt" || suffix == ".pth" || suffix == ".bin";
  StringRef advice =
      isTorch ? ", which safetensors.torch.load_file() reads for torch" : "";
  return createStringError(
      "'" + path + "': '" + suffix +
      "' is not a format that tensors are written in; "
      "expected " +
      (haveNames ? ".safetensors or .npz" : ".npz, .npy or .safetensors") +
      advice);
}

Error writeDataFile(StringRef path, ArrayRef<NamedTensor> tensors) {
  if (Error failed = checkDataFileName(path))
    return failed;
  auto file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  DataFormat format = getFormatOfName(path).value_or(DataFormat::Npz);
  if (Error failed = write(format, tensors, (*file)->os()))
    return prefixError(path, std::move(failed));
  if (Error failed = (*file)->finish())
    return failed;
  return (*file)->commit();
}

} // namespace mp
