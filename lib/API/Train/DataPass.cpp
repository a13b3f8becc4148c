//===- DataPass.cpp - Checks and hashes data concurrently -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/DataPass.h"

#include "mp-opt/API/Model/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace llvm;

namespace mp {

DataPass::DataPass(std::vector<ReadData> given, StringMap<DataRule> rules)
    : data(std::move(given)), rules(std::move(rules)),
      pending(std::async(std::launch::async, [this] { return read(); })) {}

DataPass::~DataPass() {
  isGivenUp = true;
  if (pending.valid())
    pending.wait();
}

void DataPass::wait() {
  if (pending.valid())
    findings = pending.get();
}

const DataAttributes &DataPass::getHashes() {
  wait();
  return findings.hashes;
}

Error DataPass::check() {
  wait();
  if (findings.faults.empty())
    return Error::success();
  return createStringError(llvm::join(findings.faults, "; "));
}

/// Chunks are judged and hashed while they are in the cache.
void DataPass::read(const ReadData &file, const NamedTensor &named,
                    Findings &findings) const {
  constexpr uint64_t chunk = 1 << 18;
  const auto &[name, tensor] = named;
  DataRule rule = rules.lookup(name);
  size_t width = getElementBytes(tensor.getKind());
  uint64_t total = uint64_t(tensor.getNumElements());
  const auto *bytes = static_cast<const uint8_t *>(tensor.getData());
  BLAKE3 hasher;
  DataFault fault;
  for (uint64_t first = 0; first < total && !isGivenUp; first += chunk) {
    uint64_t count = std::min(chunk, total - first);
    DataFault found = findFault(tensor, rule, first, count);
    if (!fault)
      fault.place = found.place;
    fault.count += found.count;
    if (file.isHashed)
      hasher.update({bytes + first * width, size_t(count * width)});
  }
  if (file.isHashed)
    findings.hashes[name] = toHex(hasher.final<>(), /*LowerCase=*/true);
  if (fault)
    findings.faults.push_back(
        (file.path.empty() ? "" : file.path + ": ") +
        describeFault(named, rule, fault, file.areBatches));
}

DataPass::Findings DataPass::read() const {
  Findings findings;
  for (const ReadData &file : data)
    for (const NamedTensor &named : file.tensors)
      read(file, named, findings);
  return findings;
}

} // namespace mp
