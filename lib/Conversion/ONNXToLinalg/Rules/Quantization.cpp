//===- Quantization.cpp - Integers that stand for floats ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of 8-bit integers are summed up in 32 bits, exactly.
//
//===----------------------------------------------------------------------===//

#include "../Contractions.h"
#include "../Convolutions.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// QuantizeLinear, DequantizeLinear
//===----------------------------------------------------------------------===//

/// Reshapes a scale or zero point to broadcast to `x`: one for all elements,
/// for each index of `axis`, or for each block of them.
static FailureOr<TensorValue> spreadParameter(NodeLowering &node, TensorValue x,
                                              unsigned index) {
  Emitter &e = node.e;
  TensorValue value = node.in(index);
  Sizes sizes = e.sizes(value), all = e.sizes(x);
  if (value.getRank() == 0)
    return value;
  if (value.getRank() == 1 && Emitter::isConstant(sizes[0], 1))
    return e.reshape(value, {});
  auto axis = node.normalizeAxis(node.getInt("axis", 1), x.getRank());
  if (failed(axis))
    return failure();
  int64_t block = node.getInt("block_size");
  auto expect = [&](Size have, Size want) {
    if (have != want)
      e.check(node.s.compare(Scalars::EQ, e.index(have), e.index(want)),
              "operand #" + Twine(index) + " has the size %0, expected %1",
              have, want);
  };
  if (value.getRank() == 1 && block <= 0) {
    expect(sizes[0], all[*axis]);
    sizes.append(x.getRank() - 1 - *axis, e.size(1));
    return e.reshape(value, sizes);
  }
  if (value.getRank() != x.getRank() || block <= 0) {
    (void)node.fail("operand #" + Twine(index) + " has " +
                    Twine(value.getRank()) + " axes, expected 0 or 1");
    return failure();
  }
  for (int64_t i = 0; i < x.getRank(); ++i)
    expect(sizes[i], i == *axis ? e.ceilDiv(all[i], e.size(block)) : all[i]);
  return e.generate(all, value.element, [&](ValueRange indices) {
    SmallVector<Value> place(indices);
    place[*axis] = e.index(e.floorDiv(indices[*axis], e.size(block)));
    return e.load(value, place);
  });
}

/// `value` rounded to an integer, with ties to even, plus the zero point (null
/// for 0), in the storage of `element`. Values out of range saturate.
static Value quantize(Scalars &s, Value value, Value zeroPoint, Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  Value rounded = math::RoundEvenOp::create(s.b, s.loc, value);
  if (zeroPoint)
    rounded = s.add(rounded, zeroPoint);
  double low = isUnsigned ? 0 : double(llvm::minIntN(width));
  double high =
      isUnsigned ? double(llvm::maxUIntN(width)) : double(llvm::maxIntN(width));
  rounded = s.min(s.max(rounded, s.like(value, low)), s.like(value, high));
  return s.convert(rounded, value.getType(), element);
}

static bool isNarrowInteger(Type element) {
  return isa<IntegerType>(element) && element.getIntOrFloatBitWidth() <= 16;
}

static LogicalResult quantizeRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  Type element = node.outElement();
  if (!isNarrowInteger(element))
    return node.fail("only 8-bit and 16-bit integers can be compiled");
  auto scale = spreadParameter(node, x, 1);
  if (failed(scale))
    return failure();
  SmallVector<TensorValue> operands = {x, *scale};
  if (node.has(2)) {
    auto zeroPoint = spreadParameter(node, x, 2);
    if (failed(zeroPoint))
      return failure();
    operands.push_back(*zeroPoint);
  }
  Type type = e.b.getF32Type();
  node.set(e.map(element, operands, [&](ValueRange values) {
    Value quotient = s.div(s.convert(values[0], x.element, type),
                           s.convert(values[1], scale->element, type));
    Value zero = values.size() > 2
                     ? s.convert(values[2], operands[2].element, type)
                     : Value();
    return quantize(s, quotient, zero, element);
  }));
  return success();
}

static LogicalResult dequantizeRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  auto scale = spreadParameter(node, x, 1);
  if (failed(scale))
    return failure();
  SmallVector<TensorValue> operands = {x, *scale};
  if (node.has(2)) {
    auto zeroPoint = spreadParameter(node, x, 2);
    if (failed(zeroPoint))
      return failure();
    operands.push_back(*zeroPoint);
  }
  Type type = e.b.getF32Type();
  node.set(e.map(node.outElement(), operands, [&](ValueRange values) {
    Value value = s.convert(values[0], x.element, type);
    if (values.size() > 2)
      value = s.sub(value, s.convert(values[2], operands[2].element, type));
    value = s.mul(value, s.convert(values[1], scale->element, type));
    return s.convert(value, type, node.outElement());
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// A parameter of the rows (of a left operand) or columns: a scalar, a vector
/// of one for each, or of the operand's rank already.
static FailureOr<TensorValue> alongMatrix(NodeLowering &node, unsigned index,
                                          TensorValue matrix, bool ofRows) {
  Emitter &e = node.e;
  TensorValue value = node.in(index);
  Sizes sizes = e.sizes(value);
  if (sizes.size() == 1 && Emitter::isConstant(sizes[0], 1))
    return e.reshape(value, {});
  if (sizes.size() == 1 && ofRows && matrix.getRank() > 1)
    return e.reshape(value, {sizes[0], e.size(1)});
  if (value.getRank() > matrix.getRank()) {
    (void)node.fail("operand #" + Twine(index) + " has " +
                    Twine(value.getRank()) + " axes, expected at most " +
                    Twine(matrix.getRank()));
    return failure();
  }
  return value;
}

/// `x` less its zero point (null for 0) as 32-bit integers.
static TensorValue center(Emitter &e, TensorValue x, TensorValue zeroPoint) {
  Type type = e.b.getI32Type();
  if (!zeroPoint)
    return e.cast(x, type);
  return e.map(type, {x, zeroPoint}, [&](ValueRange values) {
    return e.s.sub(e.s.convert(values[0], x.element, type),
                   e.s.convert(values[1], zeroPoint.element, type));
  });
}

/// The product of a (operand 0) and b as 32-bit integers, less zero points.
static FailureOr<TensorValue> multiply(NodeLowering &node, unsigned b,
                                       unsigned zeroOfA, unsigned zeroOfB) {
  TensorValue left = node.in(0), right = node.in(b), zeroA, zeroB;
  if (node.has(zeroOfA)) {
    auto zero = alongMatrix(node, zeroOfA, left, /*ofRows=*/true);
    if (failed(zero))
      return failure();
    zeroA = *zero;
  }
  if (node.has(zeroOfB)) {
    auto zero = alongMatrix(node, zeroOfB, right, /*ofRows=*/false);
    if (failed(zero))
      return failure();
    zeroB = *zero;
  }
  MatrixProduct product;
  product.a = center(node.e, left, zeroA);
  product.b = center(node.e, right, zeroB);
  product.element = node.e.b.getI32Type();
  return product.emit(node);
}

static LogicalResult matmulIntegerRule(NodeLowering &node) {
  auto product = multiply(node, 1, 2, 3);
  if (failed(product))
    return failure();
  node.set(*product);
  return success();
}

/// `sums` (32-bit integers) times scales of both operands, over the result's
/// scale, quantized by its zero point.
static TensorValue requantize(NodeLowering &node, TensorValue sums,
                              TensorValue scaleA, TensorValue scaleB,
                              TensorValue scale, TensorValue zeroPoint) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type type = e.b.getF32Type(), element = node.outElement();
  SmallVector<TensorValue> operands = {sums, scaleA, scaleB, scale};
  if (zeroPoint)
    operands.push_back(zeroPoint);
  return e.map(element, operands, [&](ValueRange values) {
    SmallVector<Value> floats;
    for (auto [value, operand] : llvm::zip(values, operands))
      floats.push_back(s.convert(value, operand.element, type));
    Value factor = s.div(s.mul(floats[1], floats[2]), floats[3]);
    return quantize(s, s.mul(floats[0], factor),
                    zeroPoint ? floats[4] : Value(), element);
  });
}

/// (a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
static LogicalResult qlinearMatmulRule(NodeLowering &node) {
  if (!isNarrowInteger(node.outElement()) || node.in(0).isFloat() ||
      node.in(3).isFloat())
    return node.fail("only 8-bit and 16-bit integers can be compiled");
  auto product = multiply(node, 3, 2, 5);
  auto scaleA = alongMatrix(node, 1, node.in(0), /*ofRows=*/true);
  auto scaleB = alongMatrix(node, 4, node.in(3), /*ofRows=*/false);
  if (failed(product) || failed(scaleA) || failed(scaleB))
    return failure();
  auto scale = alongMatrix(node, 6, *product, /*ofRows=*/true);
  auto zero = alongMatrix(node, 7, *product, /*ofRows=*/true);
  if (failed(scale) || failed(zero))
    return failure();
  node.set(requantize(node, *product, *scaleA, *scaleB, *scale, *zero));
  return success();
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// A scalar, or a vector of one for each of the result's channels, along
/// `axis` of a tensor of `rank` axes.
static FailureOr<TensorValue> alongFilters(NodeLowering &node, unsigned index,
                                           int64_t rank, int64_t axis) {
  Emitter &e = node.e;
  TensorValue value = node.in(index);
  Sizes sizes = e.sizes(value);
  if (value.getRank() > 1) {
    (void)node.fail("operand #" + Twine(index) + " has " +
                    Twine(value.getRank()) + " axes, expected 0 or 1");
    return failure();
  }
  if (sizes.empty() || Emitter::isConstant(sizes[0], 1))
    return e.reshape(value, {});
  sizes.append(rank - 1 - axis, e.size(1));
  return e.reshape(value, sizes);
}

/// The convolution of image (operand 0) and weight (operand `filter`) as
/// 32-bit integers, less zero points.
static FailureOr<TensorValue> convolve(NodeLowering &node, unsigned filter,
                                       unsigned zeroOfImage,
                                       unsigned zeroOfWeight) {
  Emitter &e = node.e;
  TensorValue image = node.in(0), weight = node.in(filter), zeroX, zeroW;
  auto convolution = readConvolution(node, image, weight);
  if (failed(convolution))
    return failure();
  if (node.has(zeroOfImage)) {
    if (!Emitter::isConstant(e.product(e.sizes(node.in(zeroOfImage))), 1)) {
      (void)node.fail("operand #" + Twine(zeroOfImage) + " is not a scalar");
      return failure();
    }
    zeroX = e.reshape(node.in(zeroOfImage), {});
  }
  if (node.has(zeroOfWeight)) {
    auto zero = alongFilters(node, zeroOfWeight, weight.getRank(), 0);
    if (failed(zero))
      return failure();
    zeroW = *zero;
  }
  convolution->element = e.b.getI32Type();
  return convolution->forward(center(e, image, zeroX), center(e, weight, zeroW),
                              TensorValue());
}

static LogicalResult convIntegerRule(NodeLowering &node) {
  auto result = convolve(node, 1, 2, 3);
  if (failed(result))
    return failure();
  node.set(*result);
  return success();
}

/// (x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias)
static LogicalResult qlinearConvRule(NodeLowering &node) {
  Emitter &e = node.e;
  if (!isNarrowInteger(node.outElement()))
    return node.fail("only 8-bit and 16-bit integers can be compiled");
  auto sums = convolve(node, 3, 2, 5);
  if (failed(sums))
    return failure();
  int64_t rank = sums->getRank();
  SmallVector<TensorValue> parameters;
  for (unsigned index : {1, 4, 6, 7}) {
    auto parameter = alongFilters(node, index, rank, 1);
    if (failed(parameter))
      return failure();
    parameters.push_back(*parameter);
  }
  if (node.has(8)) {
    auto bias = alongFilters(node, 8, rank, 1);
    if (failed(bias))
      return failure();
    sums = e.map(sums->element, {*sums, *bias}, [&](ValueRange values) {
      return node.s.add(values[0], values[1]);
    });
  }
  node.set(requantize(node, *sums, parameters[0], parameters[1], parameters[2],
                      parameters[3]));
  return success();
}

ArrayRef<LoweringRule> getQuantizationLowerings() {
  static const LoweringRule rules[] = {
      {"ConvInteger", convIntegerRule},
      {"DequantizeLinear", dequantizeRule},
      {"MatMulInteger", matmulIntegerRule},
      {"QLinearConv", qlinearConvRule},
      {"QLinearMatMul", qlinearMatmulRule},
      {"QuantizeLinear", quantizeRule},
  };
  return rules;
}

} // namespace mp
