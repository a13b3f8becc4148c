//===- ExcessPrecision.cpp - Roundings that code may drop -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All values that come from products through carriers (ops that move elements,
// add or scale) are candidates. A candidate is removed if a reader is neither
// a cast to fp32 nor a carrier whose results are candidates; removing it
// affects the node that computes it and the carriers that read it. The greatest
// set in which nothing must be removed is the result.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/ExcessPrecision.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Operators/OperatorTraits.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The way in which a node passes on values that are not rounded.
enum class CarrierKind : uint8_t {
  None,
  /// Elements are moved: all float operands must be candidates.
  Movement,
  /// Elements are computed in fp32 from those of candidates and of other
  /// 16-bit operands.
  Elementwise,
};

/// True for sums of products whose code keeps the sum in fp32 and rounds it
/// once. Other contractions have 16-bit values inside, and are expanded.
static bool isSumOfProducts(const OperatorTraits &traits) {
  switch (traits.products) {
  case ProductCount::Columns:
  case ProductCount::Filter:
  case ProductCount::TransposedFilter:
  case ProductCount::FilterGradients:
  case ProductCount::TransposedFilterGradients:
  case ProductCount::Equation:
    return traits.contracts();
  default:
    return false;
  }
}

static CarrierKind getCarrierKind(const OperatorTraits &traits) {
  // Sums at positions that indices choose are rounded term by term.
  bool combines = traits.kind == OperatorKind::Combination &&
                  traits.accumulation == AccumulationExtent::None;
  if (traits.movesData() || combines)
    return CarrierKind::Movement;
  bool isLinear = false;
  switch (traits.math) {
  case OperatorMath::Add:
  case OperatorMath::Sub:
  case OperatorMath::Mul:
  case OperatorMath::Div:
    isLinear = true;
    break;
  default:
    break;
  }
  return traits.isElementwise() && (isLinear || traits.has(Exact))
             ? CarrierKind::Elementwise
             : CarrierKind::None;
}

namespace {
class ExcessFinder {
public:
  ExcessFinder(Operation *scope, unsigned numWatched)
      : scope(scope), numWatched(numWatched) {}

  ExcessPrecision run();

private:
  void collect(Operation *op);
  bool isCarried(Operation *op);
  bool isKept(Value value);
  bool isWatched(OpOperand &use) const;
  bool readsWide(OpOperand &use);
  void remove(Value value);

  Operation *scope;
  unsigned numWatched;
  OperatorTraitsCache traits;
  /// Candidates in the order of the nodes, and those that are left.
  SmallVector<Value> candidates;
  ExcessPrecision found;
};
} // namespace

/// True if the operands let a carrier have results that are not rounded.
bool ExcessFinder::isCarried(Operation *op) {
  CarrierKind kind = getCarrierKind(traits.lookup(op));
  bool hasCandidate = false, hasOther = false;
  for (Value operand : op->getOperands()) {
    bool isCandidate = found.values.contains(operand);
    hasCandidate |= isCandidate;
    hasOther |= !isCandidate && isFloatTensor(operand.getType());
  }
  return kind == CarrierKind::Elementwise ? hasCandidate
         : kind == CarrierKind::Movement  ? hasCandidate && !hasOther
                                          : false;
}

void ExcessFinder::collect(Operation *op) {
  bool isProduct = isSumOfProducts(traits.lookup(op));
  if (!isProduct && !isCarried(op))
    return;
  for (Value result : op->getResults()) {
    if (!is16BitTensor(result.getType()) || result.use_empty())
      continue;
    found.numProducts += isProduct;
    found.values.insert(result);
    candidates.push_back(result);
  }
}

/// True for an output that a tool has added to look at a value.
bool ExcessFinder::isWatched(OpOperand &use) const {
  Operation *user = use.getOwner();
  return isa<onnxir::YieldOp>(user) && user->getParentOp() == scope &&
         use.getOperandNumber() + numWatched >= user->getNumOperands();
}

/// True if the reader takes the value in fp32.
bool ExcessFinder::readsWide(OpOperand &use) {
  Operation *user = use.getOwner();
  const OperatorTraits &own = traits.lookup(user);
  if (own.math == OperatorMath::Cast)
    return use.getOperandNumber() == 0 &&
           isF32Tensor(user->getResult(0).getType());
  return getCarrierKind(own) != CarrierKind::None &&
         llvm::all_of(user->getResults(), [&](Value result) {
           return !isFloatTensor(result.getType()) || result.use_empty() ||
                  found.values.contains(result);
         });
}

/// True if a candidate may stay one.
bool ExcessFinder::isKept(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isSumOfProducts(traits.lookup(op)) && !isCarried(op))
    return false;
  bool isRead = false;
  for (OpOperand &use : value.getUses()) {
    if (isWatched(use))
      continue;
    isRead = true;
    if (!readsWide(use))
      return false;
  }
  return isRead;
}

/// Removes a candidate, and all others that depend on it.
void ExcessFinder::remove(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!found.values.contains(next) || isKept(next))
      continue;
    found.values.erase(next);
    Operation *op = next.getDefiningOp();
    llvm::append_range(worklist, op->getOperands());
    for (Operation *user : next.getUsers())
      llvm::append_range(worklist, user->getResults());
  }
}

ExcessPrecision ExcessFinder::run() {
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != scope)
      collect(op);
  });
  // Readers come after the nodes that they read.
  for (Value value : llvm::reverse(candidates))
    remove(value);
  for (Value value : candidates)
    if (found.values.contains(value)) {
      const OperatorTraits &own = traits.lookup(value.getDefiningOp());
      if (getCarrierKind(own) != CarrierKind::Movement && !own.has(Exact))
        found.roundings.push_back(value);
    }
  return std::move(found);
}

ExcessPrecision ExcessPrecision::find(Operation *scope, unsigned numWatched) {
  return ExcessFinder(scope, numWatched).run();
}

std::vector<DroppedRounding> ExcessPrecision::describeRoundings() const {
  std::vector<DroppedRounding> texts;
  for (Value value : roundings)
    texts.push_back(
        {getValueName(value).str(), describe(value.getDefiningOp()),
         getPrecisionName(getTensorElementType(value.getType())).str()});
  return texts;
}

std::vector<DroppedRounding> findDroppableRoundings(ModuleOp module) {
  std::vector<DroppedRounding> texts;
  for (Operation *scope : getScopes(module))
    llvm::append_range(texts, ExcessPrecision::find(scope).describeRoundings());
  return texts;
}

std::string listDroppedRoundings(ArrayRef<DroppedRounding> roundings) {
  constexpr size_t maxListed = 8;
  std::string text =
      std::to_string(roundings.size()) +
      (roundings.size() == 1 ? " rounding is" : " roundings are") + " dropped";
  for (const auto &[index, rounding] :
       llvm::enumerate(roundings.take_front(maxListed)))
    text += (index ? ", '" : ": '") + rounding.value + "' of " + rounding.node +
            " to " + rounding.precision;
  if (roundings.size() > maxListed)
    text += " and " + std::to_string(roundings.size() - maxListed) + " more";
  return text;
}

} // namespace mp
