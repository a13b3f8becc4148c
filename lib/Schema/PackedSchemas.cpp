//===- PackedSchemas.cpp - Schemas as the build packs them ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table starts with the newest opsets of domains. Families follow in order;
// the versions of each are a text, so that they can be unpacked later. The
// table is part of the program: its contents are not checked.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/Schema.h"

#include "mp-opt/Support/Archive.h"

#include "llvm/ADT/STLExtras.h"

#include <mutex>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Contents, for both directions
//===----------------------------------------------------------------------===//

template <typename Archive> void visit(Archive &archive, TypeSet &set) {
  for (uint32_t &word : set.bits)
    archive.number(word);
  archive.number(set.other);
}

template <typename Archive>
static void visit(Archive &archive, TypeVariable &variable) {
  archive.text(variable.name);
  visit(archive, variable.types);
}

template <typename Archive>
static void visit(Archive &archive, FormalParameter &parameter) {
  archive.text(parameter.name);
  archive.number(parameter.typeVariable);
  archive.number(parameter.option);
  archive.number(parameter.homogeneous);
  archive.number(parameter.minArity);
}

template <typename Archive>
static void visit(Archive &archive, AttributeSchema &attribute) {
  archive.text(attribute.name);
  archive.text(attribute.kind);
  archive.number(attribute.required);
  archive.optional(attribute.defaultValue,
                   [&](std::string &value) { archive.text(value); });
}

template <typename Archive, typename Item>
static void visit(Archive &archive, std::vector<Item> &items) {
  archive.list(items, [&](Item &item) { visit(archive, item); });
}

/// Everything except the family's names.
template <typename Archive>
static void visit(Archive &archive, OpSchema &schema) {
  archive.number(schema.since);
  archive.number(schema.deprecated);
  archive.number(schema.deterministic);
  archive.number(schema.checkedAttributes);
  archive.number(schema.onnxNumber);
  visit(archive, schema.inputs);
  visit(archive, schema.outputs);
  visit(archive, schema.attributes);
  visit(archive, schema.typeVariables);
}

//===----------------------------------------------------------------------===//
// Directions
//===----------------------------------------------------------------------===//

std::string SchemaRegistry::pack() const {
  std::string bytes;
  ArchiveWriter packer(bytes);
  SmallVector<std::pair<StringRef, int>> opsets;
  for (const auto &entry : newest)
    opsets.push_back({entry.first(), entry.second});
  llvm::sort(opsets);
  packer.number(opsets.size());
  for (auto [domain, opset] : opsets) {
    packer.text(domain);
    packer.number(opset);
  }
  for (const OpFamily *family : order) {
    packer.text(family->domain);
    packer.text(family->name);
    packer.number(family->isPure);
    std::string versions;
    ArchiveWriter inner(versions);
    for (const std::unique_ptr<OpSchema> &version : family->getVersions())
      visit(inner, *version);
    packer.text(versions);
  }
  return bytes;
}

void SchemaRegistry::addPacked(StringRef packed) {
  ArchiveReader unpacker(packed);
  size_t count;
  unpacker.number(count);
  StringRef domain, name;
  while (count--) {
    unpacker.text(domain);
    unpacker.number(newest[domain]);
  }
  while (!unpacker.isAtEnd()) {
    unpacker.text(domain);
    unpacker.text(name);
    OpFamily &family = getOrCreate(domain, name);
    unpacker.number(family.isPure);
    unpacker.text(family.packed);
    family.isUnpacked = false;
    order.push_back(&family);
  }
}

const OpFamily::Versions &OpFamily::unpack() const {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (isUnpacked.load(std::memory_order_relaxed))
    return versions;
  for (ArchiveReader unpacker(packed); !unpacker.isAtEnd();) {
    auto schema = std::make_unique<OpSchema>();
    schema->domain = domain;
    schema->name = name;
    visit(unpacker, *schema);
    versions.push_back(std::move(schema));
  }
  isUnpacked.store(true, std::memory_order_release);
  return versions;
}

} // namespace mp
