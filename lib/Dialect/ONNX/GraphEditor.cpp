//===- GraphEditor.cpp - Inputs, outputs and states of a graph ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

GraphOp getMainGraph(ModuleOp module) {
  auto graphs = module.getOps<GraphOp>();
  return graphs.empty() ? GraphOp() : *graphs.begin();
}

/// A ValueInfoProto, in the form that import gives it; without a type if the
/// value is no tensor.
DictionaryAttr GraphEditor::describe(StringRef name, Type type) {
  auto field = [&](StringRef key, Attribute value) {
    return builder.getNamedAttr(key, value);
  };
  if (!getTensorElementType(type))
    return builder.getDictionaryAttr(
        field("name", builder.getStringAttr(name)));
  SmallVector<NamedAttribute> tensor;
  Type element = getTensorElementType(type);
  tensor.push_back(field("elem_type", builder.getI64IntegerAttr(
                                          int64_t(getElementKind(element)))));
  if (auto ranked = dyn_cast_or_null<RankedTensorType>(type)) {
    SmallVector<Attribute> dims;
    for (int64_t size : ranked.getShape())
      dims.push_back(size == ShapedType::kDynamic
                         ? builder.getDictionaryAttr({})
                         : builder.getDictionaryAttr(field(
                               "dim_value", builder.getI64IntegerAttr(size))));
    SmallVector<NamedAttribute> shape;
    if (!dims.empty())
      shape.push_back(field("dim", builder.getArrayAttr(dims)));
    tensor.push_back(field("shape", builder.getDictionaryAttr(shape)));
  }
  Attribute described = builder.getDictionaryAttr(
      field("tensor_type", builder.getDictionaryAttr(tensor)));
  return builder.getDictionaryAttr(
      {field("name", builder.getStringAttr(name)), field("type", described)});
}

void GraphEditor::insert(StringRef list, unsigned position, Attribute entry) {
  YieldOp yield = getYield();
  SmallVector<Attribute> entries;
  if (auto known = yield->getAttrOfType<ArrayAttr>(list))
    entries.assign(known.begin(), known.end());
  entries.insert(entries.begin() + std::min<size_t>(position, entries.size()),
                 entry);
  yield->setAttr(list, builder.getArrayAttr(entries));
}

BlockArgument GraphEditor::addInput(StringRef name, Type type) {
  insert(attr::inputs, getBlock().getNumArguments(), describe(name, type));
  return getBlock().addArgument(type, region.getLoc());
}

BlockArgument GraphEditor::addInput(StringRef name, TypedAttr value) {
  OpBuilder before = OpBuilder::atBlockBegin(&getBlock());
  InitializerOp::create(before, region.getLoc(), value.getType(),
                        builder.getStringAttr(name), value, DictionaryAttr(),
                        /*overridable=*/builder.getUnitAttr(), UnitAttr());
  return addInput(name, value.getType());
}

BlockArgument GraphEditor::makeInput(InitializerOp initializer) {
  BlockArgument input =
      addInput(initializer.getName(), initializer.getResult().getType());
  initializer.getResult().replaceAllUsesWith(input);
  initializer.setOverridable(true);
  return input;
}

void GraphEditor::eraseInput(unsigned index) {
  YieldOp yield = getYield();
  SmallVector<Attribute> entries(
      yield->getAttrOfType<ArrayAttr>(attr::inputs).getValue());
  entries.erase(entries.begin() + index);
  yield->setAttr(attr::inputs, builder.getArrayAttr(entries));
  getBlock().eraseArgument(index);
}

void GraphEditor::addOutput(Value value) {
  YieldOp yield = getYield();
  insert(attr::outputs, yield.getNumOperands(),
         describe(onnxir::getValueName(value), value.getType()));
  yield.getValuesMutable().append(value);
}

void GraphEditor::addFirstOutput(Value value) {
  YieldOp yield = getYield();
  insert(attr::outputs, 0,
         describe(onnxir::getValueName(value), value.getType()));
  yield->insertOperands(0, value);
}

InitializerOp GraphEditor::getDefault(BlockArgument input) {
  StringRef name = onnxir::getValueName(input);
  for (auto initializer : getBlock().getOps<InitializerOp>())
    if (initializer.getOverridable() && initializer.getName() == name)
      return initializer;
  return {};
}

} // namespace mp
