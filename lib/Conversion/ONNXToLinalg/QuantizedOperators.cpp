//===- QuantizedOperators.cpp - com.microsoft's in ONNX's -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// QLinearX becomes X between DequantizeLinear and QuantizeLinear; in the end,
// one loop computes all three. Products are of integers, and exact.
//
//===----------------------------------------------------------------------===//

#include "QuantizedOperators.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Between integers and floats
//===----------------------------------------------------------------------===//

/// Dequantizes operand `index`; its scale and zero point are the next operands.
static Value dequantize(NodeDecomposition &node, unsigned index) {
  return node.b.create("DequantizeLinear", {node.in(index), node.in(index + 1),
                                            node.in(index + 2)});
}

/// Quantizes `value` with operand `scale` and the zero point after it, to the
/// integer type of operand `like`.
static Value quantize(NodeDecomposition &node, Value value, unsigned scale,
                      unsigned like) {
  Value zero = node.in(scale + 1);
  if (!zero)
    zero = node.b.scalarLike(0, node.in(like));
  return node.b.create("QuantizeLinear", {value, node.in(scale), zero});
}

/// The operator on floats that QLinearX corresponds to.
static StringRef getFloatOp(NodeDecomposition &node) {
  StringRef op = node.getOpType();
  op.consume_front("QLinear");
  return op;
}

/// The node's attributes, except for those in `dropped`.
static SmallVector<NamedAttribute>
getAttributes(NodeDecomposition &node, ArrayRef<StringRef> dropped = {}) {
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute entry : node.getNode()->getDiscardableAttrs()) {
    StringRef name = entry.getName().strref();
    if (!name.contains('.') && !llvm::is_contained(dropped, name))
      attributes.push_back(entry);
  }
  return attributes;
}

/// The axes of an image with its channels last, and the reverse.
static SmallVector<int64_t> getImageOrder(int64_t rank, bool toLast) {
  SmallVector<int64_t> order = {0};
  if (!toLast)
    order.push_back(rank - 1);
  for (int64_t axis = toLast ? 2 : 1; axis < (toLast ? rank : rank - 1); ++axis)
    order.push_back(axis);
  if (toLast)
    order.push_back(1);
  return order;
}

/// Operand 0 with its channels first, as in ONNX; null after an error.
static Value getImage(NodeDecomposition &node) {
  if (!node.getFlag("channels_last"))
    return node.in(0);
  std::optional<int64_t> rank = NodeBuilder::getRank(node.in(0));
  if (rank && *rank > 2)
    return node.b.transpose(node.in(0), getImageOrder(*rank, false));
  (void)node.fail("an image whose number of axes is unknown, or less than 3");
  return {};
}

/// Restores the operand's order of axes in the result.
static void replaceImage(NodeDecomposition &node, Value value) {
  if (node.getFlag("channels_last"))
    value = node.b.transpose(
        value, getImageOrder(*NodeBuilder::getRank(node.in(0)), true));
  node.replace(value);
}

//===----------------------------------------------------------------------===//
// Operators on floats
//===----------------------------------------------------------------------===//

/// (x, scale, zero, y_scale, y_zero)
static LogicalResult unaryRule(NodeDecomposition &node) {
  Value value = node.b.create(getFloatOp(node), {dequantize(node, 0)},
                              getAttributes(node));
  node.replace(quantize(node, value, 3, 0));
  return success();
}

/// (a, scale, zero, b, scale, zero, y_scale, y_zero)
static LogicalResult binaryRule(NodeDecomposition &node) {
  Value value = node.b.create(getFloatOp(node),
                              {dequantize(node, 0), dequantize(node, 3)});
  node.replace(quantize(node, value, 6, 0));
  return success();
}

/// (condition, x, scale, zero, y, scale, zero, z_scale, z_zero)
static LogicalResult whereRule(NodeDecomposition &node) {
  Value value =
      node.b.where(node.in(0), dequantize(node, 1), dequantize(node, 4));
  node.replace(quantize(node, value, 7, 1));
  return success();
}

/// (y_scale, y_zero, then x, scale and zero of each part)
static LogicalResult concatRule(NodeDecomposition &node) {
  unsigned count = node.getNumOperands();
  if (count < 5 || count % 3 != 2)
    return node.fail(
        "found " + Twine(count) +
        " operands, expected three for each part after the first two");
  SmallVector<Value> parts;
  for (unsigned index = 2; index < count; index += 3)
    parts.push_back(dequantize(node, index));
  Value value = node.b.create("Concat", parts, getAttributes(node));
  node.replace(quantize(node, value, 0, 2));
  return success();
}

static LogicalResult poolRule(NodeDecomposition &node) {
  Value image = getImage(node);
  if (!image)
    return failure();
  Value value =
      node.b.create("DequantizeLinear", {image, node.in(1), node.in(2)});
  value = node.b.create(getFloatOp(node), {value},
                        getAttributes(node, {"channels_last"}));
  replaceImage(node, quantize(node, value, 3, 0));
  return success();
}

static LogicalResult reduceMeanRule(NodeDecomposition &node) {
  SmallVector<int64_t> axes = node.getInts("axes");
  SmallVector<Value> operands = {dequantize(node, 0)};
  // Opset 18 turned the attribute into an operand.
  bool isOperand = getOpset(node.getNode(), "").value_or(0) >= 18;
  if (isOperand && !axes.empty())
    operands.push_back(node.b.ints(axes));
  SmallVector<StringRef> dropped;
  if (isOperand)
    dropped.push_back("axes");
  Value value =
      node.b.create("ReduceMean", operands, getAttributes(node, dropped));
  node.replace(quantize(node, value, 3, 0));
  return success();
}

/// Before opset 13, a softmax covered all axes from `axis` on, which is the
/// same for the last axis.
static LogicalResult softmaxRule(NodeDecomposition &node) {
  std::optional<int64_t> rank = NodeBuilder::getRank(node.in(0));
  int64_t opset = node.getInt("opset", 13);
  // The default axis follows onnxruntime, not the operator's schema.
  int64_t axis = node.states("axis") ? node.axis() : opset < 13 ? 1 : -1;
  bool isLast = axis == -1 || (rank && axis == *rank - 1);
  if (!isLast && (opset < 13 || getOpset(node.getNode(), "").value_or(0) < 13))
    return node.fail("its axis is " + Twine(axis) +
                     ", expected the last one before opset 13");
  Value value = node.b.create("Softmax", {dequantize(node, 0)},
                              node.b.attr("axis", isLast ? -1 : axis));
  node.replace(quantize(node, value, 3, 0));
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// 32-bit sums times both scales.
static Value rescale(NodeDecomposition &node, Value sums, Value scaleA,
                     Value scaleB) {
  Value factor = node.b.mul(scaleA, scaleB);
  return node.b.mul(node.b.castLike(sums, factor), factor);
}

/// (a, scale, zero, b, scale, zero, c, y_scale, y_zero). c has 32 bits; without
/// y_scale, the result is floats.
static LogicalResult gemmRule(NodeDecomposition &node) {
  auto operand = [&](unsigned index, StringRef transposes) {
    return node.getFlag(transposes) ? node.b.transpose(node.in(index), {1, 0})
                                    : node.in(index);
  };
  Value sums = node.b.create(
      "MatMulInteger",
      {operand(0, "transA"), operand(3, "transB"), node.in(2), node.in(5)});
  if (node.has(6))
    sums = node.b.add(sums, node.in(6));
  Value value = rescale(node, sums, node.in(1), node.in(4));
  double alpha = node.getFloat("alpha");
  if (alpha != 1)
    value = node.b.scale(value, alpha);
  node.replace(node.has(7) ? quantize(node, value, 7, 0) : value);
  return success();
}

/// (a, b, a_scale, b_scale, a_zero, b_zero, bias)
static LogicalResult matmulToFloatRule(NodeDecomposition &node) {
  Value sums = node.b.create("MatMulInteger",
                             {node.in(0), node.in(1), node.in(4), node.in(5)});
  Value value = rescale(node, sums, node.in(2), node.in(3));
  node.replace(node.has(6) ? node.b.add(value, node.in(6)) : value);
  return success();
}

/// (a, b, b_scale, b_zero, bias); a is of floats.
static LogicalResult dynamicMatmulRule(NodeDecomposition &node) {
  Operation *quantized = node.b.createNode(
      "DynamicQuantizeLinear", {node.in(0)}, {Type(), Type(), Type()});
  Value sums =
      node.b.create("MatMulInteger", {quantized->getResult(0), node.in(1),
                                      quantized->getResult(2), node.in(3)});
  Value value = rescale(node, sums, quantized->getResult(1), node.in(2));
  node.replace(node.has(4) ? node.b.add(value, node.in(4)) : value);
  return success();
}

/// ONNX's operator of the name, which has the same operands.
static LogicalResult sameRule(NodeDecomposition &node) {
  Value image = getImage(node);
  if (!image)
    return failure();
  SmallVector<Value> operands = {image};
  for (unsigned index = 1; index < node.getNumOperands(); ++index)
    operands.push_back(node.in(index));
  replaceImage(node, node.b.create(node.getOpType(), operands,
                                   getAttributes(node, {"channels_last"})));
  return success();
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

/// The 4-bit numbers in the last axis of `packed` (bytes), the first one in the
/// lowest bits, as floats: quotients of powers of two are exact.
static Value unpackNibbles(NodeBuilder &b, Value packed, Type type,
                           ArrayRef<int64_t> shape) {
  Value bytes = b.castTo(packed, type);
  Value high = b.create("Floor", {b.scale(bytes, 1.0 / 16)});
  Value low = b.sub(bytes, b.scale(high, 16));
  Value pairs = b.concat(
      {b.reshape(low, b.ints({-1, 1})), b.reshape(high, b.ints({-1, 1}))}, 1);
  return b.reshape(pairs, b.ints(shape));
}

/// (a, b, scales, zero_points, g_idx, bias): the weight is [N, K] in blocks
/// along K, each with a scale.
static LogicalResult nbitsRule(NodeDecomposition &node) {
  NodeBuilder &b = node.b;
  int64_t k = node.getInt("K"), n = node.getInt("N");
  int64_t block = node.getInt("block_size"), bits = node.getInt("bits");
  constexpr int64_t most = int64_t(1) << 31;
  if (k < 1 || n < 1 || block < 2 || block % 2 ||
      std::max({k, n, block}) > most)
    return node.fail("found K = " + Twine(k) + ", N = " + Twine(n) +
                     " and blocks of " + Twine(block));
  if (bits != 4 || node.has(4))
    return node.fail("only weights of 4 bits in their order can be compiled");
  int64_t blocks = llvm::divideCeil(k, block);
  Type type = Float32Type::get(b.getContext());
  Value weight = unpackNibbles(b, node.in(1), type, {n, blocks, block});
  Value zero = b.scalar(8, type);
  if (node.has(3)) {
    Type element = getTensorElementType(node.in(3).getType());
    int64_t pairs = llvm::divideCeil(blocks, 2);
    zero = element && element.isInteger(8)
               ? b.slice(unpackNibbles(b, node.in(3), type, {n, 2 * pairs}), 1,
                         0, blocks)
               : b.castTo(node.in(3), type);
    zero = b.reshape(zero, b.ints({n, blocks, 1}));
  }
  Value scales = b.reshape(b.castTo(node.in(2), type), b.ints({n, blocks, 1}));
  weight = b.mul(b.sub(weight, zero), scales);
  weight = b.slice(b.reshape(weight, b.ints({n, blocks * block})), 1, 0, k);
  weight = b.castLike(b.transpose(weight, {1, 0}), node.in(0));
  Value value = b.matmul(node.in(0), weight);
  node.replace(node.has(5) ? b.add(value, node.in(5)) : value);
  return success();
}

const Decomposition *findQuantizedDecomposition(Operation *node) {
  static const Decomposition table[] = {
      {"com.microsoft.DequantizeLinear", sameRule},
      {"com.microsoft.DynamicQuantizeMatMul", dynamicMatmulRule},
      {"com.microsoft.MatMulIntegerToFloat", matmulToFloatRule},
      {"com.microsoft.MatMulNBits", nbitsRule},
      {"com.microsoft.QGemm", gemmRule},
      {"com.microsoft.QLinearAdd", binaryRule},
      {"com.microsoft.QLinearAveragePool", poolRule},
      {"com.microsoft.QLinearConcat", concatRule},
      {"com.microsoft.QLinearConv", sameRule},
      {"com.microsoft.QLinearGlobalAveragePool", poolRule},
      {"com.microsoft.QLinearLeakyRelu", unaryRule},
      {"com.microsoft.QLinearMul", binaryRule},
      {"com.microsoft.QLinearReduceMean", reduceMeanRule},
      {"com.microsoft.QLinearSigmoid", unaryRule},
      {"com.microsoft.QLinearSoftmax", softmaxRule},
      {"com.microsoft.QLinearWhere", whereRule},
      {"com.microsoft.QuantizeLinear", sameRule},
  };
  static const llvm::StringMap<const Decomposition *> byName = [] {
    llvm::StringMap<const Decomposition *> made;
    for (const Decomposition &entry : table)
      made[entry.op] = &entry;
    return made;
  }();
  return byName.lookup(getQualifiedName(getDomain(node), getOpType(node)));
}

} // namespace mp
