//===- IdenticalContractions.cpp - Merged launches ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdenticalContractions.h"

#include "mp-opt/Codegen/GPU/Contract.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace mp {

using device::Kind;

/// The maximum number of contractions of one kernel: each block selects its
/// memory from those of all.
constexpr size_t maxContractions = 16;

constexpr auto ignoreLocations = OperationEquivalence::IgnoreLocations;

/// The contraction that is the only op of a group and is computed by tiles.
static kernel::ContractOp getTiled(device::GroupOp group) {
  Block &body = group.getBody().front();
  if (group.getKind() != Kind::Contract || !llvm::hasSingleElement(body))
    return nullptr;
  auto op = dyn_cast<kernel::ContractOp>(body.front());
  return op && kernel::isWorthTiles(op) ? op : nullptr;
}

/// True if they differ only in the memory of their operands.
static bool areIdentical(kernel::ContractOp a, kernel::ContractOp b) {
  llvm::SmallPtrSet<Value, 8> operands(a->operand_begin(), a->operand_end());
  // Maps values of one epilogue to the values of the other.
  llvm::DenseMap<Value, Value> inner;
  auto areSame = [&](Value x, Value y) -> LogicalResult {
    if (operands.contains(x))
      return success(x.getType() == y.getType());
    if (auto found = inner.find(x); found != inner.end())
      return success(found->second == y);
    Attribute one, other;
    return success(x == y ||
                   (matchPattern(x, m_Constant(&one)) &&
                    matchPattern(y, m_Constant(&other)) && one == other));
  };
  auto note = [&](Value x, Value y) { inner[x] = y; };
  return OperationEquivalence::isEquivalentTo(a, b, areSame, note,
                                              ignoreLocations);
}

int64_t ContractFamilies::find(device::GroupOp group) {
  kernel::ContractOp op = getTiled(group);
  if (!op)
    return -1;
  auto ignoreValue = [](Value) { return llvm::hash_code(0); };
  auto hash = unsigned(size_t(OperationEquivalence::computeHash(
      op, ignoreValue, ignoreValue, ignoreLocations)));
  auto &candidates = known[hash >> 1];
  for (auto [other, number] : candidates)
    if (areIdentical(other, op))
      return number;
  candidates.emplace_back(op, count);
  return count++;
}

void joinContracts(ArrayRef<device::GroupOp> groups) {
  while (groups.size() > 1) {
    auto joined = groups.take_front(maxContractions);
    groups = groups.drop_front(joined.size());
    if (joined.size() == 1)
      return;
    device::GroupOp first = joined.front();
    Block &body = first.getBody().front();
    for (device::GroupOp group : joined.drop_front()) {
      getTiled(group)->moveBefore(&body, body.end());
      group.erase();
    }
  }
}

} // namespace mp
