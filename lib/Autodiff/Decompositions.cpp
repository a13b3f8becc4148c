//===- Decompositions.cpp - Gradient ops in standard ones -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Autodiff/Decompositions.h"

#include "DecompositionTables.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

Value NodeDecomposition::wide(unsigned index) {
  Value value = in(index);
  auto type =
      value ? dyn_cast_or_null<FloatType>(getTensorElementType(value.getType()))
            : FloatType();
  return type && type.getWidth() == 16
             ? b.castTo(value, Float32Type::get(b.getContext()))
             : value;
}

void NodeDecomposition::replace(unsigned index, Value value) {
  OpResult result = node->getResult(index);
  if (Type element = getTensorElementType(result.getType()))
    value = b.castTo(value, element);
  // Keep what is known of the shape.
  value.setType(NodeTypes::refine(value.getType(), result.getType()));
  std::string name = onnxir::getValueName(result).str();
  result.replaceAllUsesWith(value);
  auto made = dyn_cast<OpResult>(value);
  if (!made || isa<InitializerOp>(made.getOwner()) ||
      made.getOwner()->getBlock() != node->getBlock() ||
      isStandardOp(made.getOwner(), "Constant"))
    return;
  setValueName(result, b.getNames().getValueName(name + "_replaced"));
  setValueName(made, name);
}

const Decomposition *findDecomposition(Operation *node) {
  static const llvm::StringMap<const Decomposition *> table = [] {
    llvm::StringMap<const Decomposition *> made;
    for (ArrayRef<Decomposition> family :
         {getActivationDecompositions(), getArithmeticDecompositions(),
          getBookkeepingDecompositions(), getBroadcastDecompositions(),
          getConvolutionDecompositions(), getDropoutDecompositions(),
          getIndexingDecompositions(), getLossDecompositions(),
          getNormalizationDecompositions(), getPoolingDecompositions(),
          getRecurrentDecompositions(), getRecurrentGradDecompositions(),
          getResizeDecompositions()})
      for (const Decomposition &entry : family)
        made[entry.op] = &entry;
    return made;
  }();
  return table.lookup(getQualifiedName(getDomain(node), getOpType(node)));
}

LogicalResult decompose(NodeBuilder &builder, Operation *node,
                        const Decomposition &decomposition) {
  builder.setInsertionPoint(node);
  StringRef name = getNodeName(node);
  if (name.empty() && node->getNumResults())
    name = onnxir::getValueName(node->getResult(0));
  builder.setBase(name);
  NodeDecomposition rewriting(builder, node);
  // Decompositions depend on element types. Elements of a variadic operand must
  // not be absent.
  const OpSchema *schema = getSchema(node);
  for (OpOperand &operand : node->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    const FormalParameter *formal = schema ? schema->getInput(index) : nullptr;
    if (isa<UnknownType>(operand.get().getType()))
      return rewriting.fail("the type of its operand #" + Twine(index) +
                            " is unknown");
    if (isa<NoneType>(operand.get().getType()) && formal &&
        formal->option == FormalParameter::Variadic)
      return rewriting.fail("its operand #" + Twine(index) + " is absent");
  }
  if (failed(decomposition.apply(rewriting)))
    return failure();
  node->erase();
  return success();
}

} // namespace mp
