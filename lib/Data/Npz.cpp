//===- Npz.cpp - NumPy's .npz files ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "ZipArchive.h"

using namespace llvm;

namespace mp {

Expected<std::vector<NamedTensor>> parseNpz(const DataBuffer &file) {
  Expected<ZipArchive> archive = ZipArchive::parse(file);
  if (!archive)
    return archive.takeError();
  std::vector<NamedTensor> tensors;
  for (const ZipArchive::Entry &entry : archive->getEntries()) {
    StringRef name = entry.name;
    if (!name.consume_back(".npy"))
      return createStringError("entry '" + name + "' is not an .npy file");
    Expected<DataBuffer> content = archive->read(entry);
    if (!content)
      return content.takeError();
    Expected<Tensor> tensor = parseNpy(*content);
    if (!tensor)
      return prefixError("tensor '" + name + "'", tensor.takeError());
    tensors.push_back({name.str(), std::move(*tensor)});
  }
  return tensors;
}

Error writeNpz(ArrayRef<NamedTensor> tensors, raw_ostream &os) {
  ZipWriter writer(os);
  for (const auto &[name, tensor] : tensors) {
    // Names in a zip file are limited to 65535 bytes.
    constexpr size_t longest = 60000;
    if (name.size() > longest)
      return createStringError("the name '" + StringRef(name).take_front(64) +
                               "...' is too long for an .npz file");
    Expected<std::string> header = makeNpyHeader(tensor);
    if (!header)
      return prefixError("tensor '" + name + "'", header.takeError());
    writer.add(name + ".npy", {*header, getBytes(tensor)});
  }
  writer.finish();
  return Error::success();
}

} // namespace mp
