//===- Training.cpp - Buffers that training graphs write to ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// onnxruntime's training graphs add gradients to graph inputs in place. Here
// such an input NAME has its next value in a further output, NAME_new.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

/// old + gradient, rounded once; or the gradient alone if the flag is set.
static TensorValue addGradient(NodeLowering &node, Value beginsAnew) {
  Scalars &s = node.s;
  TensorValue old = node.in(0), gradient = node.in(1);
  return node.e.map(old.element, {old, gradient}, [&](ValueRange v) {
    Value more = s.convert(v[1], gradient.element, old.element);
    Value sum = s.add(v[0], more);
    return beginsAnew ? s.select(beginsAnew, more, sum) : sum;
  });
}

/// InPlaceAccumulatorV2(buffer, gradient, overwrite): a flag that it is done,
/// and the buffer.
static LogicalResult accumulateInPlaceRule(NodeLowering &node) {
  Emitter &e = node.e;
  Value beginsAnew;
  if (node.has(2)) {
    FailureOr<Value> flag = loadScalar(node, 2);
    if (failed(flag))
      return failure();
    beginsAnew = *flag;
  }
  TensorValue sum = addGradient(node, beginsAnew);
  node.set(1, sum);
  node.set(0, e.full(e.size(1), node.outElement(), 1.0));
  return node.update(0, sum);
}

/// InPlaceAccumulator(buffer, gradient, update): the buffer is kept if the flag
/// says so.
static LogicalResult accumulateRule(NodeLowering &node) {
  Scalars &s = node.s;
  TensorValue sum = addGradient(node, {});
  if (node.has(2)) {
    FailureOr<Value> flag = loadScalar(node, 2);
    if (failed(flag))
      return failure();
    sum = node.e.map(sum.element, {node.in(0), sum},
                     [&](ValueRange v) { return s.select(*flag, v[1], v[0]); });
  }
  node.set(sum);
  return success();
}

ArrayRef<LoweringRule> getTrainingLowerings() {
  static const LoweringRule rules[] = {
      {"com.microsoft.InPlaceAccumulator", accumulateRule},
      {"com.microsoft.InPlaceAccumulatorV2", accumulateInPlaceRule},
  };
  return rules;
}

} // namespace mp
