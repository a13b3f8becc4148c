//===- Normalization.cpp - Softmax and normalizations ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

/// Before opset 13, of what is flattened to two dimensions at `axis`.
static LogicalResult softmax(NodeLowering &node, bool isLog) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue x = node.in(0);
  bool isFlat = node.getVersion() < 13;
  auto axis =
      node.normalizeAxis(getInt(node.getNode(), "axis", isFlat ? 1 : -1),
                         std::max<int64_t>(x.getRank(), 1));
  if (failed(axis))
    return failure();
  SmallVector<int64_t> axes = {*axis};
  if (isFlat)
    axes = llvm::to_vector(llvm::seq<int64_t>(*axis, x.getRank()));
  Type type = getComputeType(x.element);
  TensorValue greatest =
      e.reduce(x, axes, true, type, s.constant(type, -INFINITY),
               [&](Value value, Value high) { return s.max(high, value); });
  TensorValue powers = e.map(type, {x, greatest}, [&](ValueRange values) {
    return s.exp(s.sub(values[0], values[1]));
  });
  TensorValue sums =
      e.reduce(powers, axes, true, type, s.constant(type, 0),
               [&](Value value, Value total) { return s.add(total, value); });
  if (isLog) {
    node.set(e.map(node.outElement(), {x, greatest, sums}, [&](ValueRange v) {
      return s.sub(s.sub(v[0], v[1]), s.log(v[2]));
    }));
    return success();
  }
  node.set(e.map(node.outElement(), {powers, sums},
                 [&](ValueRange v) { return s.div(v[0], v[1]); }));
  return success();
}

static LogicalResult softmaxRule(NodeLowering &node) {
  return softmax(node, false);
}
static LogicalResult logSoftmaxRule(NodeLowering &node) {
  return softmax(node, true);
}

ArrayRef<LoweringRule> getNormalizationRules() {
  static const LoweringRule rules[] = {
      {"LogSoftmax", logSoftmaxRule},
      {"Softmax", softmaxRule},
  };
  return rules;
}

} // namespace mp
