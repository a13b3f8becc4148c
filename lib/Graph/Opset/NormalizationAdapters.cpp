//===- NormalizationAdapters.cpp - Normalization upgrades -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adapters.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The product; dynamic if a factor is, or if it overflows.
static int64_t multiply(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (ShapedType::isDynamic(size) ||
        llvm::MulOverflow(product, size, product))
      return ShapedType::kDynamic;
  return product;
}

/// The type of Flatten's result.
static Type getFlatType(Type type, std::optional<int64_t> axis) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return type;
  int64_t shape[] = {ShapedType::kDynamic, ShapedType::kDynamic};
  if (tensor.hasRank() && axis) {
    int64_t rank = tensor.getRank();
    int64_t split = *axis < 0 ? *axis + rank : *axis;
    if (split >= 0 && split <= rank) {
      shape[0] = multiply(tensor.getShape().take_front(split));
      shape[1] = multiply(tensor.getShape().drop_front(split));
    }
  }
  return RankedTensorType::get(shape, tensor.getElementType());
}

static Type getVectorType(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return type;
  int64_t size =
      tensor.hasRank() ? multiply(tensor.getShape()) : ShapedType::kDynamic;
  return RankedTensorType::get({size}, tensor.getElementType());
}

/// Flattens the node's data to a matrix, split at `axis`, and restores the
/// shape of its result.
static void flattenAround(NodeEditor &editor, Attribute axis) {
  Operation *node = editor.getNode();
  Value data = editor.getOperand(0);
  auto number = dyn_cast_or_null<IntegerAttr>(axis);
  std::optional<int64_t> split;
  if (number || !axis)
    split = number ? number.getInt() : 1;
  SmallVector<NamedAttribute> attributes;
  if (axis)
    attributes.push_back(editor.getBuilder().getNamedAttr("axis", axis));
  Type flatType = getFlatType(data.getType(), split);
  Value flat = editor.create("Flatten", data, flatType, "flat", attributes);
  Value shape = editor.createShape(data, "shape");
  editor.setOperand(0, flat);
  OpResult result = node->getResult(0);
  Type type = result.getType();
  result.setType(getFlatType(type, split));
  editor.moveBehind();
  SmallVector<NamedAttribute> keepZeros;
  // Otherwise a size of zero would copy that of the operand.
  if (editor.getOpset() >= 14)
    keepZeros.push_back(editor.getBuilder().getNamedAttr(
        "allowzero", editor.getBuilder().getI64IntegerAttr(1)));
  Value back =
      editor.create("Reshape", {result, shape}, type, "unflattened", keepZeros);
  editor.replaceResult(0, back, "rows");
}

//===----------------------------------------------------------------------===//
// Softmax and related ops
//===----------------------------------------------------------------------===//

static std::string getSoftmaxObstacle(Operation *, int) { return ""; }

/// The only axis with more than one element from the node's old axis on; the
/// new op normalizes it alone. Absent if there are several.
static std::optional<int64_t> findOnlyAxis(Operation *node) {
  int64_t axis = getInt(node, "axis", 1);
  if (axis == -1)
    return axis;
  auto tensor = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
  int64_t rank = tensor ? tensor.getRank() : 0;
  int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first >= rank)
    return std::nullopt;
  std::optional<int64_t> only;
  for (int64_t index = first; index < rank; ++index) {
    if (tensor.getDimSize(index) == 1)
      continue;
    if (only)
      return std::nullopt;
    only = index;
  }
  return only.value_or(rank - 1);
}

/// Softmax-1 and -11 run over all axes from the given one on, Softmax-13 over
/// one.
static void raiseSoftmax(NodeEditor &editor) {
  Operation *node = editor.getNode();
  Attribute axis = node->getAttr("axis");
  std::optional<int64_t> only =
      isReadable(node, "axis") ? findOnlyAxis(node) : std::nullopt;
  if (only) {
    auto tensor = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
    int64_t rank = tensor ? tensor.getRank() : 0;
    int64_t now = getInt(node, "axis", -1);
    if (now != *only && (rank == 0 || now + rank != *only))
      editor.setInt("axis", *only);
    return;
  }
  flattenAround(editor, axis);
  editor.setInt("axis", -1);
}

//===----------------------------------------------------------------------===//
// BatchNormalization
//===----------------------------------------------------------------------===//

/// True if it has results other than the first, which only training uses.
static bool hasStatistics(Operation *node) {
  for (unsigned index = 1; index < node->getNumResults(); ++index)
    if (hasResult(node, index))
      return true;
  return false;
}

static std::string getSpatialObstacle(Operation *node, int) {
  if (!isReadable(node, "spatial"))
    return "attribute 'spatial' is gone";
  return getInt(node, "spatial", 1) == 0 && hasStatistics(node)
             ? "statistics of each feature are gone"
             : "";
}

/// Without `spatial`, each feature of an element is a channel.
static void raiseSpatial(NodeEditor &editor) {
  Operation *node = editor.getNode();
  bool isSpatial = getInt(node, "spatial", 1) != 0;
  node->removeAttr("spatial");
  if (isSpatial)
    return;
  Value all = editor.createInts(-1, "channels");
  static constexpr StringLiteral names[] = {"scale", "bias", "mean", "var"};
  for (auto [index, name] : llvm::enumerate(names)) {
    Value vector = editor.getOperand(index + 1);
    editor.setOperand(index + 1,
                      editor.create("Reshape", {vector, all},
                                    getVectorType(vector.getType()), name));
  }
  flattenAround(editor, {});
}

static std::string getTrainingObstacle(Operation *node, int) {
  for (unsigned index = 3; index < node->getNumResults(); ++index)
    if (!node->getResult(index).use_empty())
      return "output '" + onnxir::getValueName(node->getResult(index)).str() +
             "' (saved statistics) is gone";
  return "";
}

/// Several outputs meant training.
static void raiseTraining(NodeEditor &editor) {
  Operation *node = editor.getNode();
  unsigned results = node->getNumResults();
  if (hasStatistics(node))
    editor.setInt("training_mode", 1);
  else if (results > 1)
    return editor.recreate("BatchNormalization", 1);
  if (results > 3)
    editor.recreate("BatchNormalization", 3);
}

//===----------------------------------------------------------------------===//
// GroupNormalization
//===----------------------------------------------------------------------===//

static std::string getGroupObstacle(Operation *node, int) {
  if (!isReadable(node, "num_groups") || getInt(node, "num_groups", 0) <= 0)
    return "attribute 'num_groups' has no value";
  return getTensorElementType(node->getOperand(0).getType())
             ? ""
             : "the element type of its input is unknown";
}

/// Groups and channels in each, as a vector.
static Value createGroupShape(NodeEditor &editor, int64_t groups) {
  Value data = editor.getOperand(0);
  auto tensor = dyn_cast<RankedTensorType>(data.getType());
  if (tensor && tensor.getRank() > 1 && !tensor.isDynamicDim(1))
    return editor.createInts({groups, tensor.getDimSize(1) / groups},
                             "group_shape");
  OpBuilder &builder = editor.getBuilder();
  auto vector = [&](int64_t size) {
    return RankedTensorType::get({size}, builder.getI64Type());
  };
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  Value count = editor.createInts(groups, "groups");
  Value channels = editor.create("Shape", data, vector(1), "channels",
                                 {number("start", 1), number("end", 2)});
  Value each = editor.create("Div", {channels, count}, vector(1), "group_size");
  return editor.create("Concat", {count, each}, vector(2), "group_shape",
                       number("axis", 0));
}

/// Scale and bias are now per channel, no longer per group.
static void raiseGroup(NodeEditor &editor) {
  Operation *node = editor.getNode();
  int64_t groups = getInt(node, "num_groups", 1);
  auto data = cast<TensorType>(node->getOperand(0).getType());
  Value shape = createGroupShape(editor, groups);
  Value column = editor.createInts({-1, 1}, "column");
  Value all = editor.createInts(-1, "vector");
  for (auto [index, name] : {std::pair(1u, "scale"), std::pair(2u, "bias")}) {
    Value value = editor.getOperand(index);
    Type element = getTensorElementType(value.getType());
    if (!element)
      element = data.getElementType();
    auto type = [&](ArrayRef<int64_t> sizes) {
      return RankedTensorType::get(sizes, element);
    };
    const int64_t any = ShapedType::kDynamic;
    value = editor.create("Reshape", {value, column}, type({groups, 1}), name);
    value = editor.create("Expand", {value, shape}, type({groups, any}), name);
    int64_t channels =
        data.hasRank() && data.getRank() > 1 ? data.getDimSize(1) : any;
    editor.setOperand(
        index, editor.create("Reshape", {value, all}, type({channels}), name));
  }
  // The first version computes in the type of its data.
  if (!data.getElementType().isF32())
    editor.setInt("stash_type", int64_t(getElementKind(data.getElementType())));
}

ArrayRef<OpsetAdapter> getNormalizationAdapters() {
  static constexpr OpsetAdapter adapters[] = {
      {"BatchNormalization", 9, getSpatialObstacle, raiseSpatial},
      {"BatchNormalization", 14, getTrainingObstacle, raiseTraining},
      {"GroupNormalization", 21, getGroupObstacle, raiseGroup},
      {"Hardmax", 13, getSoftmaxObstacle, raiseSoftmax},
      {"LogSoftmax", 13, getSoftmaxObstacle, raiseSoftmax},
      {"Softmax", 13, getSoftmaxObstacle, raiseSoftmax},
  };
  return adapters;
}

} // namespace mp
