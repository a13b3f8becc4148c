//===- DataRun.cpp - What must hold for data files ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataRun.h"

#include "mp-opt/Data/DataFiles.h"
#include "mp-opt/Target/ONNX/TestData.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mp::fuzz {

using Tensors = std::vector<NamedTensor>;

static Expected<Tensors> parse(StringRef bytes, Reader reader) {
  DataBuffer file = DataBuffer::copy(bytes);
  if (reader == Reader::Npz)
    return parseNpz(file);
  if (reader == Reader::Safetensors)
    return parseSafetensors(file);
  if (reader == Reader::TensorProto) {
    // No folder has this name: nothing else is read.
    Expected<NamedTensor> named = parseTensorProto(file, "/nowhere");
    if (!named)
      return named.takeError();
    return Tensors{std::move(*named)};
  }
  Expected<Tensor> tensor = parseNpy(file);
  if (!tensor)
    return tensor.takeError();
  return Tensors{{"x", std::move(*tensor)}};
}

static StringRef getBytes(const Tensor &tensor) {
  return {static_cast<const char *>(tensor.getData()), tensor.getNumBytes()};
}

/// Names that are no UTF-8 are written as such; their tensors are the same.
static void checkSame(const Tensors &a, const Tensors &b) {
  if (a.size() != b.size())
    fail("what was written has another number of tensors");
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].tensor.getKind() != b[i].tensor.getKind() ||
        a[i].tensor.getSizes() != b[i].tensor.getSizes() ||
        getBytes(a[i].tensor) != getBytes(b[i].tensor))
      fail("tensor '" + a[i].name + "' is read otherwise than it was written");
}

static bool isEmpty(const NamedTensor &named) {
  return named.tensor.getNumElements() == 0;
}

static void checkWriters(const Tensors &tensors) {
  std::string text;
  raw_string_ostream npz(text);
  // Some kinds are none of NumPy's.
  if (Error failed = writeNpz(tensors, npz)) {
    consumeError(std::move(failed));
  } else {
    Expected<Tensors> again = parse(text, Reader::Npz);
    if (!again)
      fail("what was written is refused: " + toString(again.takeError()));
    checkSame(tensors, *again);
  }
  // Empty tensors have no places of their own, and names may become the same.
  if (tensors.size() != 1 || isEmpty(tensors.front()))
    return;
  std::string other;
  raw_string_ostream safetensors(other);
  if (Error failed = writeSafetensors(tensors, {}, safetensors)) {
    consumeError(std::move(failed));
    return;
  }
  Expected<Tensors> again = parse(other, Reader::Safetensors);
  if (!again)
    fail("what was written is refused: " + toString(again.takeError()));
  checkSame(tensors, *again);
}

bool runData(StringRef bytes, Reader reader) {
  Expected<Tensors> tensors = parse(bytes, reader);
  if (!tensors) {
    if (toString(tensors.takeError()).empty())
      fail("a data file was refused without a reason");
    return false;
  }
  for (const NamedTensor &named : *tensors)
    named.tensor.toDoubles();
  checkWriters(*tensors);
  return true;
}

} // namespace mp::fuzz
