//===- DiscreteValues.cpp - Integers that a model makes of floats ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/DiscreteValues.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/Discontinuity.h"

#include <cstring>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// True if the value is used and can be both an output and an input.
static bool isPassable(Value value) {
  Type element = getTensorElementType(value.getType());
  return element && !value.use_empty() && !getValueName(value).empty() &&
         getElementBytes(getElementKind(element));
}

std::vector<DiscreteValue> findDiscreteValues(ModuleOp module) {
  std::vector<DiscreteValue> found;
  for (Operation &op : getMainGraph(module).getBody().getOps()) {
    if (!isNode(&op))
      continue;
    bool isWhole = hasDiscontinuity(&op);
    for (OpResult result : op.getResults())
      if ((isWhole || isDiscontinuous(result)) && isPassable(result))
        found.push_back({getValueName(result).str(), describe(&op),
                         isFloatTensor(result.getType()),
                         getTensorElementType(result.getType()).isInteger(1)});
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Giving values
//===----------------------------------------------------------------------===//

/// Integer tensors up to this number of elements may be sizes, from which types
/// are inferred.
static constexpr int64_t maxSizes = 64;

static bool maySize(const Tensor &tensor) {
  return (tensor.getKind() == ElementKind::Int32 ||
          tensor.getKind() == ElementKind::Int64) &&
         tensor.getNumElements() <= maxSizes;
}

std::vector<NamedTensor> giveValues(ModuleOp module,
                                    const llvm::StringMap<Tensor> &tensors) {
  std::vector<NamedTensor> given;
  NodeBuilder builder(module);
  GraphEditor editor(getMainGraph(module));
  for (Operation &op : llvm::make_early_inc_range(editor.getBlock())) {
    if (!isNode(&op))
      continue;
    for (OpResult result : op.getResults()) {
      auto place = tensors.find(getValueName(result));
      if (place == tensors.end())
        continue;
      const Tensor &tensor = place->second;
      auto type = RankedTensorType::get(tensor.getSizes(),
                                        getTensorElementType(result.getType()));
      if (maySize(tensor)) {
        builder.setInsertionPoint(&op);
        ArrayRef<char> bytes(static_cast<const char *>(tensor.getData()),
                             tensor.getNumBytes());
        result.replaceAllUsesWith(
            builder.constant(DenseElementsAttr::getFromRawBuffer(type, bytes)));
        continue;
      }
      std::string name =
          builder.getNames().getValueName(place->getKey() + "_given").str();
      result.replaceAllUsesWith(editor.addInput(name, type));
      given.push_back({name, tensor});
    }
  }
  return given;
}

//===----------------------------------------------------------------------===//
// Other integers
//===----------------------------------------------------------------------===//

std::string DiscreteDifference::describe() const {
  return value.node +
         (value.isBool ? " decides otherwise in "
                       : " makes other integers in ") +
         std::to_string(count) + " of " + std::to_string(numElements) +
         " places";
}

/// Counts elements that differ. If the sizes differ, all elements count.
static int64_t countDifferences(const Tensor &actual, const Tensor &expected) {
  if (actual.getSizes() != expected.getSizes())
    return expected.getNumElements();
  size_t size = getElementBytes(expected.getKind());
  auto *a = static_cast<const char *>(actual.getData()),
       *e = static_cast<const char *>(expected.getData());
  int64_t count = 0;
  for (size_t at = 0, end = expected.getNumBytes(); at < end; at += size)
    count += memcmp(a + at, e + at, size) != 0;
  return count;
}

std::optional<DiscreteDifference>
findDiscreteDifference(ArrayRef<DiscreteValue> values,
                       const llvm::StringMap<Tensor> &actual,
                       const llvm::StringMap<Tensor> &expected) {
  for (const DiscreteValue &value : values) {
    Tensor mine = actual.lookup(value.name),
           theirs = expected.lookup(value.name);
    if (value.isFloat || mine.getKind() != theirs.getKind() ||
        theirs.getKind() == ElementKind::Undefined)
      continue;
    if (int64_t count = countDifferences(mine, theirs))
      return DiscreteDifference{value, count, theirs.getNumElements()};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Outputs that no input reaches
//===----------------------------------------------------------------------===//

llvm::StringSet<> findConstantOutputs(ModuleOp module) {
  Region &body = getMainGraph(module).getBody();
  llvm::DenseSet<Value> reached(body.getArguments().begin(),
                                body.getArguments().end());
  llvm::StringSet<> names;
  if (reached.empty())
    return names;
  auto reads = [&](Operation *op) {
    return llvm::any_of(op->getOperands(),
                        [&](Value value) { return reached.contains(value); });
  };
  for (Operation &op : body.getOps()) {
    bool isReached = false;
    if (!isNode(&op) || readsElements(&op))
      op.walk([&](Operation *inner) { isReached |= reads(inner); });
    if (isReached)
      reached.insert(op.getResults().begin(), op.getResults().end());
  }
  for (Value output : getYield(body).getOperands())
    if (!reached.contains(output))
      names.insert(getValueName(output));
  return names;
}

} // namespace mp
