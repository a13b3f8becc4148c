//===- Casts.cpp - Casts that passes insert -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/Casts.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

StringRef getPrecisionName(Type elementType) {
  return elementType.isBF16() ? "bf16" : elementType.isF16() ? "fp16" : "f32";
}

//===----------------------------------------------------------------------===//
// CastBuilder
//===----------------------------------------------------------------------===//

static OperationName getCastName(MLIRContext *context) {
  auto *dialect = context->getOrLoadDialect<ONNXDialect>();
  return getOperationName(context, *dialect->getSchemas().lookup("", "Cast"));
}

CastBuilder::CastBuilder(ModuleOp module)
    : names(module), castName(getCastName(module.getContext())) {
  Builder builder(module.getContext());
  keys = {builder.getStringAttr(mark::inserted),
          builder.getStringAttr(onnxir::attr::name),
          builder.getStringAttr(onnxir::attr::results),
          builder.getStringAttr("to")};
}

OpResult CastBuilder::create(Value value, Type elementType) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  return create(builder, value, elementType);
}

/// Target types of casts, with their names in Cast-1.
static constexpr std::pair<StringLiteral, ElementKind> castTypes[] = {
    {"FLOAT", ElementKind::Float},
    {"FLOAT16", ElementKind::Float16},
    {"BFLOAT16", ElementKind::BFloat16}};

/// The attribute `to` in the form of the Cast that `op`'s opset has.
static Attribute getCastTo(Operation *op, ElementKind kind) {
  Builder builder(op->getContext());
  auto *dialect = op->getContext()->getLoadedDialect<ONNXDialect>();
  const OpFamily *family = dialect->getSchemas().lookup("", "Cast");
  const AttributeSchema *to =
      getSchemaAt(*family, getOpset(op, ""))->getAttribute("to");
  const auto *named = llvm::find_if(
      castTypes, [&](const auto &entry) { return entry.second == kind; });
  if (to && to->kind == "STRING" && named != std::end(castTypes))
    return builder.getStringAttr(named->first);
  return builder.getI64IntegerAttr(int64_t(kind));
}

/// Casts of one scope to one type share an attribute.
Attribute CastBuilder::getTo(Operation *scope, Type elementType) {
  Operation *graph = scope;
  while (graph && !graph->hasAttr(onnxir::attr::opsets))
    graph = graph->getParentOp();
  Attribute &to = targets[{graph, elementType}];
  if (!to)
    to = getCastTo(scope, getElementKind(elementType));
  return to;
}

OpResult CastBuilder::create(OpBuilder &builder, Value value,
                             Type elementType) {
  StringRef name = onnxir::getValueName(value);
  StringAttr base =
      builder.getStringAttr(Twine(name.empty() ? StringRef("value") : name) +
                            "_cast_" + getPrecisionName(elementType));
  OperationState state(value.getLoc(), castName);
  state.addOperands(value);
  state.addTypes(withElementType(value.getType(), elementType));
  addAttribute(state, keys.inserted, builder.getUnitAttr());
  addAttribute(state, keys.name, names.takeNodeName(base));
  addAttribute(state, keys.results, names.takeValueName(base));
  Operation *scope = builder.getInsertionBlock()->getParentOp();
  state.addAttribute(keys.to, getTo(scope, elementType));
  return builder.create(state)->getResult(0);
}

Type getCastType(Operation *cast) {
  if (auto name = cast->getAttrOfType<StringAttr>("to"))
    for (const auto &[spelling, kind] : castTypes)
      if (name.getValue() == spelling)
        return getElementType(cast->getContext(), kind);
  auto to = cast->getAttrOfType<IntegerAttr>("to");
  if (!to || to.getInt() < 0 || to.getInt() > int64_t(ElementKind::Int2))
    return {};
  return getElementType(cast->getContext(), ElementKind(to.getInt()));
}

bool isIEEEFloat(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

bool isSignedNumber(IntegerType type) {
  return !type.isUnsigned() && type.getWidth() > 1;
}

static unsigned countDigits(IntegerType type) {
  return type.getWidth() - isSignedNumber(type);
}

bool holdsAllNumbers(Type from, Type to) {
  auto integer = dyn_cast<IntegerType>(from), wide = dyn_cast<IntegerType>(to);
  if (integer && wide)
    return countDigits(integer) <= countDigits(wide) &&
           (!isSignedNumber(integer) || isSignedNumber(wide));
  if (!isIEEEFloat(to))
    return false;
  const llvm::fltSemantics &form = cast<FloatType>(to).getFloatSemantics();
  if (integer)
    return countDigits(integer) <= llvm::APFloat::semanticsPrecision(form);
  return isIEEEFloat(from) &&
         llvm::APFloat::isRepresentableBy(
             cast<FloatType>(from).getFloatSemantics(), form);
}

bool admitsCast(Operation *scope, ElementKind kind) {
  auto *dialect = scope->getContext()->getLoadedDialect<ONNXDialect>();
  const OpSchema *cast = dialect->getSchemas()
                             .lookup("", "Cast")
                             ->at(getOpset(scope, "").value_or(1));
  return cast && cast->typesOf(cast->outputs[0]).containsTensor(kind);
}

bool isInsertedCast(Operation *op) {
  return op && isStandardOp(op, "Cast") && op->hasAttr(mark::inserted) &&
         op->getNumOperands() == 1 && op->getNumResults() == 1;
}

void stripMarks(ModuleOp module) {
  module->walk([&](Operation *op) {
    if (NodeAttributes *attributes = getNodeAttributes(op)) {
      attributes->removeIf(isTemporary);
      return;
    }
    ArrayRef<NamedAttribute> all = op->getRawDictionaryAttrs().getValue();
    SmallVector<NamedAttribute> kept;
    for (NamedAttribute attribute : all)
      if (!isTemporary(attribute.getName()))
        kept.push_back(attribute);
    if (kept.size() != all.size())
      op->setDiscardableAttrs(
          DictionaryAttr::getWithSorted(op->getContext(), kept));
  });
}

void addToCounter(ModuleOp module, StringRef name, int64_t count) {
  auto old = module->getAttrOfType<IntegerAttr>(name);
  module->setAttr(name,
                  Builder(module.getContext())
                      .getI64IntegerAttr(count + (old ? old.getInt() : 0)));
}

} // namespace mp
