//===- DataHash.cpp - Hashes training data beside other work --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/DataHash.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace llvm;

namespace mp {

DataHash::DataHash(std::vector<NamedTensor> given)
    : tensors(std::move(given)),
      pending(std::async(std::launch::async, [this] { return compute(); })) {}

DataHash::~DataHash() {
  isGivenUp = true;
  if (pending.valid())
    pending.wait();
}

const DataAttributes &DataHash::get() {
  if (pending.valid())
    hashes = pending.get();
  return hashes;
}

DataAttributes DataHash::compute() const {
  constexpr size_t chunk = 16 << 20;
  DataAttributes computed;
  for (const auto &[name, tensor] : tensors) {
    BLAKE3 hasher;
    ArrayRef<uint8_t> bytes(static_cast<const uint8_t *>(tensor.getData()),
                            tensor.getNumBytes());
    while (!bytes.empty() && !isGivenUp) {
      hasher.update(bytes.take_front(chunk));
      bytes = bytes.drop_front(std::min(chunk, bytes.size()));
    }
    computed[name] = toHex(hasher.final<>(), /*LowerCase=*/true);
  }
  return computed;
}

} // namespace mp
