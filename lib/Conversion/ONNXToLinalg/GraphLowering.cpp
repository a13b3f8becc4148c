//===- GraphLowering.cpp - A graph on its way to a function ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the nodes of a block in order, and records the representation of each
// value: a tensor, known integers, or a list.
//
//===----------------------------------------------------------------------===//

#include "GraphLowering.h"

#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"
#include "mp-opt/Target/ONNX/ConstantData.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Null for elements that cannot be represented in code: strings and sparse
/// ones.
static FailureOr<Attribute> getElements(Operation *op) {
  Attribute elements = op->getAttr("value");
  DictionaryAttr fields;
  if (auto initializer = dyn_cast<InitializerOp>(op)) {
    elements = initializer.getValueAttr();
    fields = initializer.getFieldsAttr();
  } else if (auto tensor = dyn_cast_or_null<TensorAttr>(elements)) {
    elements = tensor.getValue();
    fields = tensor.getFields();
  }
  if (elements)
    return elements;
  FailureOr<TypedAttr> unpacked = unpackNarrowIntegers(fields, [&] {
    return op->emitError() << "'" << getValueName(op->getResult(0)) << "': ";
  });
  if (failed(unpacked))
    return failure();
  return Attribute(*unpacked);
}

/// All elements as a vector.
static Value flatten(OpBuilder &b, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 1)
    return value;
  ReassociationIndices all = llvm::to_vector(llvm::seq(type.getRank()));
  SmallVector<ReassociationIndices> groups;
  if (!all.empty())
    groups.push_back(all);
  if (groups.empty())
    return tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get({1}, type.getElementType()), value,
        groups);
  return tensor::CollapseShapeOp::create(b, loc, value, groups);
}

static Value takeRange(OpBuilder &b, Location loc, Value value, int64_t first,
                       int64_t count) {
  OpFoldResult begin = b.getIndexAttr(first), size = b.getIndexAttr(count);
  OpFoldResult step = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(b, loc, flatten(b, loc, value), begin,
                                        size, step);
}

static Value putRange(OpBuilder &b, Location loc, Value range, Value value,
                      int64_t first) {
  auto type = cast<RankedTensorType>(value.getType());
  auto own = cast<RankedTensorType>(range.getType());
  OpFoldResult begin = b.getIndexAttr(first);
  OpFoldResult size = b.getIndexAttr(own.getDimSize(0));
  OpFoldResult step = b.getIndexAttr(1);
  Value line = tensor::InsertSliceOp::create(
      b, loc, range, flatten(b, loc, value), begin, size, step);
  if (type.getRank() == 1)
    return line;
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, loc, type, line,
                                           ArrayRef<ReassociationIndices>());
  ReassociationIndices all = llvm::to_vector(llvm::seq(type.getRank()));
  return tensor::ExpandShapeOp::create(b, loc, type, line,
                                       ArrayRef<ReassociationIndices>(all));
}

FailureOr<SmallVector<TensorValue>> GraphLowering::lowerBlock(Block &block) {
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  for (Operation &op : block) {
    e.setPlace(op.getLoc(), isNode(&op) ? describe(&op) : std::string());
    if (auto yield = dyn_cast<YieldOp>(op)) {
      SmallVector<TensorValue> results;
      for (Value value : yield.getOperands())
        results.push_back(get(value));
      return results;
    }
    if (isa<AbsentOp>(op))
      continue;
    if (auto initializer = dyn_cast<InitializerOp>(op)) {
      if (!initializer.getOverridable() &&
          failed(addConstant(initializer.getResult(), getElements(&op))))
        return failure();
    } else if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      TensorValue value = get(reduce.getValue());
      Value condition;
      if (Value flag = reduce.getCondition())
        condition = e.load(get(flag), {});
      Value rows;
      if (Value indices = reduce.getRows())
        rows = flatten(e.b, e.loc, get(indices).value);
      value.value = runtime::AllReduceOp::create(
          e.b, e.loc, value.value.getType(), value.value, condition, rows,
          reduce.getBucket(), int32_t(reduce.getReduction()));
      bind(reduce.getResult(), value);
    } else if (auto take = dyn_cast<TakeRangeOp>(op)) {
      TensorValue value = get(take.getValue());
      value.value = takeRange(e.b, e.loc, value.value, take.getFirst(),
                              take.getResult().getType().getNumElements());
      bind(take.getResult(), value);
    } else if (auto put = dyn_cast<PutRangeOp>(op)) {
      TensorValue value = get(put.getValue());
      value.value = putRange(e.b, e.loc, get(put.getRange()).value, value.value,
                             put.getFirst());
      bind(put.getResult(), value);
    } else if (isNode(&op)) {
      if (failed(lowerNode(&op)))
        return failure();
    }
  }
  return failure();
}

/// The constant in a Constant node; null for strings and sparse ones.
static FailureOr<Attribute> getNodeElements(Operation *node, Builder &builder) {
  FailureOr<Attribute> value = getElements(node);
  if (failed(value) || *value)
    return value;
  MLIRContext *context = node->getContext();
  auto dense = [&](Type element, unsigned rank, int64_t count, auto values) {
    SmallVector<int64_t> shape(rank, count);
    return Attribute(
        DenseElementsAttr::get(RankedTensorType::get(shape, element), values));
  };
  Type i64 = IntegerType::get(context, 64), f32 = Float32Type::get(context);
  if (auto list = node->getAttrOfType<DenseI64ArrayAttr>("value_ints"))
    return dense(i64, 1, list.size(), list.asArrayRef());
  if (auto number = node->getAttrOfType<IntegerAttr>("value_int"))
    return dense(i64, 0, 1, ArrayRef<int64_t>(number.getInt()));
  if (auto list = node->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return dense(f32, 1, list.size(), list.asArrayRef());
  if (auto number = node->getAttrOfType<FloatAttr>("value_float"))
    return dense(
        f32, 0, 1,
        ArrayRef<float>(static_cast<float>(number.getValueAsDouble())));
  return Attribute();
}

/// A constant without elements is not recorded; nodes that read it report that
/// it is not a tensor of numbers.
LogicalResult GraphLowering::addConstant(Value value,
                                         FailureOr<Attribute> elements) {
  if (failed(elements))
    return failure();
  if (*elements)
    constants[value] = *elements;
  return success();
}

LogicalResult GraphLowering::lowerNode(Operation *node) {
  NodeLowering lowering(*this, e, node);
  if (isStandardOp(node, "Constant")) {
    FailureOr<Attribute> elements = getNodeElements(node, e.b);
    if (succeeded(elements) && !*elements)
      return lowering.fail("a constant of this form cannot be compiled");
    return addConstant(node->getResult(0), elements);
  }
  for (Value operand : node->getOperands())
    if (!isa<NoneType>(operand.getType()) && !getKnown(operand) &&
        !get(operand) && !isa<SequenceType, OptionalType>(operand.getType()))
      return lowering.fail("operand '" + getValueName(operand) +
                           "' has a type that cannot be compiled");
  if (foldShape(lowering))
    return success();
  for (Value result : node->getResults())
    if (auto type = dyn_cast<TensorType>(result.getType());
        type && !getStorageType(type.getElementType()))
      return lowering.fail("result '" + getValueName(result) +
                           "' has a type that cannot be compiled");
  const LoweringRule *rule = findRule(node);
  return rule ? rule->lower(lowering) : lowering.fail("no lowering");
}

void GraphLowering::alias(Value value, Value same) {
  if (const ShapeValue *ints = getKnown(same))
    bind(value, *ints);
  else if (TensorValue tensor = get(same))
    bind(value, tensor);
  if (const KnownList *list = getList(same))
    bind(value, *list);
}

LoweredValue GraphLowering::read(Value value) {
  LoweredValue result;
  if (const ShapeValue *ints = getKnown(value))
    result.ints = *ints;
  else
    result.tensor = get(value);
  if (const KnownList *list = getList(value))
    result.list = *list;
  return result;
}

void GraphLowering::bind(Value value, const LoweredValue &same) {
  if (same.ints)
    bind(value, *same.ints);
  else if (same.tensor)
    bind(value, same.tensor);
  if (same.list)
    bind(value, *same.list);
}

bool GraphLowering::addRepeated(unsigned nodes) {
  constexpr uint64_t most = 100000;
  repeated += nodes;
  return repeated <= most;
}

/// Absent if shapes are not computed with constants of this form.
static std::optional<ShapeValue> readElements(Emitter &e,
                                              DenseElementsAttr elements) {
  // Scales of the axes of an image; more floats are weights.
  constexpr int64_t maxFloats = 8;
  Type element = elements.getElementType();
  int64_t count = elements.getNumElements();
  ShapeValue ints{{}, llvm::to_vector(elements.getType().getShape())};
  if (element.isF32() || element.isF64()) {
    if (count > maxFloats)
      return std::nullopt;
    llvm::append_range(ints.values, elements.getValues<FloatAttr>());
    return ints;
  }
  if (count > maxShapeElements || !isa<IntegerType>(element))
    return std::nullopt;
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  for (const APInt &number : elements.getValues<APInt>())
    ints.values.push_back(
        e.size(isUnsigned ? number.getZExtValue() : number.getSExtValue()));
  return ints;
}

const ShapeValue *GraphLowering::getKnown(Value value) const {
  auto found = known.find(value);
  if (found != known.end())
    return found->second.get();
  // Constants are read when they are first needed.
  auto constant = constants.find(value);
  if (constant == constants.end())
    return nullptr;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(constant->second);
  std::optional<ShapeValue> ints;
  if (elements)
    ints = readElements(e, elements);
  if (!ints)
    return nullptr;
  return const_cast<GraphLowering *>(this)
      ->known.try_emplace(value, std::make_unique<ShapeValue>(std::move(*ints)))
      .first->second.get();
}

Type GraphLowering::getElement(Value value) const {
  if (excess.values.contains(value))
    return Float32Type::get(value.getContext());
  return getTensorElementType(value.getType());
}

TensorValue GraphLowering::get(Value value) {
  if (auto found = tensors.find(value); found != tensors.end())
    return found->second;
  if (auto constant = constants.find(value); constant != constants.end()) {
    TensorValue tensor = materialize(constant->second);
    if (!tensor)
      return tensor;
    // The element type is the model's: narrow integers have wider storage.
    if (isa<IntegerType>(tensor.element))
      tensor.element = getTensorElementType(value.getType());
    return tensors[value] = tensor;
  }
  auto ints = known.find(value);
  if (ints == known.end())
    return {};
  Type element = getTensorElementType(value.getType());
  if (isa<FloatType>(element)) {
    SmallVector<Attribute> numbers;
    for (Size number : ints->second->values)
      numbers.push_back(cast<Attribute>(number));
    auto type = RankedTensorType::get(ints->second->shape, element);
    return materialize(DenseElementsAttr::get(type, numbers));
  }
  // The tensor is not recorded: its code may not dominate other uses.
  TensorValue vector = e.fromSizes(ints->second->values);
  if (element.isInteger(1))
    vector = e.map(element, vector, [&](ValueRange values) {
      return e.s.compare(Scalars::NE, values[0], e.s.like(values[0], 0));
    });
  else
    vector = e.cast(vector, element);
  Sizes shape;
  for (int64_t extent : ints->second->shape)
    shape.push_back(e.size(extent));
  return e.reshape(vector, shape);
}

/// Up to this size, constants are part of the code.
static constexpr int64_t maxInlineBytes = 256;

/// Small constants become code, others an argument of the function; both are in
/// its first block, which dominates all uses.
TensorValue GraphLowering::materialize(Attribute elements) {
  auto typed = dyn_cast<TypedAttr>(elements);
  auto type =
      typed ? dyn_cast<RankedTensorType>(typed.getType()) : RankedTensorType();
  Type storage = type ? getStorageType(type.getElementType()) : Type();
  if (!storage)
    return {};
  TensorValue result = {Value(), type.getElementType()};
  auto stored = RankedTensorType::get(type.getShape(), storage);
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (dense && (dense.isSplat() ||
                type.getNumElements() * storage.getIntOrFloatBitWidth() / 8 <=
                    maxInlineBytes)) {
    if (type.getElementType().isInteger(1))
      dense = cast<DenseIntElementsAttr>(dense).mapValues(
          storage, [](const APInt &bit) { return bit.zext(8); });
    else if (type.getElementType() != storage)
      dense = dense.bitcast(storage);
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(&function.getBody().front());
    result.value = arith::ConstantOp::create(e.b, e.loc, dense);
    return result;
  }
  // The function's type and attributes are updated once all arguments are
  // known, since each update makes a new list.
  result.value = function.getBody().addArgument(stored, e.loc);
  NamedAttrList list;
  list.set(mark::constant, elements);
  list.set(mark::element, TypeAttr::get(type.getElementType()));
  constantAttrs.push_back(list.getDictionary(e.b.getContext()));
  return result;
}

} // namespace mp
