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
/// value is not a tensor.
DictionaryAttr GraphEditor::describe(StringRef name, Type type,
                                     ArrayRef<StringRef> sizes) {
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
    for (auto [axis, size] : llvm::enumerate(ranked.getShape())) {
      SmallVector<NamedAttribute, 1> dim;
      if (!ShapedType::isDynamic(size))
        dim.push_back(field("dim_value", builder.getI64IntegerAttr(size)));
      else if (axis < sizes.size() && !sizes[axis].empty())
        dim.push_back(field("dim_param", builder.getStringAttr(sizes[axis])));
      dims.push_back(builder.getDictionaryAttr(dim));
    }
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

void GraphEditor::insert(StringRef list, unsigned position,
                         ArrayRef<Attribute> added) {
  YieldOp yield = getYield();
  SmallVector<Attribute> entries;
  if (auto known = yield->getAttrOfType<ArrayAttr>(list))
    entries.assign(known.begin(), known.end());
  entries.insert(entries.begin() + std::min<size_t>(position, entries.size()),
                 added.begin(), added.end());
  yield->setAttr(list, builder.getArrayAttr(entries));
}

BlockArgument GraphEditor::addInput(StringRef name, Type type,
                                    ArrayRef<StringRef> sizes) {
  Attribute described = describe(name, type, sizes);
  insert(attr::inputs, getBlock().getNumArguments(), described);
  return getBlock().addArgument(type, region.getLoc());
}

Block::BlockArgListType
GraphEditor::addInputs(ArrayRef<std::pair<StringRef, TypedAttr>> inputs) {
  OpBuilder before = OpBuilder::atBlockBegin(&getBlock());
  SmallVector<Attribute> described;
  unsigned first = getBlock().getNumArguments();
  for (auto [name, value] : inputs)
    described.push_back(describe(name, value.getType()));
  insert(attr::inputs, first, described);
  for (auto [name, value] : inputs) {
    InitializerOp::create(before, region.getLoc(), value.getType(),
                          builder.getStringAttr(name), value, DictionaryAttr(),
                          /*overridable=*/builder.getUnitAttr(), UnitAttr());
    getBlock().addArgument(value.getType(), region.getLoc());
  }
  return getBlock().getArguments().drop_front(first);
}

Block::BlockArgListType
GraphEditor::makeInputs(ArrayRef<InitializerOp> initializers) {
  SmallVector<Attribute> described;
  unsigned first = getBlock().getNumArguments();
  for (InitializerOp initializer : initializers)
    described.push_back(
        describe(initializer.getName(), initializer.getResult().getType()));
  insert(attr::inputs, first, described);
  for (InitializerOp initializer : initializers) {
    Value result = initializer.getResult();
    result.replaceAllUsesWith(
        getBlock().addArgument(result.getType(), region.getLoc()));
    initializer.setOverridable(true);
  }
  return getBlock().getArguments().drop_front(first);
}

void GraphEditor::setInputs(
    ArrayRef<std::pair<BlockArgument, TypedAttr>> inputs) {
  if (inputs.empty())
    return;
  YieldOp yield = getYield();
  SmallVector<Attribute> entries(
      yield->getAttrOfType<ArrayAttr>(attr::inputs).getValue());
  llvm::StringMap<TypedAttr> values;
  for (auto [input, value] : inputs) {
    StringRef name = onnxir::getValueName(input);
    values[name] = value;
    input.setType(value.getType());
    entries[input.getArgNumber()] = describe(name, value.getType());
  }
  yield->setAttr(attr::inputs, builder.getArrayAttr(entries));
  for (auto initializer : getBlock().getOps<InitializerOp>()) {
    TypedAttr value = initializer.getOverridable()
                          ? values.lookup(initializer.getName())
                          : TypedAttr();
    if (!value)
      continue;
    initializer.setValueAttr(value);
    initializer.getResult().setType(value.getType());
  }
}

void GraphEditor::setInputType(BlockArgument input, Type type,
                               ArrayRef<StringRef> sizes) {
  YieldOp yield = getYield();
  SmallVector<Attribute> entries(
      yield->getAttrOfType<ArrayAttr>(attr::inputs).getValue());
  entries[input.getArgNumber()] =
      describe(onnxir::getValueName(input), type, sizes);
  input.setType(type);
  yield->setAttr(attr::inputs, builder.getArrayAttr(entries));
}

void GraphEditor::eraseOutputs(llvm::function_ref<bool(unsigned)> isErased) {
  YieldOp yield = getYield();
  auto described = yield->getAttrOfType<ArrayAttr>(attr::outputs);
  SmallVector<Attribute> entries;
  SmallVector<Value> values;
  for (auto [index, value] : llvm::enumerate(yield.getOperands())) {
    if (isErased(index))
      continue;
    values.push_back(value);
    if (described && index < described.size())
      entries.push_back(described[index]);
  }
  yield.getValuesMutable().assign(values);
  yield->setAttr(attr::outputs, builder.getArrayAttr(entries));
}

void GraphEditor::eraseInput(unsigned index) {
  YieldOp yield = getYield();
  SmallVector<Attribute> entries(
      yield->getAttrOfType<ArrayAttr>(attr::inputs).getValue());
  entries.erase(entries.begin() + index);
  yield->setAttr(attr::inputs, builder.getArrayAttr(entries));
  getBlock().eraseArgument(index);
}

void GraphEditor::addOutputs(ArrayRef<Value> values) {
  YieldOp yield = getYield();
  SmallVector<Attribute> described;
  for (Value value : values)
    described.push_back(describe(onnxir::getValueName(value), value.getType()));
  insert(attr::outputs, yield.getNumOperands(), described);
  yield.getValuesMutable().append(values);
}

void GraphEditor::addFirstOutput(Value value) {
  YieldOp yield = getYield();
  Attribute described = describe(onnxir::getValueName(value), value.getType());
  insert(attr::outputs, 0, described);
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
