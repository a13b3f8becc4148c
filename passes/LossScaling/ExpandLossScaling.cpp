//===- ExpandLossScaling.cpp - Write the mp dialect in standard ONNX ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossScaling/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/NodeBuilder.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mp {
#define GEN_PASS_DEF_EXPANDLOSSSCALING
#include "LossScaling/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;
using namespace mp;

namespace {

struct ExpandLossScaling
    : public mp::impl::ExpandLossScalingBase<ExpandLossScaling> {
  void runOnOperation() override;
};

/// Expands the ops of the dialect one by one; each is erased once its results
/// are replaced.
class Expander {
public:
  explicit Expander(ModuleOp module) : b(module) {}

  void expand(Operation *op);

private:
  void expand(LossSeedOp op);
  void expand(ScaleLossOp op);
  void expand(UnscaleOp op);
  void expand(AllFiniteOp op);
  void expand(UpdateScaleOp op);
  void expand(GradientOp op) { replace(op.getResult(), op.getGradient()); }
  void expand(UpdateOp op);

  void replace(Value result, Value by);

  NodeBuilder b;
};

} // namespace

/// True if `value` may take another value's name.
static bool isNameFree(Value value) {
  Operation *definer = value.getDefiningOp();
  return definer && isNode(definer) && !isStandardOp(definer, "Constant") &&
         llvm::none_of(value.getUsers(),
                       [](Operation *user) { return isa<YieldOp>(user); });
}

/// Replaces all uses of `result` by `by`. An output of the graph keeps its
/// name.
void Expander::replace(Value result, Value by) {
  bool isOutput = llvm::any_of(
      result.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
  std::string name = onnxir::getValueName(result).str();
  if (isOutput && !name.empty()) {
    if (!isNameFree(by))
      by = b.create("Identity", {by});
    setValueName(cast<OpResult>(result), "");
    setValueName(cast<OpResult>(by), name);
  }
  result.replaceAllUsesWith(by);
}

void Expander::expand(LossSeedOp op) {
  Type type = op.getResult().getType();
  Value one = b.scalar(1, getTensorElementType(type));
  int64_t rank = cast<RankedTensorType>(type).getRank();
  if (rank)
    one = b.reshape(one, SmallVector<int64_t>(rank, 1));
  replace(op.getResult(), one);
}

void Expander::expand(ScaleLossOp op) {
  replace(op.getResult(),
          b.mul(op.getSeed(), b.castLike(op.getScale(), op.getSeed())));
}

void Expander::expand(UnscaleOp op) {
  Value scale = b.castLike(op.getScale(), op.getGradient());
  replace(op.getResult(), b.div(op.getGradient(), scale));
}

/// The sum of all elements times zero is zero, and NaN where one of them is
/// not finite: it cannot overflow, and needs one pass over each gradient.
void Expander::expand(AllFiniteOp op) {
  llvm::SetVector<Value> values(op.getValues().begin(), op.getValues().end());
  SmallVector<Value> sums;
  for (Value value : values)
    sums.push_back(
        b.castTo(b.reduceSum(b.scale(value, 0), {}, /*keepDims=*/false),
                 Float32Type::get(b.getContext())));
  if (sums.empty())
    return replace(op.getResult(), b.boolScalar(true));
  Value sum = sums.size() == 1 ? sums.front() : b.create("Sum", sums);
  replace(op.getResult(), b.create("Not", {b.create("IsNaN", {sum})}));
}

void Expander::expand(UpdateScaleOp op) {
  Type f32 = Float32Type::get(b.getContext());
  Value finite = op.getFinite(), scale = op.getScale();
  auto count = [&](int64_t number, Value like) {
    return b.scalarLike(double(number), like);
  };
  // The scale after a finite step.
  Value clean = b.add(op.getClean(), count(1, op.getClean()));
  Value grows = b.create(
      "Not", {b.create("Less", {clean, count(op.getGrowthInterval(), clean)})});
  Value grown = b.scale(scale, op.getGrowthFactor().convertToDouble());
  Value afterClean = b.where(grows, grown, scale);
  Value zero = count(0, clean);
  // The scale after a step that was not finite.
  Value tolerance = b.sub(op.getTolerance(), count(1, op.getTolerance()));
  Value falls =
      b.create("Not", {b.create("Less", {count(0, tolerance), tolerance})});
  Value reduced = b.scale(scale, op.getBackoffFactor().convertToDouble());
  Value afterSkip = b.where(falls, reduced, scale);
  Value full = count(op.getHysteresis(), tolerance);

  Value next = b.where(finite, afterClean, afterSkip);
  next = b.create("Min", {next, b.scalar(op.getCap().convertToDouble(), f32)});
  next =
      b.create("Max", {next, b.scalar(op.getFloor().convertToDouble(), f32)});
  replace(op.getNewScale(), next);
  replace(op.getNewClean(), b.where(finite, b.where(grows, zero, clean), zero));
  replace(
      op.getNewTolerance(),
      b.where(finite, full, b.create("Max", {tolerance, count(0, tolerance)})));
  Value skipped = op.getSkipped();
  replace(op.getNewSkipped(),
          b.where(finite, skipped, b.add(skipped, count(1, skipped))));
}

void Expander::expand(UpdateOp op) {
  replace(op.getResult(),
          op.getCondition()
              ? b.where(op.getCondition(), op.getValue(), op.getState())
              : op.getValue());
}

void Expander::expand(Operation *op) {
  b.setInsertionPoint(op);
  std::string base = "mp";
  if (op->getNumResults())
    if (StringRef name = onnxir::getValueName(op->getResult(0)); !name.empty())
      base = name.str();
  b.setBase(base);
  llvm::TypeSwitch<Operation *>(op)
      .Case<LossSeedOp, ScaleLossOp, UnscaleOp, AllFiniteOp, UpdateScaleOp,
            GradientOp, UpdateOp>([&](auto typed) { expand(typed); });
  op->erase();
}

void ExpandLossScaling::runOnOperation() {
  ModuleOp module = getOperation();
  std::vector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<MPDialect>(op->getDialect()) && !isa<AllReduceOp>(op))
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  Expander expander(module);
  for (Operation *op : ops)
    expander.expand(op);
  eraseUnusedConstants(module);
  stripMarks(module);
}
