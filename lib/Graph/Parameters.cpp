//===- Parameters.cpp - Parameters among graph inputs ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/Parameters.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Operators/OperatorTraits.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

llvm::DenseMap<Value, Operation *> collectDefaults(GraphOp graph) {
  llvm::StringMap<Operation *> byName;
  for (auto initializer : graph.getBody().getOps<InitializerOp>())
    if (initializer.getOverridable())
      byName[initializer.getName()] = initializer;
  llvm::DenseMap<Value, Operation *> defaults;
  if (!byName.empty())
    for (BlockArgument argument : graph.getBody().getArguments())
      if (Operation *initializer =
              byName.lookup(onnxir::getValueName(argument)))
        defaults[argument] = initializer;
  return defaults;
}

llvm::DenseSet<Value> collectParameters(GraphOp graph) {
  Block &body = graph.getBody().front();
  llvm::DenseSet<Value> parameters;
  for (auto [argument, initializer] : collectDefaults(graph))
    parameters.insert(argument);
  llvm::DenseSet<Type> bufferTypes;
  for (Operation &op : body) {
    const OperatorTraits &traits = getOperatorTraits(&op);
    if (!traits.hasRole(OperandRole::InPlace))
      continue;
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      if (isa<BlockArgument>(operand) && isF32Tensor(operand.getType()) &&
          traits.hasRole(OperandRole::InPlace, index))
        bufferTypes.insert(operand.getType());
  }
  for (BlockArgument argument : body.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.hasStaticShape() && bufferTypes.contains(type))
      parameters.insert(argument);
  }
  return parameters;
}

llvm::StringSet<> collectTrainingNames(ModuleOp module) {
  llvm::StringSet<> names;
  auto addStrings = [&](Attribute attribute) {
    attribute.walk([&](StringAttr text) { names.insert(text.getValue()); });
  };
  for (auto training : module.getOps<TrainingOp>())
    training->walk([&](Operation *op) { addStrings(op->getAttrDictionary()); });
  return names;
}

} // namespace mp
