//===- Sharding.cpp - Sharded optimizers ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The nodes of an update are found from its reduced gradient on; then they are
// changed to compute a vector of elements, the rank's range, instead of the
// parameter's shape.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Sharding.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Schema/Schema.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// The nodes that process one gradient.
struct Update {
  AllReduceOp gradient;
  /// Nodes that compute elements, in the order of the block.
  llvm::SetVector<Operation *> nodes;
  /// Nodes that add up all elements of one of these, or of the gradient.
  llvm::SetVector<Operation *> sums;
  /// Operands of the yield that are new states, with these states.
  SmallVector<std::pair<OpOperand *, BlockArgument>> states;
};

class Sharder {
public:
  Sharder(ModuleOp module, GraphOp graph, const ShardSettings &settings);

  std::vector<ShardedState> run();

private:
  bool isAlike(Value value, RankedTensorType type) const;
  bool isElementwise(Operation *node, RankedTensorType type) const;
  bool isSum(Operation *node) const;
  bool isWhole(OpOperand &use, AllReduceOp gradient) const;
  void addSources(Update &update, RankedTensorType type) const;
  bool find(Update &update) const;
  bool isApart(const Update &update, BlockArgument state) const;

  Value getRange(Value value);
  void shardState(BlockArgument state);
  void shard(Update &update);
  void addSums(Update &update);
  void gather(Update &update);
  bool isReadInBF16(BlockArgument parameter) const;
  void fillBuckets();

  GraphEditor editor;
  NodeBuilder nodes;
  OpBuilder b;
  const ShardSettings &settings;
  llvm::StringMap<BlockArgument> inputs;
  /// The parameter that is being sharded: its type, the type of a range of it,
  /// and ranges of values that exist as a whole.
  RankedTensorType type, rangeType;
  int64_t first = 0;
  llvm::DenseMap<Value, Value> ranges;
  SmallVector<AllReduceOp> gathered;
  llvm::MapVector<Value, SmallVector<AllReduceOp>> sums;
  int64_t numBuckets = 0;
  llvm::DenseMap<BlockArgument, ShardedState> found;
  /// Initial values of states, before and after sharding.
  llvm::StringMap<DenseElementsAttr> defaults;
  SmallVector<std::pair<BlockArgument, TypedAttr>> changed;
};

} // namespace

Sharder::Sharder(ModuleOp module, GraphOp graph, const ShardSettings &settings)
    : editor(graph), nodes(module), b(graph), settings(settings) {
  for (BlockArgument input : editor.getBlock().getArguments())
    inputs[onnxir::getValueName(input)] = input;
  for (auto initializer : editor.getBlock().getOps<InitializerOp>())
    if (auto value =
            dyn_cast_or_null<DenseElementsAttr>(initializer.getValueAttr());
        value && initializer.getOverridable())
      defaults[initializer.getName()] = value;
  for (auto op : editor.getBlock().getOps<AllReduceOp>())
    numBuckets = std::max(numBuckets, int64_t(op.getBucket()) + 1);
}

//===----------------------------------------------------------------------===//
// Nodes of an update
//===----------------------------------------------------------------------===//

/// True if the value has the parameter's shape.
bool Sharder::isAlike(Value value, RankedTensorType type) const {
  auto own = dyn_cast<RankedTensorType>(value.getType());
  return own && own.getShape() == type.getShape();
}

/// True for a value with one element, which broadcasts to a vector.
static bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() <= 1 && type.hasStaticShape() &&
         type.getNumElements() == 1;
}

/// True if each element of the result depends on elements at the same position,
/// and on scalars.
bool Sharder::isElementwise(Operation *node, RankedTensorType type) const {
  const OperatorTraits &traits = getOperatorTraits(node);
  const OpSchema *schema = getSchema(node);
  if (!traits.isElementwise() && traits.kind != OperatorKind::Logic)
    return false;
  return schema && schema->deterministic && node->getNumRegions() == 0 &&
         node->getNumResults() == 1 && isAlike(node->getResult(0), type) &&
         llvm::all_of(node->getOperands(), [&](Value operand) {
           return isa<NoneType>(operand.getType()) || isScalar(operand) ||
                  isAlike(operand, type);
         });
}

/// True for a sum over all elements, with a result without axes.
bool Sharder::isSum(Operation *node) const {
  const OperatorTraits &traits = getOperatorTraits(node);
  if (!traits.reduces() || (traits.math != OperatorMath::Sum &&
                            traits.math != OperatorMath::SumSquare &&
                            traits.math != OperatorMath::SumAbs))
    return false;
  auto result = dyn_cast<RankedTensorType>(node->getResult(0).getType());
  return result && result.getRank() == 0 && !hasOperand(node, 1) &&
         getInts(node, "axes").empty() &&
         getInt(node, "noop_with_empty_axes", 0) == 0;
}

/// True for a use that needs the whole sum: if batches are accumulated, a Where
/// keeps the sum of a rank's own batches until it is reduced.
bool Sharder::isWhole(OpOperand &use, AllReduceOp gradient) const {
  Operation *node = use.getOwner();
  return gradient.getCondition() && isStandardOp(node, "Where") &&
         use.getOperandNumber() == 2 &&
         node->getOperand(0) == gradient.getCondition() &&
         isScalar(node->getOperand(1));
}

/// Adds nodes that only this update needs, such as those of decayed moments.
void Sharder::addSources(Update &update, RankedTensorType type) const {
  SmallVector<Operation *> left(update.nodes.getArrayRef());
  while (!left.empty())
    for (Value operand : left.pop_back_val()->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (source && isNode(source) && isAlike(operand, type) &&
          isElementwise(source, type) &&
          llvm::all_of(
              source->getUsers(),
              [&](Operation *user) { return update.nodes.contains(user); }) &&
          update.nodes.insert(source))
        left.push_back(source);
    }
}

bool Sharder::find(Update &update) const {
  AllReduceOp gradient = update.gradient;
  auto type = dyn_cast<RankedTensorType>(gradient.getResult().getType());
  if (gradient.getReduction() != RankReduction::mean || !type ||
      type != gradient.getValue().getType() || !type.hasStaticShape() ||
      !isa<FloatType>(type.getElementType()) ||
      type.getNumElements() < std::max(settings.minElements, settings.ranks))
    return false;
  SmallVector<Value> values{gradient.getResult()};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user)) {
        StringRef name = onnxir::getValueName(value);
        BlockArgument state =
            name.consume_back("_new") ? inputs.lookup(name) : BlockArgument();
        if (!state || value == gradient.getResult() ||
            state.getType() != value.getType())
          return false;
        update.states.emplace_back(&use, state);
      } else if (!isNode(user) || user->getBlock() != gradient->getBlock()) {
        return false;
      } else if (value == gradient.getResult() && isWhole(use, gradient)) {
        continue;
      } else if (isSum(user)) {
        update.sums.insert(user);
      } else if (!isElementwise(user, type)) {
        return false;
      } else if (update.nodes.insert(user)) {
        values.push_back(user->getResult(0));
      }
    }
  }
  addSources(update, type);
  auto nodes = update.nodes.takeVector();
  llvm::sort(nodes, [](Operation *one, Operation *other) {
    return one->isBeforeInBlock(other);
  });
  update.nodes.insert(nodes.begin(), nodes.end());
  return !update.states.empty();
}

/// True if only the update reads the state.
bool Sharder::isApart(const Update &update, BlockArgument state) const {
  DenseElementsAttr value = defaults.lookup(onnxir::getValueName(state));
  return value && value.isSplat() &&
         llvm::all_of(state.getUsers(), [&](Operation *user) {
           return update.nodes.contains(user);
         });
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// The range of a value that is whole; other values are returned unchanged.
Value Sharder::getRange(Value value) {
  if (isa<NoneType>(value.getType()) || !isAlike(value, type))
    return value;
  Value &range = ranges[value];
  if (!range) {
    b.setInsertionPointAfterValue(value);
    range = TakeRangeOp::create(
        b, value.getLoc(),
        rangeType.clone(getTensorElementType(value.getType())), value, first);
  }
  return range;
}

void Sharder::shardState(BlockArgument state) {
  auto old = cast<RankedTensorType>(state.getType());
  DenseElementsAttr value = defaults.lookup(onnxir::getValueName(state));
  auto next = DenseElementsAttr::get(rangeType.clone(old.getElementType()),
                                     value.getSplatValue<Attribute>());
  state.setType(next.getType());
  changed.emplace_back(state, next);
  found[state] = {onnxir::getValueName(state).str(),
                  llvm::to_vector(old.getShape()), first,
                  rangeType.getNumElements(), /*isRange=*/true};
}

void Sharder::shard(Update &update) {
  type = cast<RankedTensorType>(update.gradient.getResult().getType());
  int64_t total = type.getNumElements();
  first = total * settings.rank / settings.ranks;
  int64_t last = total * (settings.rank + 1) / settings.ranks;
  rangeType = RankedTensorType::get({last - first}, type.getElementType());
  ranges.clear();
  update.gradient.setReduction(RankReduction::scatter);
  update.gradient.getRowsMutable().clear();
  for (auto [next, state] : update.states)
    if (isApart(update, state))
      shardState(state);
  for (Operation *node : update.nodes) {
    for (OpOperand &operand : node->getOpOperands())
      operand.set(getRange(operand.get()));
    Value result = node->getResult(0);
    result.setType(rangeType.clone(getTensorElementType(result.getType())));
  }
  addSums(update);
  gather(update);
}

/// Turns sums over ranges into sums over all elements.
void Sharder::addSums(Update &update) {
  for (Operation *node : update.sums) {
    node->setOperand(0, getRange(node->getOperand(0)));
    Value own = node->getResult(0);
    b.setInsertionPointAfter(node);
    Value condition = update.gradient.getCondition();
    auto sum =
        AllReduceOp::create(b, node->getLoc(), own.getType(), own, condition,
                            /*rows=*/Value(), 0, 1, RankReduction::sum);
    own.replaceAllUsesExcept(sum.getResult(), sum);
    sums[condition].push_back(sum);
  }
}

/// True if the forward and the backward pass read it in bf16.
bool Sharder::isReadInBF16(BlockArgument parameter) const {
  return cast<RankedTensorType>(parameter.getType()).getElementType().isF32() &&
         llvm::all_of(parameter.getUsers(), [](Operation *user) {
           if (isa<TakeRangeOp, PutRangeOp>(user))
             return true;
           Type element =
               isStandardOp(user, "Cast")
                   ? getTensorElementType(user->getResult(0).getType())
                   : Type();
           return element && element.isBF16();
         });
}

/// Gathers new parameters from their ranges.
void Sharder::gather(Update &update) {
  for (auto [next, state] : update.states) {
    if (found.contains(state))
      continue;
    Value range = next->get();
    std::string name = onnxir::getValueName(range).str();
    nodes.rename(range, name + "_own");
    b.setInsertionPoint(next->getOwner());
    Value whole = PutRangeOp::create(b, range.getLoc(), state.getType(), range,
                                     state, first);
    bool isNarrow = isReadInBF16(state);
    auto gathering = AllReduceOp::create(
        b, range.getLoc(), state.getType(), whole,
        update.gradient.getCondition(), /*rows=*/Value(), 0, 1,
        isNarrow ? RankReduction::gather_bf16 : RankReduction::gather);
    setValueName(cast<OpResult>(gathering.getResult()), name);
    next->set(gathering.getResult());
    gathered.push_back(gathering);
    if (isNarrow)
      found[state] = {onnxir::getValueName(state).str(),
                      llvm::to_vector(type.getShape()), first,
                      rangeType.getNumElements(), /*isRange=*/false};
  }
}

/// Sums share a bucket, and are needed at once; parameters are gathered in the
/// order of the yield.
void Sharder::fillBuckets() {
  auto fill = [&](ArrayRef<AllReduceOp> ops) {
    for (AllReduceOp op : ops) {
      op.setBucket(numBuckets);
      op.setMembers(int64_t(ops.size()));
    }
    ++numBuckets;
  };
  for (auto &[condition, ops] : sums)
    fill(ops);
  ArrayRef<AllReduceOp> left(gathered);
  while (!left.empty()) {
    size_t count = 0;
    AllReduceOp first = left.front();
    for (int64_t bytes = 0; count < left.size() && bytes < settings.bucketBytes;
         ++count) {
      AllReduceOp op = left[count];
      auto type = cast<RankedTensorType>(op.getResult().getType());
      if (op.getCondition() != first.getCondition())
        break;
      bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
    }
    fill(left.take_front(count));
    left = left.drop_front(count);
  }
}

std::vector<ShardedState> Sharder::run() {
  if (settings.ranks > 1)
    for (AllReduceOp op :
         llvm::to_vector(editor.getBlock().getOps<AllReduceOp>())) {
      Update update{op, {}, {}, {}};
      if (find(update))
        shard(update);
    }
  fillBuckets();
  editor.setInputs(changed);
  std::vector<ShardedState> result;
  for (BlockArgument input : editor.getBlock().getArguments())
    if (auto it = found.find(input); it != found.end())
      result.push_back(std::move(it->second));
  return result;
}

std::vector<ShardedState> shardOptimizer(ModuleOp module,
                                         const ShardSettings &settings) {
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return {};
  return Sharder(module, graph, settings).run();
}

} // namespace mp
