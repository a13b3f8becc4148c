//===- MergeGroups.cpp - Fewer kernels ------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch takes longer than a small kernel runs. Groups are merged in four
// ways:
//
// * Maps over the same points, as the rules of an optimizer are for one
//   parameter, become one map: values that one writes and the next reads stay
//   in registers, and what both read is read once.
// * The start values of a reduction are not written by a map: the threads of
//   the reduction know them.
// * Contractions that differ only in their memory become one kernel.
// * Independent groups, as the updates of all parameters, become parts of one
//   kernel, whose blocks are divided among them. Each group runs as late as its
//   dependents allow, or joins groups of its family at an earlier level; groups
//   at one level are merged.
//
// Dependences follow from memory accesses: one group writes what another
// touches.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Partition/MergeGroups.h"

#include "../ArenaPlaces.h"
#include "../GroupForms.h"
#include "IdenticalContractions.h"
#include "MapFusion.h"
#include "PlaceWorkingCopies.h"
#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Codegen/Target/GPULimits.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <limits>
#include <map>

using namespace mlir;

namespace mp {

using device::Kind;

namespace {

/// The most pointers that a kernel is called with. The arena is one of them.
constexpr size_t maxRoots = 4000;
static_assert(maxRoots * sizeof(uint64_t) <= device::maxParameterBytes);
/// The most parts of a kernel. With more of them, pointers do not fit into
/// registers.
constexpr size_t maxParts = 160;
/// The most bytes of a state that are copied instead of waiting for its
/// readers.
constexpr int64_t maxCopied = 64;
/// The family of small groups.
constexpr int64_t smallParts = 0;
/// The least bytes for which a map joins another one that reads them, too.
constexpr int64_t minSharedBytes = 1 << 22;
/// The number of groups before a map among which one is searched to fuse it
/// with.
constexpr int64_t lookBack = 64;

class GroupMerger {
public:
  explicit GroupMerger(func::FuncOp main)
      : main(main), block(main.getBody().front()), b(main.getContext()) {}

  void run();

private:
  /// A group and its accesses.
  struct Node {
    device::GroupOp group;
    SmallVector<Access> accesses;
    int64_t level = 0;
    /// Groups of the same family at one level become one; -1: the group has
    /// none.
    int64_t family = -1;
    /// A group before it that can keep a copy of what it reads.
    Node *host = nullptr;
  };

  void hoistIndependentOps();
  void bringLoads(device::GroupOp group);
  void fuseAllMaps();
  void takeFills();
  void collect();
  void findLevels();
  void findFamilies();
  void joinOthers();
  void keepOldStates();
  void keepOldState(Value state, ArrayRef<Node *> users);
  void merge();
  void mergeLevel(ArrayRef<device::GroupOp> groups);
  void makePart(ArrayRef<device::GroupOp> groups);

  func::FuncOp main;
  Block &block;
  OpBuilder b;
  std::vector<Node> nodes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ops between groups
//===----------------------------------------------------------------------===//

/// Makes loads of `main` the group's own: groups then depend only on memory.
void GroupMerger::bringLoads(device::GroupOp group) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(group.getBody(), used);
  llvm::SetVector<Operation *> chain;
  // The ops that depend on a load, each after its operands.
  llvm::DenseMap<Operation *, bool> known;
  std::function<bool(Value)> depends = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &block || isa<runtime::OutputOp>(op))
      return false;
    if (auto found = known.find(op); found != known.end())
      return found->second;
    bool isFound = isa<memref::LoadOp>(op);
    for (Value operand : op->getOperands())
      isFound |= depends(operand);
    known[op] = isFound;
    if (isFound)
      chain.insert(op);
    return isFound;
  };
  for (Value value : used)
    depends(value);
  if (chain.empty())
    return;
  Block &body = group.getBody().front();
  b.setInsertionPointToStart(&body);
  IRMapping mapping;
  for (Operation *op : chain)
    b.clone(*op, mapping);
  for (Operation *op : chain)
    for (Value result : op->getResults())
      result.replaceUsesWithIf(mapping.lookup(result), [&](OpOperand &use) {
        return group->isProperAncestor(use.getOwner()) &&
               !mapping.contains(use.getOwner());
      });
}

/// Ops that do not depend on memory move before all groups.
void GroupMerger::hoistIndependentOps() {
  for (auto group : block.getOps<device::GroupOp>())
    bringLoads(group);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::drop_begin(llvm::reverse(block))))
    if (op.use_empty() && (isPure(&op) || isa<memref::LoadOp>(op)))
      op.erase();
  Operation *first = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    bool isWork = isa<device::GroupOp>(op);
    if (!first && isWork)
      first = &op;
    if (first && !isWork && !isa<memref::DeallocOp>(op))
      op.moveBefore(first);
  }
}

//===----------------------------------------------------------------------===//
// Maps that become one
//===----------------------------------------------------------------------===//

void GroupMerger::collect() {
  nodes.clear();
  for (auto group : block.getOps<device::GroupOp>())
    nodes.push_back({group, findAccesses(group)});
}

/// True if both read the same, large, memory: as one map they read it once.
static bool readTogether(ArrayRef<Access> first, ArrayRef<Access> second) {
  for (const Access &one : first)
    for (const Access &other : second)
      if (!one.isWrite && !other.isWrite &&
          one.range.base == other.range.base &&
          one.range.begin == other.range.begin &&
          one.range.end == other.range.end && one.range.end != INT64_MAX &&
          one.range.end - one.range.begin >= minSharedBytes)
        return true;
  return false;
}

void GroupMerger::fuseAllMaps() {
  collect();
  for (int64_t index = 0; index < int64_t(nodes.size()); ++index) {
    device::GroupOp second = nodes[index].group;
    if (second.getKind() != Kind::Elementwise)
      continue;
    int64_t end = std::max<int64_t>(0, index - lookBack);
    for (int64_t before = index - 1; before >= end; --before) {
      device::GroupOp first = nodes[before].group;
      bool isLinked =
          areInConflict(nodes[before].accesses, nodes[index].accesses);
      bool isRelated = isLinked || readTogether(nodes[before].accesses,
                                                nodes[index].accesses);
      if (first && isRelated && canFuseMaps(first, second)) {
        fuseMaps(first, second);
        nodes[before].accesses = findAccesses(first);
        nodes[index].group = nullptr;
        nodes[index].accesses.clear();
        break;
      }
      // It cannot move before this one.
      if (isLinked)
        break;
    }
  }
}

/// The last op of the group, if it stores the same scalar everywhere in an
/// output of `op`.
static Operation *findFillOf(device::GroupOp group, linalg::GenericOp op) {
  if (group.getKind() != Kind::Elementwise &&
      group.getKind() != Kind::SingleBlock)
    return nullptr;
  auto fill = dyn_cast<linalg::GenericOp>(group.getBody().front().back());
  bool isFill = fill && getFilling(fill) &&
                llvm::is_contained(op.getDpsInits(), fill.getDpsInits()[0]);
  return isFill ? fill.getOperation() : nullptr;
}

/// Moves fills of the outputs of a reduction into the reduction's group.
void GroupMerger::takeFills() {
  collect();
  for (int64_t index = 0; index < int64_t(nodes.size()); ++index) {
    device::GroupOp group = nodes[index].group;
    if (!group || group.getKind() != Kind::Reduce)
      continue;
    Block &body = group.getBody().front();
    auto op = dyn_cast<linalg::GenericOp>(body.back());
    if (!op)
      continue;
    int64_t end = std::max<int64_t>(0, index - lookBack);
    for (int64_t before = index - 1; before >= end; --before) {
      device::GroupOp first = nodes[before].group;
      if (!first ||
          !areInConflict(nodes[before].accesses, nodes[index].accesses))
        continue;
      Operation *fill = findFillOf(first, op);
      if (!fill)
        break;
      fill->moveBefore(op);
      nodes[before].accesses.clear();
      if (first.getBody().front().empty()) {
        first.erase();
        nodes[before].group = nullptr;
        continue;
      }
      nodes[before].accesses = findAccesses(first);
      if (areInConflict(nodes[before].accesses, nodes[index].accesses))
        break;
    }
  }
}

/// A group that may end the call is a kernel of its own: others ask if it did.
static bool mayEnd(device::GroupOp group) {
  return group
      .walk([](runtime::FailOp op) {
        return op.getParallel() ? WalkResult::advance()
                                : WalkResult::interrupt();
      })
      .wasInterrupted();
}

static bool isSmallPart(device::GroupOp group) {
  if (mayEnd(group))
    return false;
  if (group.getKind() == Kind::Contract) {
    auto op = dyn_cast<kernel::ContractOp>(group.getBody().front().back());
    return op && !kernel::isWorthTiles(op);
  }
  return llvm::is_contained(
      {Kind::Elementwise, Kind::Reduce, Kind::SingleBlock, Kind::Scatter},
      group.getKind());
}

//===----------------------------------------------------------------------===//
// Parts of one kernel
//===----------------------------------------------------------------------===//

namespace {
/// The levels of groups that read and write each piece of memory. Pieces of the
/// arena are the ranges between begins and ends of places.
class LevelTable {
public:
  explicit LevelTable(ArrayRef<SmallVector<Access>> nodes);

  static constexpr int64_t none = std::numeric_limits<int64_t>::min();

  /// The highest level of the groups that these accesses conflict with.
  int64_t find(ArrayRef<Access> accesses) const;
  void add(ArrayRef<Access> accesses, int64_t level);

private:
  struct Pieces {
    SmallVector<int64_t> bounds;
    /// `none` if no group does.
    SmallVector<int64_t> read, written;
  };
  /// The indices of the first piece of a range, and of the piece after it.
  static std::pair<size_t, size_t> getPieces(const Pieces &pieces,
                                             const MemoryRange &range);

  llvm::DenseMap<Value, Pieces> bases;
};
} // namespace

LevelTable::LevelTable(ArrayRef<SmallVector<Access>> nodes) {
  for (const SmallVector<Access> &accesses : nodes)
    for (const Access &access : accesses) {
      auto &bounds = bases[access.range.base].bounds;
      bounds.push_back(access.range.begin);
      bounds.push_back(access.range.end);
    }
  for (auto &[base, pieces] : bases) {
    llvm::sort(pieces.bounds);
    pieces.bounds.erase(llvm::unique(pieces.bounds), pieces.bounds.end());
    pieces.read.assign(pieces.bounds.size(), none);
    pieces.written = pieces.read;
  }
}

std::pair<size_t, size_t> LevelTable::getPieces(const Pieces &pieces,
                                                const MemoryRange &range) {
  const auto *begin = llvm::lower_bound(pieces.bounds, range.begin);
  const auto *end = llvm::lower_bound(pieces.bounds, range.end);
  return {begin - pieces.bounds.begin(), end - pieces.bounds.begin()};
}

int64_t LevelTable::find(ArrayRef<Access> accesses) const {
  int64_t level = none;
  for (const Access &access : accesses) {
    const Pieces &pieces = bases.find(access.range.base)->second;
    auto [begin, end] = getPieces(pieces, access.range);
    for (size_t piece = begin; piece < end; ++piece) {
      level = std::max(level, pieces.written[piece]);
      if (access.isWrite)
        level = std::max(level, pieces.read[piece]);
    }
  }
  return level;
}

void LevelTable::add(ArrayRef<Access> accesses, int64_t level) {
  for (const Access &access : accesses) {
    Pieces &pieces = bases.find(access.range.base)->second;
    auto [begin, end] = getPieces(pieces, access.range);
    auto &levels = access.isWrite ? pieces.written : pieces.read;
    for (size_t piece = begin; piece < end; ++piece)
      levels[piece] = std::max(levels[piece], level);
  }
}

/// Collectives keep their position: groups before one stay before it, and
/// groups after it stay after it. All ranks run them in one order, and results
/// are sent as soon as they are ready.
static bool isBarrier(device::GroupOp group) {
  return group.getKind() == Kind::Collective;
}

/// Levels are as late as possible, counted from the end: 0 is the last.
void GroupMerger::findLevels() {
  collect();
  SmallVector<SmallVector<Access>> accesses;
  for (const Node &node : nodes)
    accesses.push_back(node.accesses);
  LevelTable table(accesses);
  int64_t least = 0, most = -1;
  for (Node &node : llvm::reverse(nodes)) {
    int64_t next = table.find(node.accesses);
    node.level = next == LevelTable::none ? 0 : next + 1;
    node.level = std::max(node.level, least);
    if (isBarrier(node.group)) {
      node.level = most + 1;
      least = node.level + 1;
    }
    most = std::max(most, node.level);
    table.add(node.accesses, node.level);
  }
}

/// Small groups are one family, whatever they compute.
void GroupMerger::findFamilies() {
  ContractFamilies contracts;
  for (Node &node : nodes) {
    int64_t number = contracts.find(node.group);
    if (number >= 0)
      node.family = smallParts + 1 + number;
    else if (isSmallPart(node.group))
      node.family = smallParts;
  }
}

/// A group that is alone of its family at its level moves back to a level that
/// has others, if all groups it depends on come before that level.
void GroupMerger::joinOthers() {
  int64_t numLevels = 0;
  SmallVector<SmallVector<Access>> accesses;
  /// The levels of each family, and the number of its groups at each level.
  llvm::DenseMap<int64_t, std::map<int64_t, int64_t>> levels;
  for (const Node &node : nodes) {
    accesses.push_back(node.accesses);
    numLevels = std::max(numLevels, node.level + 1);
    if (node.family >= 0)
      ++levels[node.family][node.level];
  }
  // Levels with the opposite sign: the lowest level of the groups before.
  LevelTable table(accesses);
  int64_t barrier = numLevels;
  for (Node &node : nodes) {
    if (isBarrier(node.group))
      barrier = node.level;
    auto own = node.family >= 0 ? levels.find(node.family) : levels.end();
    if (own != levels.end() && own->second[node.level] == 1) {
      int64_t before = table.find(node.accesses);
      int64_t end = before == LevelTable::none ? barrier : -before;
      end = std::min(end, barrier);
      auto &counts = own->second;
      auto next = counts.upper_bound(node.level);
      if (next != counts.end() && next->first < end) {
        counts.erase(node.level);
        ++next->second;
        node.level = next->first;
      }
    }
    table.add(node.accesses, -node.level);
  }
}

//===----------------------------------------------------------------------===//
// Small states
//===----------------------------------------------------------------------===//

/// True for a state that is copied instead of waiting for its readers.
static bool isSmallState(Value memory) {
  auto input = memory.getDefiningOp<runtime::InputOp>();
  return input && input.getType().hasStaticShape() &&
         countBytes(input.getType()) <= maxCopied;
}

/// The new loss scale may be written only after all have read the old one. With
/// a copy of the old one, the last kernel can write both the new one and
/// results that depend on the old one.
void GroupMerger::keepOldStates() {
  findLevels();
  // The groups that touch each state; and, for each group, the host that can
  // make copies: the last single-block group before it that runs before the
  // readers' level.
  llvm::MapVector<Value, SmallVector<Node *>> users;
  Node *host = nullptr;
  for (Node &node : nodes) {
    node.host = host;
    for (const Access &access : node.accesses)
      if (isSmallState(access.range.base))
        if (auto &list = users[access.range.base];
            list.empty() || list.back() != &node)
          list.push_back(&node);
    if (node.level > 1 && node.group.getKind() == Kind::SingleBlock &&
        (!host || node.level <= host->level))
      host = &node;
  }
  for (auto &[state, list] : users)
    keepOldState(state, list);
}

static bool writes(ArrayRef<Access> accesses, Value memory) {
  return llvm::any_of(accesses, [&](const Access &access) {
    return access.isWrite && access.range.base == memory;
  });
}

/// Readers that only the last kernel waits for, since it writes the state, read
/// a copy.
void GroupMerger::keepOldState(Value state, ArrayRef<Node *> users) {
  const auto *writer = llvm::find_if(
      users, [&](Node *node) { return writes(node->accesses, state); });
  if (writer == users.end() || (*writer)->level != 0 ||
      !isSmallPart((*writer)->group))
    return;
  Node *host = nullptr;
  llvm::DenseSet<Operation *> readers;
  for (Node *node : llvm::make_range(users.begin(), writer)) {
    if (node->level != 1 || !isSmallPart(node->group))
      continue;
    host = readers.empty() ? node->host : host;
    readers.insert(node->group);
  }
  if (!host)
    return;
  auto type = cast<MemRefType>(state.getType());
  Value copy = makePlace(main, type);
  b.setInsertionPointToEnd(&host->group.getBody().front());
  linalg::makeMemRefCopyOp(b, host->group.getLoc(), state, copy);
  state.replaceUsesWithIf(copy, [&](OpOperand &use) {
    return readers.contains(block.findAncestorOpInBlock(*use.getOwner()));
  });
}

/// The number of memories with which a kernel of these groups is called.
static size_t countRoots(device::GroupOp group, llvm::SetVector<Value> &roots) {
  group.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()))
        roots.insert(MemoryRange::get(operand).base);
  });
  return roots.size();
}

void GroupMerger::makePart(ArrayRef<device::GroupOp> groups) {
  if (groups.size() < 2)
    return;
  device::GroupOp first = groups.front();
  b.setInsertionPoint(first);
  auto whole = device::GroupOp::create(b, first.getLoc(), Kind::Fused);
  Block *body = b.createBlock(&whole.getBody());
  for (device::GroupOp group : groups)
    group->moveBefore(body, body->end());
}

void GroupMerger::mergeLevel(ArrayRef<device::GroupOp> groups) {
  SmallVector<device::GroupOp> part;
  llvm::SetVector<Value> roots;
  size_t numKernels = llvm::divideCeil(groups.size(), maxParts);
  size_t each = llvm::divideCeil(groups.size(), numKernels);
  for (device::GroupOp group : groups) {
    size_t numRoots = countRoots(group, roots);
    if ((numRoots > maxRoots && !part.empty()) || part.size() == each) {
      makePart(part);
      part.clear();
      roots.clear();
      countRoots(group, roots);
    }
    part.push_back(group);
  }
  makePart(part);
}

void GroupMerger::merge() {
  keepOldStates();
  findLevels();
  findFamilies();
  joinOthers();
  llvm::MapVector<int64_t, SmallVector<Node *>> levels;
  SmallVector<int64_t> order;
  for (Node &node : nodes)
    levels[node.level].push_back(&node);
  for (auto &[level, ops] : levels)
    order.push_back(level);
  llvm::sort(order, std::greater<int64_t>());
  Operation *end = block.getTerminator();
  if (Operation *last = end->getPrevNode();
      isa_and_nonnull<memref::DeallocOp>(last))
    end = last;
  for (int64_t level : order) {
    llvm::MapVector<int64_t, SmallVector<device::GroupOp>> families;
    for (Node *node : levels[level]) {
      node->group->moveBefore(end);
      if (node->family >= 0)
        families[node->family].push_back(node->group);
    }
    for (auto &[family, groups] : families)
      family == smallParts ? mergeLevel(groups) : joinContracts(groups);
  }
}

void GroupMerger::run() {
  hoistIndependentOps();
  fuseAllMaps();
  takeFills();
  merge();
  placeWorkingCopies(main);
}

void mergeGroups(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    GroupMerger(main).run();
}

} // namespace mp
