//===- ModelInterface.cpp - What a compiled model takes and gives ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/ModelInterface.h"

#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Target/ONNX/ConstantData.h"

using namespace mlir;

namespace mp {

/// What mp-bind-arguments says of a value.
static ProgramValue readValue(DictionaryAttr description) {
  ProgramValue value;
  if (auto name = description.getAs<StringAttr>(lowered::name))
    value.name = name.str();
  auto type =
      cast<RankedTensorType>(description.getAs<TypeAttr>("type").getValue());
  for (int64_t size : type.getShape())
    value.sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
  value.kind = onnxir::getElementKind(
      description.getAs<TypeAttr>(lowered::element).getValue());
  value.hasDefault = description.contains(lowered::constant);
  if (auto state = description.getAs<IntegerAttr>(lowered::state))
    value.state = state.getInt();
  return value;
}

static FailureOr<Tensor> readConstant(ModuleOp module, Attribute attribute) {
  return getConstantData(cast<TypedAttr>(attribute),
                         [&] { return module.emitError("a constant: "); });
}

bool ModelInterface::isState(unsigned input) const {
  return llvm::any_of(outputs, [&](const ProgramValue &output) {
    return output.state == static_cast<int>(input);
  });
}

FailureOr<ModelInterface> readInterface(ModuleOp module) {
  ModelInterface result;
  auto list = [&](StringRef name) {
    return module->getAttrOfType<ArrayAttr>(name).getAsRange<DictionaryAttr>();
  };
  for (DictionaryAttr description : list("mp.inputs")) {
    result.inputs.push_back(readValue(description));
    result.defaults.emplace_back();
    if (!result.inputs.back().hasDefault)
      continue;
    auto read = readConstant(module, description.get(lowered::constant));
    if (failed(read))
      return failure();
    result.defaults.back() = *read;
  }
  for (DictionaryAttr description : list("mp.outputs"))
    result.outputs.push_back(readValue(description));
  for (DictionaryAttr description : list("mp.constants")) {
    auto read = readConstant(module, description.get(lowered::constant));
    if (failed(read))
      return failure();
    result.constants.push_back(*read);
  }
  if (auto arena = module->getAttrOfType<IntegerAttr>("mp.arena"))
    result.arenaBytes = arena.getInt();
  if (auto slots = module->getAttrOfType<IntegerAttr>("mp.kept"))
    result.numSlots = slots.getInt();
  return result;
}

} // namespace mp
