//===- ModuleDigest.cpp - Finds out if a module has changed ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes and types are unique and ops are not moved, so addresses identify
// them. The words of many ops are hashed at once.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/ModuleDigest.h"

using namespace mlir;

namespace mp {

namespace {

class Hasher {
public:
  void add(const void *pointer) { add(reinterpret_cast<uintptr_t>(pointer)); }
  void add(uint64_t number) { words.push_back(number); }
  void add(Operation *op);

  llvm::XXH128_hash_t finish() {
    flush();
    return {words[0], words[1]};
  }

private:
  /// Replaces the words so far by the two words of their hash.
  void flush() {
    auto hash = llvm::xxh3_128bits(
        ArrayRef(reinterpret_cast<const uint8_t *>(words.data()),
                 words.size() * sizeof(uint64_t)));
    words.assign({hash.low64, hash.high64});
  }

  std::vector<uint64_t> words;
};

} // namespace

void Hasher::add(Operation *op) {
  constexpr size_t enough = 4096;
  if (words.size() >= enough)
    flush();
  add(static_cast<const void *>(op));
  add(op->getBlock());
  add(op->getName().getAsOpaquePointer());
  add(op->getLoc().getAsOpaquePointer());
  add(op->getDiscardableAttrDictionary().getAsOpaquePointer());
  add(uint64_t(size_t(op->hashProperties())));
  add(op->getNumOperands());
  for (Value operand : op->getOperands())
    add(operand.getAsOpaquePointer());
  add(op->getNumResults());
  for (Type type : op->getResultTypes())
    add(type.getAsOpaquePointer());
  for (Block *successor : op->getSuccessors())
    add(successor);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      add(&block);
      add(block.getNumArguments());
      for (BlockArgument argument : block.getArguments()) {
        add(argument.getAsOpaquePointer());
        add(argument.getType().getAsOpaquePointer());
      }
    }
}

ModuleDigest::ModuleDigest(ModuleOp module) {
  Hasher hasher;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) { hasher.add(op); });
  hash = hasher.finish();
}

} // namespace mp
