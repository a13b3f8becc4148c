//===- ModelInterface.cpp - Inputs and outputs of a model -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/ModelInterface.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Target/ONNX/ConstantData.h"

using namespace mlir;

namespace mp {

/// Reads the description of a value by mp-bind-arguments; absent if invalid.
static std::optional<ProgramValue> readValue(DictionaryAttr description) {
  ProgramValue value;
  if (auto name = description.getAs<StringAttr>(mark::name))
    value.name = name.str();
  auto whole = description.getAs<TypeAttr>("type");
  auto element = description.getAs<TypeAttr>(mark::element);
  auto type =
      whole ? dyn_cast<RankedTensorType>(whole.getValue()) : RankedTensorType();
  if (!type || !element)
    return std::nullopt;
  for (int64_t size : type.getShape())
    value.sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
  value.kind = onnxir::getElementKind(element.getValue());
  value.hasDefault = description.contains(mark::constant);
  if (auto state = description.getAs<IntegerAttr>(mark::state))
    value.state = state.getInt();
  return value;
}

static FailureOr<Tensor> readConstant(ModuleOp module,
                                      DictionaryAttr description) {
  auto value = description.getAs<TypedAttr>(mark::constant);
  if (!value)
    return LogicalResult(module.emitError("found ")
                         << description
                         << ", expected the elements of a "
                            "constant");
  return getConstantData(value,
                         [&] { return module.emitError("a constant: "); });
}

/// Reads the values of the module's attribute `name`. Fails if it is missing or
/// is not as mp-bind-arguments writes it.
static FailureOr<std::vector<ProgramValue>> readValues(ModuleOp module,
                                                       StringRef name) {
  std::vector<ProgramValue> values;
  auto list = module->getAttrOfType<ArrayAttr>(name);
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto description = dyn_cast<DictionaryAttr>(entry);
    auto value = description ? readValue(description) : std::nullopt;
    if (!value)
      return LogicalResult(module.emitError("found ")
                           << entry << " in '" << name
                           << "', expected what mp-bind-arguments writes");
    values.push_back(std::move(*value));
  }
  if (!list)
    return LogicalResult(module.emitError("expected a module with '")
                         << name << "', which mp-bind-arguments writes");
  return values;
}

bool ModelInterface::isState(unsigned input) const {
  return llvm::any_of(outputs, [&](const ProgramValue &output) {
    return output.state == static_cast<int>(input);
  });
}

static std::vector<TypedAttr> getValues(ModuleOp module, StringRef name) {
  std::vector<TypedAttr> values;
  auto list = module->getAttrOfType<ArrayAttr>(name);
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>())
    values.push_back(
        cast<DictionaryAttr>(entry).getAs<TypedAttr>(mark::constant));
  return values;
}

std::vector<TypedAttr> getConstantValues(ModuleOp module) {
  return getValues(module, mark::constants);
}

std::vector<TypedAttr> getDefaultValues(ModuleOp module) {
  return getValues(module, mark::inputs);
}

FailureOr<ModelInterface> readInterface(ModuleOp module) {
  ModelInterface result;
  auto inputs = readValues(module, mark::inputs);
  auto outputs = succeeded(inputs) ? readValues(module, mark::outputs) : inputs;
  if (failed(outputs))
    return failure();
  result.inputs = std::move(*inputs);
  result.outputs = std::move(*outputs);
  auto inputList = module->getAttrOfType<ArrayAttr>(mark::inputs);
  for (auto [input, entry] : llvm::zip(result.inputs, inputList)) {
    result.defaults.emplace_back();
    if (!input.hasDefault)
      continue;
    auto read = readConstant(module, cast<DictionaryAttr>(entry));
    if (failed(read))
      return failure();
    result.defaults.back() = *read;
  }
  auto constants = module->getAttrOfType<ArrayAttr>(mark::constants);
  for (Attribute entry :
       constants ? constants.getValue() : ArrayRef<Attribute>()) {
    auto description = dyn_cast<DictionaryAttr>(entry);
    auto read = readConstant(
        module,
        description ? description : DictionaryAttr::get(module.getContext()));
    if (failed(read))
      return failure();
    result.constants.push_back(*read);
  }
  if (auto arena = module->getAttrOfType<IntegerAttr>(mark::arena))
    result.arenaBytes = arena.getInt();
  if (auto slots = module->getAttrOfType<IntegerAttr>(mark::cacheEntries))
    result.numSlots = slots.getInt();
  return result;
}

} // namespace mp
