//===- PackedSchemas.cpp - Schemas as the build packs them ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers are LEB128; texts and lists start with their length. The table starts
// with the newest opsets of domains. Families follow in order; the versions of
// each come after their size in bytes, so that they can be unpacked later. The
// table is part of the program: its contents are not checked.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/Schema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"

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
  bool hasDefault = attribute.defaultValue.has_value();
  archive.number(hasDefault);
  if (!hasDefault)
    return;
  if (!attribute.defaultValue)
    attribute.defaultValue.emplace();
  archive.text(*attribute.defaultValue);
}

template <typename Archive, typename Item>
static void visit(Archive &archive, std::vector<Item> &items) {
  size_t size = items.size();
  archive.number(size);
  items.resize(size);
  for (Item &item : items)
    visit(archive, item);
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

namespace {
class Packer {
public:
  explicit Packer(std::string &bytes) : os(bytes) {}

  template <typename T> void number(T value) {
    encodeULEB128(uint64_t(value), os);
  }
  void text(StringRef text) {
    number(text.size());
    os << text;
  }

private:
  raw_string_ostream os;
};

class Unpacker {
public:
  explicit Unpacker(StringRef bytes) : rest(bytes) {}

  template <typename T> void number(T &value) {
    unsigned size;
    value = T(decodeULEB128(rest.bytes_begin(), &size));
    rest = rest.drop_front(size);
  }
  StringRef text() {
    size_t size;
    number(size);
    StringRef text = rest.take_front(size);
    rest = rest.drop_front(size);
    return text;
  }
  void text(std::string &result) { result = text().str(); }
  bool isAtEnd() const { return rest.empty(); }

private:
  StringRef rest;
};
} // namespace

std::string SchemaRegistry::pack() const {
  std::string bytes;
  Packer packer(bytes);
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
    Packer inner(versions);
    for (const std::unique_ptr<OpSchema> &version : family->getVersions())
      visit(inner, *version);
    packer.text(versions);
  }
  return bytes;
}

void SchemaRegistry::addPacked(StringRef packed) {
  Unpacker unpacker(packed);
  size_t count;
  unpacker.number(count);
  while (count--) {
    StringRef domain = unpacker.text();
    unpacker.number(newest[domain]);
  }
  while (!unpacker.isAtEnd()) {
    StringRef domain = unpacker.text();
    OpFamily &family = getOrCreate(domain, unpacker.text());
    unpacker.number(family.isPure);
    family.packed = unpacker.text();
    family.isUnpacked = false;
    order.push_back(&family);
  }
}

const OpFamily::Versions &OpFamily::unpack() const {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (isUnpacked.load(std::memory_order_relaxed))
    return versions;
  for (Unpacker unpacker(packed); !unpacker.isAtEnd();) {
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
