//===- NodeBuilder.cpp - Builder for ONNX nodes ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/NodeBuilder.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

NodeBuilder::NodeBuilder(ModuleOp module)
    : module(module), builder(module.getContext()), names(module) {}

void NodeBuilder::setInsertionPoint(Operation *before) {
  builder.setInsertionPoint(before);
}

void NodeBuilder::setInsertionPointAfter(Operation *op) {
  builder.setInsertionPointAfter(op);
}

/// New nodes go before the terminator.
void NodeBuilder::setInsertionPointToEnd(Block *block) {
  if (!block->empty() && isa<YieldOp>(block->back()))
    builder.setInsertionPoint(&block->back());
  else
    builder.setInsertionPointToEnd(block);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

NamedAttribute NodeBuilder::attr(StringRef name, int64_t value) {
  return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
}

NamedAttribute NodeBuilder::attr(StringRef name, ArrayRef<int64_t> values) {
  return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
}

NamedAttribute NodeBuilder::attr(StringRef name, StringRef value) {
  return builder.getNamedAttr(name, builder.getStringAttr(value));
}

NamedAttribute NodeBuilder::floatAttr(StringRef name, double value) {
  return builder.getNamedAttr(name, builder.getF32FloatAttr(float(value)));
}

Value NodeBuilder::getAbsent() {
  return AbsentOp::create(builder, builder.getUnknownLoc(),
                          builder.getNoneType());
}

/// Adds an import of the newest known version.
void NodeBuilder::importDomain(StringRef domain) {
  Operation *holder = module;
  Operation *around = builder.getInsertionBlock()->getParentOp();
  if (auto function = dyn_cast<FunctionOp>(around))
    holder = function;
  else if (auto outer = around->getParentOfType<FunctionOp>())
    holder = outer;
  if (getOpset(holder, domain))
    return;
  auto *dialect = getContext()->getLoadedDialect<ONNXDialect>();
  int newest = dialect->getSchemas().getNewestOpset(domain);
  auto imports = holder->getAttrOfType<ArrayAttr>(onnxir::attr::opsets);
  SmallVector<Attribute> list(imports.begin(), imports.end());
  list.push_back(
      builder.getArrayAttr({builder.getStringAttr(domain),
                            builder.getI64IntegerAttr(newest ? newest : 1)}));
  holder->setAttr(onnxir::attr::opsets, builder.getArrayAttr(list));
}

Value NodeBuilder::create(StringRef op, ArrayRef<Value> operands,
                          ArrayRef<NamedAttribute> attributes, Type type) {
  return createNode(op, operands, type, attributes)->getResult(0);
}

Operation *NodeBuilder::createNode(StringRef op, ArrayRef<Value> operands,
                                   ArrayRef<Type> resultTypes,
                                   ArrayRef<NamedAttribute> attributes,
                                   ArrayRef<StringRef> subgraphs) {
  OperationState state(builder.getUnknownLoc(),
                       OperationName(("onnx." + op).str(), getContext()));
  while (!operands.empty() && !operands.back())
    operands = operands.drop_back();
  for (Value operand : operands)
    state.operands.push_back(operand ? operand : getAbsent());
  auto [domain, name] = op.rsplit('.');
  if (name.empty())
    std::swap(domain, name);
  std::string text = (base.empty() ? "" : base + "/") + name.str();
  SmallVector<StringRef> resultNames;
  for (Type type : resultTypes) {
    state.types.push_back(type ? type : UnknownType::get(getContext()));
    bool isLeftOut = isa_and_nonnull<NoneType>(type);
    resultNames.push_back(isLeftOut ? "" : names.getValueName(text));
  }
  state.addAttributes(attributes);
  addAttribute(state, onnxir::attr::name,
               builder.getStringAttr(names.getNodeName(text)));
  addAttribute(state, onnxir::attr::results,
               builder.getStrArrayAttr(resultNames));
  if (!subgraphs.empty())
    addAttribute(state, onnxir::attr::regions,
                 builder.getStrArrayAttr(subgraphs));
  for (size_t count = subgraphs.size(); count > 0; --count)
    state.addRegion();
  Operation *node = builder.create(state);
  for (auto [region, subgraph] : llvm::zip(node->getRegions(), subgraphs)) {
    OpBuilder inside = OpBuilder::atBlockEnd(&region.emplaceBlock());
    auto yield = YieldOp::create(inside, node->getLoc(), ValueRange());
    yield->setAttr(onnxir::attr::inputs, builder.getArrayAttr({}));
    yield->setAttr(onnxir::attr::outputs, builder.getArrayAttr({}));
    yield->setAttr(onnxir::attr::graph,
                   builder.getDictionaryAttr(attr("name", subgraph)));
  }
  if (!domain.empty())
    importDomain(domain);
  if (symbols && subgraphs.empty())
    symbols->visit(node, types);
  else if (symbols)
    symbols->forget(node);
  else if (subgraphs.empty())
    types.inferResults(node, {});
  return node;
}

Operation *NodeBuilder::extend(Operation *node, ArrayRef<Type> more) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(node);
  OperationState state(node->getLoc(), node->getName());
  state.addOperands(node->getOperands());
  state.addTypes(node->getResultTypes());
  state.addTypes(more);
  state.addAttributes(node->getAttrs());
  SmallVector<Attribute> list;
  for (OpResult result : node->getResults())
    list.push_back(builder.getStringAttr(onnxir::getValueName(result)));
  for (Type type : more)
    list.push_back(builder.getStringAttr(
        isa<NoneType>(type)
            ? StringRef()
            : names.getValueName((base.empty() ? "" : base + "/") +
                                 getOpType(node) + "_saved")));
  state.attributes.set(onnxir::attr::results, builder.getArrayAttr(list));
  for (size_t count = node->getNumRegions(); count > 0; --count)
    state.addRegion();
  Operation *made = builder.create(state);
  if (symbols)
    symbols->forget(made);
  for (auto [to, from] : llvm::zip(made->getRegions(), node->getRegions()))
    to.takeBody(from);
  node->replaceAllUsesWith(
      made->getResults().take_front(node->getNumResults()));
  return made;
}

void NodeBuilder::eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isa<YieldOp>(op) || !op.use_empty())
      continue;
    op.walk([&](Operation *inner) {
      types.forget(inner);
      if (Attribute value = inner->getAttr("value"))
        constants.erase({inner->getBlock(), value});
    });
    op.erase();
  }
}

void eraseUnusedConstants(ModuleOp module) {
  module.walk([](Operation *op) {
    if (isStandardOp(op, "Constant") && op->use_empty())
      op->erase();
  });
}

Value NodeBuilder::addResult(Operation *node, unsigned index, Type type) {
  if (hasResult(node, index))
    return node->getResult(index);
  if (index < node->getNumResults()) {
    node->getResult(index).setType(type);
  } else {
    SmallVector<Type> more(index - node->getNumResults(),
                           builder.getNoneType());
    more.push_back(type);
    node = extend(node, more);
  }
  StringRef text = onnxir::getNodeName(node);
  if (text.empty())
    text = onnxir::getValueName(node->getResult(0));
  rename(node->getResult(index), text + "/" + Twine(index));
  return node->getResult(index);
}

void NodeBuilder::rename(Value value, const Twine &name) {
  if (auto result = dyn_cast<OpResult>(value))
    setValueName(result, names.getValueName(name));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value NodeBuilder::constant(ElementsAttr value) {
  Value &known = constants[{builder.getInsertionBlock(), value}];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(builder.getInsertionBlock());
  return known = create("Constant", {}, builder.getNamedAttr("value", value),
                        value.getType());
}

Value NodeBuilder::ints(ArrayRef<int64_t> values) {
  auto type =
      RankedTensorType::get({int64_t(values.size())}, builder.getI64Type());
  return constant(DenseElementsAttr::get(type, values));
}

Value NodeBuilder::intScalar(int64_t value) {
  return scalar(double(value), builder.getI64Type());
}

Value NodeBuilder::boolScalar(bool value) {
  return constant(DenseElementsAttr::get(
      RankedTensorType::get({}, builder.getI1Type()), value));
}

Value NodeBuilder::scalar(double value, Type elementType) {
  auto type = RankedTensorType::get({}, elementType);
  if (isa<IntegerType>(elementType)) {
    // 2^63 is the first number that does not fit.
    int64_t number = value >= 0x1p63   ? INT64_MAX
                     : value < -0x1p63 ? INT64_MIN
                                       : int64_t(value);
    return constant(DenseElementsAttr::get(
        type, builder.getIntegerAttr(elementType, number).getValue()));
  }
  return constant(DenseElementsAttr::get(
      type, builder.getFloatAttr(elementType, value).getValue()));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value NodeBuilder::scale(Value a, double factor) {
  return mul(a, scalarLike(factor, a));
}

Value NodeBuilder::addScalar(Value a, double summand) {
  return add(a, scalarLike(summand, a));
}

Value NodeBuilder::castTo(Value value, Type elementType) {
  if (getTensorElementType(value.getType()) == elementType)
    return value;
  auto to = int64_t(getElementKind(elementType));
  return create("Cast", {value}, attr("to", to),
                withElementType(value.getType(), elementType));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::optional<int64_t> NodeBuilder::getRank(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? std::optional(tensor.getRank()) : std::nullopt;
}

std::optional<SmallVector<int64_t>> NodeBuilder::getShape(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (!tensor || !tensor.hasStaticShape())
    return std::nullopt;
  return SmallVector<int64_t>(tensor.getShape());
}

Value NodeBuilder::shapeOf(Value value) {
  if (auto shape = getShape(value))
    return ints(*shape);
  int64_t rank = getRank(value).value_or(ShapedType::kDynamic);
  return create("Shape", {value}, {},
                RankedTensorType::get({rank}, builder.getI64Type()));
}

Value NodeBuilder::dimOf(Value value, int64_t axis) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (tensor) {
    if (axis < 0)
      axis += tensor.getRank();
    // An axis that does not exist gives an error when the model runs.
    bool isThere = axis >= 0 && axis < tensor.getRank();
    if (isThere && !tensor.isDynamicDim(axis))
      return ints(tensor.getDimSize(axis));
  }
  return gather(shapeOf(value), ints(axis), 0);
}

Value NodeBuilder::reshape(Value value, Value shape) {
  Type type;
  if (auto sizes = getConstantInts(shape);
      sizes && llvm::all_of(*sizes, [](int64_t size) { return size > 0; }))
    type = RankedTensorType::get(*sizes, getTensorElementType(value.getType()));
  return create("Reshape", {value, shape}, {}, type);
}

Value NodeBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  return reshape(value, ints(shape));
}

Value NodeBuilder::reshapeLike(Value value, Value like) {
  if (value.getType() == like.getType() && getShape(value))
    return value;
  Type type =
      withElementType(like.getType(), getTensorElementType(value.getType()));
  // A single unknown size follows from the others, without `like` at run time.
  auto tensor = dyn_cast<RankedTensorType>(like.getType());
  if (tensor && tensor.getNumDynamicDims() == 1 &&
      !llvm::is_contained(tensor.getShape(), 0)) {
    SmallVector<int64_t> sizes(tensor.getShape());
    llvm::replace(sizes, ShapedType::kDynamic, int64_t(-1));
    return create("Reshape", {value, ints(sizes)}, {}, type);
  }
  // Without `allowzero`, a 0 copies the size of the operand, which is wrong for
  // tensors without elements.
  SmallVector<NamedAttribute> attributes;
  if (getOpset(module, "").value_or(1) >= 14)
    attributes.push_back(attr("allowzero", int64_t(1)));
  return create("Reshape", {value, shapeOf(like)}, attributes, type);
}

Value NodeBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  return create("Transpose", {value}, attr("perm", permutation));
}

Value NodeBuilder::transposeLast(Value value) {
  int64_t rank = getRank(value).value_or(2);
  if (rank < 2)
    return value;
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return transpose(value, permutation);
}

Value NodeBuilder::unsqueeze(Value value, ArrayRef<int64_t> axes) {
  return axes.empty() ? value : create("Unsqueeze", {value, ints(axes)});
}

Value NodeBuilder::squeeze(Value value, ArrayRef<int64_t> axes) {
  return axes.empty() ? value : create("Squeeze", {value, ints(axes)});
}

Value NodeBuilder::expandLike(Value value, Value like) {
  return create(
      "Expand", {value, shapeOf(like)}, {},
      withElementType(like.getType(), getTensorElementType(value.getType())));
}

Value NodeBuilder::concat(ArrayRef<Value> values, int64_t axis) {
  return values.size() == 1 ? values.front()
                            : create("Concat", values, attr("axis", axis));
}

Value NodeBuilder::slice(Value value, int64_t axis, int64_t start,
                         int64_t end) {
  return create("Slice", {value, ints(start), ints(end), ints(axis)});
}

Value NodeBuilder::fullLike(double value, Value like) {
  return expandLike(scalarLike(value, like), like);
}

Value NodeBuilder::reduceSum(Value value, ArrayRef<int64_t> axes,
                             bool keepDims) {
  Value list = axes.empty() ? Value() : ints(axes);
  return create("ReduceSum", {value, list}, attr("keepdims", keepDims));
}

Value NodeBuilder::reduceMean(Value value, ArrayRef<int64_t> axes,
                              bool keepDims) {
  if (axes.empty())
    return create("ReduceMean", {value}, attr("keepdims", keepDims));
  Value sum = reduceSum(value, axes, keepDims);
  Type element = getTensorElementType(value.getType());
  int64_t count = 1;
  if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
    for (int64_t axis : axes) {
      int64_t size =
          tensor.getDimSize(axis < 0 ? axis + tensor.getRank() : axis);
      count = size == ShapedType::kDynamic ? 0 : count * size;
    }
  else
    count = 0;
  if (count > 0)
    return div(sum, scalar(double(count), element));
  Value product = create("ReduceProd", {gather(shapeOf(value), ints(axes), 0)},
                         attr("keepdims", int64_t(0)));
  return div(sum, castTo(product, element));
}

/// True if the operand `like` was broadcast to the shape of `value` along axis
/// `axis` of the result, counted from the last one; absent if unknown.
std::optional<bool> NodeBuilder::isBroadcast(Value like, Value other,
                                             Value value, int64_t axis) const {
  auto getAxis = [&](Value of) {
    auto type = of ? dyn_cast<RankedTensorType>(of.getType()) : nullptr;
    return std::pair(type, type ? type.getRank() - 1 - axis : -1);
  };
  auto [type, position] = getAxis(like);
  if (position < 0 || type.getDimSize(position) == 1)
    return true;
  if (!type.isDynamicDim(position))
    return false;
  auto [otherType, otherPosition] = getAxis(other);
  if (otherType &&
      (otherPosition < 0 || otherType.getDimSize(otherPosition) == 1))
    return false;
  for (Value same : {other, value})
    if (int64_t axisOfSame = getAxis(same).second;
        symbols && axisOfSame >= 0 &&
        symbols->areSame(like, position, same, axisOfSame))
      return false;
  return std::nullopt;
}

Value NodeBuilder::sumTo(Value value, Value like, Value other) {
  auto from = dyn_cast<RankedTensorType>(value.getType());
  auto to = dyn_cast<RankedTensorType>(like.getType());
  bool isKnown = from && to;
  SmallVector<int64_t> leading, inner;
  for (int64_t axis = 0; isKnown && axis < from.getRank(); ++axis) {
    int64_t position = from.getRank() - 1 - axis;
    std::optional<bool> broadcast = isBroadcast(like, other, value, axis);
    isKnown = broadcast.has_value();
    // Both sizes are 1: there is nothing to sum.
    if (isKnown && *broadcast)
      if (axis >= to.getRank() || from.getDimSize(position) != 1)
        (axis >= to.getRank() ? leading : inner).push_back(position);
  }
  if (!isKnown) {
    // Both operands have the same unknown shape: neither is broadcast.
    if (other && other == like)
      return value;
    Value axes = createNode("com.microsoft.BroadcastGradientArgs",
                            {shapeOf(like), shapeOf(value)},
                            {RankedTensorType::get({ShapedType::kDynamic},
                                                   builder.getI64Type()),
                             builder.getNoneType()})
                     ->getResult(0);
    Value sum = create("com.microsoft.ReduceSumTraining", {value, axes},
                       {attr("keepdims", int64_t(1)),
                        attr("noop_with_empty_axes", int64_t(1))},
                       withoutShape(value.getType()));
    return reshapeLike(sum, like);
  }
  std::reverse(leading.begin(), leading.end());
  std::reverse(inner.begin(), inner.end());
  if (!inner.empty())
    value = reduceSum(value, inner, /*keepDims=*/true);
  if (!leading.empty())
    value = reduceSum(value, leading, /*keepDims=*/false);
  return value;
}

} // namespace mp
