//===- InnerValues.cpp - Values inside of a model -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/InnerValues.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Data/Difference.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include <limits>
#include <tuple>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static bool isFloat(Value value) {
  Type element = getTensorElementType(value.getType());
  return element && isa<FloatType>(element);
}

/// The value before casts from float to float.
static Value skipCasts(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isStandardOp(op, "Cast") && isFloat(op->getOperand(0))) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  return value;
}

static bool computes(Operation *node) {
  const OperatorTraits &traits = getOperatorTraits(node);
  return !traits.has(Exact) && !traits.movesData() &&
         traits.kind != OperatorKind::Combination;
}

std::vector<InnerValue> getInnerValues(ModuleOp module) {
  std::vector<InnerValue> values;
  GraphOp graph = getMainGraph(module);
  for (Operation &op : graph.getBody().getOps()) {
    if (!isNode(&op) || isStandardOp(&op, "Constant"))
      continue;
    for (OpResult result : op.getResults()) {
      // If a value is cast after its node, the cast may carry the original
      // name.
      auto made = dyn_cast<OpResult>(skipCasts(result));
      StringRef name = getValueName(result);
      if (!isFloat(result) || name.empty() || !made || !isNode(made.getOwner()))
        continue;
      std::vector<std::string> operands;
      for (Value operand : made.getOwner()->getOperands())
        if (isFloat(operand))
          operands.push_back(getValueName(skipCasts(operand)).str());
      values.push_back({name.str(), describe(made.getOwner()),
                        std::move(operands), computes(made.getOwner())});
    }
  }
  return values;
}

unsigned exposeValues(ModuleOp module, const llvm::StringSet<> &names) {
  GraphOp graph = getMainGraph(module);
  GraphEditor editor(graph);
  llvm::StringSet<> known;
  for (Value output : editor.getYield().getOperands())
    known.insert(getValueName(output));
  SmallVector<Value> added;
  for (Operation &op : graph.getBody().getOps())
    for (OpResult result : op.getResults())
      if (StringRef name = getValueName(result);
          isNode(&op) && names.contains(name) && known.insert(name).second)
        added.push_back(result);
  editor.addOutputs(added);
  return added.size();
}

std::string NodeError::describe() const {
  return node + " is off by " + formatPercent(error) + ", rounding explains " +
         formatPercent(explained);
}

std::vector<NodeError> rankNodes(ArrayRef<InnerValue> values,
                                 const llvm::StringMap<Tensor> &actual,
                                 const llvm::StringMap<Tensor> &expected) {
  llvm::StringMap<double> errors;
  llvm::StringSet<> last;
  std::vector<NodeError> ranked;
  for (const InnerValue &value : values) {
    auto mine = actual.find(value.name), theirs = expected.find(value.name);
    if (mine == actual.end() || theirs == expected.end() ||
        mine->second.getSizes() != theirs->second.getSizes())
      continue;
    Difference difference =
        Difference::compute(mine->second, theirs->second, {});
    if (difference.isEmpty())
      continue;
    double error = difference.rmse;
    if (difference.specials)
      error = std::numeric_limits<double>::infinity();
    else if (difference.rms > 0)
      error /= difference.rms;
    errors[value.name] = error;
    double inherited = 0;
    for (const std::string &operand : value.operands)
      inherited = std::max(inherited, errors.lookup(operand));
    double added = error > inherited ? error - inherited : 0;
    if (!value.isComputed || holdsMask(theirs->second))
      last.insert(value.name);
    ranked.push_back({value.node, value.name, error, added});
  }
  llvm::sort(ranked, [&](const NodeError &a, const NodeError &b) {
    bool isLastA = last.contains(a.value), isLastB = last.contains(b.value);
    return std::tie(isLastA, b.added, a.value) <
           std::tie(isLastB, a.added, b.value);
  });
  return ranked;
}

bool holdsMask(const Tensor &values) {
  constexpr double least = -1e4;
  return TensorRange(values).least <= least;
}

} // namespace mp
