//===- WidenFloats.cpp - A model in float64 -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are visited in order: every operand becomes float64 before its users
// are visited. If the schema does not admit float64 for an operand or a result,
// a cast is inserted.
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Support/Rounding.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

namespace mp {
#define GEN_PASS_DEF_WIDENFLOATS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct WidenFloats : public mp::impl::WidenFloatsBase<WidenFloats> {
  void runOnOperation() override;
};

class Widener {
public:
  Widener(GraphOp graph, CastBuilder &casts)
      : graph(graph), casts(casts), f64(Float64Type::get(graph.getContext())) {}

  LogicalResult run();

private:
  Type widen(Type type) const;
  void widenArguments(Region &region);
  LogicalResult visit(Operation *op);
  void visitConstant(Operation *op);
  void narrowOperands(Operation *op, const OpSchema *schema);
  LogicalResult widenResults(Operation *op, const OpSchema *schema);
  void patchAttributes(Operation *op);
  OpResult castUses(OpResult value);

  GraphOp graph;
  CastBuilder &casts;
  Type f64;
  /// The element types that values had before.
  llvm::DenseMap<Value, Type> old;
  llvm::DenseMap<std::pair<Value, Type>, Value> narrowed;
};

} // namespace

/// A float that float64 can replace.
static bool isNarrowFloat(Type element) {
  return element && (element.isF32() || element.isF16() || element.isBF16());
}

Type Widener::widen(Type type) const {
  if (isNarrowFloat(getTensorElementType(type)))
    return withElementType(type, f64);
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(type.getContext(),
                             widen(sequence.getElementType()));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(type.getContext(),
                             widen(optional.getElementType()));
  return type;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Elements of a constant as float64; false if they have no such form.
static bool readElements(TypedAttr value, std::vector<double> &to) {
  if (auto dense = dyn_cast<DenseFPElementsAttr>(value)) {
    for (const APFloat &element : dense.getValues<APFloat>()) {
      APFloat wide = element;
      bool losesInfo;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      to.push_back(wide.convertToDouble());
    }
    return true;
  }
  Type element = getTensorElementType(value.getType());
  if (auto cast = dyn_cast<CastElementsAttr>(value)) {
    // A mask is bounded for 16 bit only: in float64, its elements keep their
    // values.
    if (!readElements(cast.getSource(), to))
      return false;
    for (double &number : to)
      if (element.isBF16())
        number = widenBFloat16(roundToBFloat16(float(number)));
      else if (element.isF16())
        number = widenFloat16(roundToFloat16(float(number)));
    return true;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return false;
  ArrayRef<char> bytes = blob->getData();
  auto append = [&](auto bits, auto convert) {
    for (size_t at = 0; at + sizeof(bits) <= bytes.size(); at += sizeof(bits)) {
      memcpy(&bits, bytes.data() + at, sizeof(bits));
      to.push_back(convert(bits));
    }
  };
  if (element.isF32())
    append(float(), [](float number) { return double(number); });
  else if (element.isF16())
    append(uint16_t(),
           [](uint16_t bits) { return double(widenFloat16(bits)); });
  else if (element.isBF16())
    append(uint16_t(),
           [](uint16_t bits) { return double(widenBFloat16(bits)); });
  return isNarrowFloat(element);
}

/// Converts elements to float64 now: code that is executed cannot defer this to
/// the writer of the model.
static TypedAttr materialize(TypedAttr value) {
  auto converted = dyn_cast_or_null<CastElementsAttr>(value);
  std::vector<double> elements;
  if (!converted || !readElements(converted.getSource(), elements))
    return value;
  AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyInferAlign(
      ArrayRef(elements), /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(cast<ShapedType>(value.getType()),
                                        "wide", std::move(blob));
}

void Widener::visitConstant(Operation *op) {
  OpResult result = op->getResult(0);
  old[result] = getTensorElementType(result.getType());
  auto initializer = dyn_cast<InitializerOp>(op);
  bool isDefault = initializer && initializer.getOverridable();
  if (isDefault)
    initializer.setOverridable(false);
  bool isWide = convertConstant(op, f64);
  if (isDefault)
    initializer.setOverridable(true);
  if (!isWide) {
    castUses(result);
    return;
  }
  if (initializer) {
    initializer.setValueAttr(materialize(initializer.getValueAttr()));
    return;
  }
  Attribute value = op->getAttr("value");
  if (auto tensor = dyn_cast<TensorAttr>(value))
    op->setAttr("value", TensorAttr::get(op->getContext(), tensor.getFields(),
                                         materialize(tensor.getValue())));
  else
    op->setAttr("value", materialize(cast<TypedAttr>(value)));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Adds a cast to float64 right after a value that keeps its type.
OpResult Widener::castUses(OpResult value) {
  OpResult wide = casts.create(value, f64);
  wide.getOwner()->removeAttr(mark::inserted);
  // The cast takes over the name: a caller that requests the value by name gets
  // the reference.
  std::string name = onnxir::getValueName(value).str();
  if (!isa<InitializerOp>(value.getOwner()) && !name.empty()) {
    setValueName(value, casts.getNames().getValueName(name + "_narrow"));
    setValueName(wide, name);
  }
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
    if (use.getOwner() != wide.getOwner())
      use.set(wide);
  old[wide] = getTensorElementType(value.getType());
  if (wide.use_empty())
    wide.getOwner()->erase();
  return wide;
}

/// Changes types in attributes, which the element types of values do not cover.
void Widener::patchAttributes(Operation *op) {
  if (auto to = op->getAttrOfType<StringAttr>("to");
      to && isStandardOp(op, "Cast") &&
      (to.getValue() == "FLOAT" || to.getValue() == "FLOAT16"))
    op->setAttr("to", StringAttr::get(op->getContext(), "DOUBLE"));
  for (StringRef name : {"dtype", "output_datatype", "output_dtype",
                         "output_type", "softmax_precision", "to"}) {
    auto kind = op->getAttrOfType<IntegerAttr>(name);
    if (kind && isNarrowFloat(getElementType(op->getContext(),
                                             ElementKind(kind.getInt()))))
      op->setAttr(
          name, IntegerAttr::get(kind.getType(), int64_t(ElementKind::Double)));
  }
}

void Widener::narrowOperands(Operation *op, const OpSchema *schema) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    auto known = old.find(value);
    const FormalParameter *formal =
        schema ? schema->getInput(operand.getOperandNumber()) : nullptr;
    if (known == old.end() || getTensorElementType(value.getType()) != f64 ||
        (formal &&
         schema->typesOf(*formal).containsTensor(ElementKind::Double)))
      continue;
    Value &narrow = narrowed[{value, known->second}];
    if (!narrow) {
      OpResult cast = casts.create(value, known->second);
      cast.getOwner()->removeAttr(mark::inserted);
      narrow = cast;
    }
    operand.set(narrow);
  }
}

LogicalResult Widener::widenResults(Operation *op, const OpSchema *schema) {
  for (OpResult result : op->getResults()) {
    Type wide = widen(result.getType());
    if (wide == result.getType())
      continue;
    Type element = getTensorElementType(result.getType());
    const FormalParameter *formal =
        schema ? schema->getOutput(result.getResultNumber()) : nullptr;
    if (formal && (!element || schema->typesOf(*formal).containsTensor(
                                   ElementKind::Double))) {
      old[result] = element;
      result.setType(wide);
    } else if (element) {
      castUses(result);
    } else {
      return op->emitError() << describe(op) << ": result of type "
                             << result.getType() << " cannot be float64";
    }
  }
  return success();
}

void Widener::widenArguments(Region &region) {
  for (BlockArgument argument : region.getArguments()) {
    Type wide = widen(argument.getType());
    if (wide != argument.getType())
      old[argument] = getTensorElementType(argument.getType());
    argument.setType(wide);
  }
}

LogicalResult Widener::visit(Operation *op) {
  if (isConstant(op)) {
    if (isNarrowFloat(getTensorElementType(op->getResult(0).getType())))
      visitConstant(op);
    return success();
  }
  // BitCast reads and makes the bits of the types that it had.
  bool isFixed = isa<CustomOp>(op) || isStandardOp(op, "BitCast");
  const OpSchema *schema = isFixed ? nullptr : getSchema(op);
  if (schema)
    patchAttributes(op);
  // A node with one result computes in the type of `stash_type`, if it has one.
  if (op->hasAttr("stash_type") && op->getNumResults() == 1)
    op->setAttr("stash_type",
                IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                                 int64_t(ElementKind::Double)));
  for (Region &region : op->getRegions())
    widenArguments(region);
  narrowOperands(op, schema);
  return widenResults(op, schema);
}

LogicalResult Widener::run() {
  std::vector<Operation *> nodes;
  graph.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op) || isa<InitializerOp>(op))
      nodes.push_back(op);
  });
  widenArguments(graph.getBody());
  for (Operation *node : nodes)
    if (failed(visit(node)))
      return failure();
  return success();
}

void WidenFloats::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  CastBuilder casts(getOperation());
  if (failed(Widener(graph, casts).run()))
    signalPassFailure();
}
