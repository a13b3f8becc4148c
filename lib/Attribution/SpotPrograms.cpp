//===- SpotPrograms.cpp - Roundings, and their effects, in a graph --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Attribution/SpotPrograms.h"

#include "mp-opt/Attribution/RoundingSpots.h"
#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Training/LossScaling.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// Replaces all outputs.
static void setOutputs(GraphOp graph, ArrayRef<Value> values) {
  GraphEditor editor(graph);
  YieldOp yield = editor.getYield();
  unsigned others = yield->getNumOperands();
  editor.addOutputs(values);
  auto described = yield->getAttrOfType<ArrayAttr>(attr::outputs);
  yield->setAttr(attr::outputs,
                 ArrayAttr::get(graph.getContext(),
                                described.getValue().drop_front(others)));
  yield->setOperands(values);
}

MeasuredOutputs keepMeasuredOutputs(ModuleOp module) {
  GraphOp graph = getMainGraph(module);
  NodeBuilder builder(module);
  builder.setInsertionPointToEnd(&graph.getBody().front());
  builder.setBase("measured");
  MeasuredOutputs measured;
  llvm::SetVector<Value> sources;
  for (OpOperand *gradient : findTraining(graph).gradients)
    sources.insert(gradient->get());
  measured.areGradients = !sources.empty();
  if (sources.empty())
    for (Value output : getYield(graph.getBody())->getOperands())
      if (isDifferentiable(output))
        sources.insert(output);
  SmallVector<Value> values;
  for (Value source : sources) {
    // An output that is an input needs a node of its own.
    Value value =
        isF32Tensor(source.getType())
            ? builder.create("Identity", {source}, {}, source.getType())
            : builder.castTo(source, builder.getBuilder().getF32Type());
    values.push_back(value);
    measured.names.push_back(getValueName(source).str());
  }
  setOutputs(graph, values);
  builder.eraseUnused(graph.getBody().front());
  return measured;
}

//===----------------------------------------------------------------------===//
// Roundings
//===----------------------------------------------------------------------===//

/// The value rounded to 16 bit, as fp32.
static Value roundTo(NodeBuilder &b, Operation *marker, ElementKind kind) {
  Value value = marker->getOperand(0);
  if (auto bound = marker->getAttrOfType<FloatAttr>(mark::clamp)) {
    double most = bound.getValueAsDouble();
    value = b.create("Max", {value, b.scalarLike(-most, value)});
    value = b.create("Min", {value, b.scalarLike(most, value)});
  }
  Value narrow = b.castTo(value, getElementType(b.getContext(), kind));
  return b.castLike(narrow, value);
}

std::string addRoundings(ModuleOp module, unsigned numMarkers,
                         ElementKind kind) {
  NodeBuilder b(module);
  GraphEditor editor(getMainGraph(module));
  std::string name = b.getNames().getValueName("rounding_scales").str();
  Value scales = editor.addInput(
      name, RankedTensorType::get({int64_t(numMarkers)},
                                  Float32Type::get(module.getContext())));
  for (auto [number, marker] :
       llvm::enumerate(findMarkers(module, numMarkers))) {
    if (!marker)
      continue;
    b.setInsertionPointAfter(marker);
    b.setBase("rounding");
    Value value = marker->getOperand(0);
    Value scale = b.gather(scales, b.intScalar(int64_t(number)), 0);
    Value isRounded = b.create("Greater", {scale, b.scalarLike(0, scale)});
    Value target = b.where(isRounded, roundTo(b, marker, kind), value);
    // An infinite element minus itself is not zero.
    Value isSame = b.create("Equal", {target, value});
    Value moved = b.add(value, b.mul(b.sub(target, value), scale));
    marker->getResult(0).replaceAllUsesWith(b.where(isSame, value, moved));
    b.getTypes().forget(marker);
    marker->erase();
  }
  return name;
}

//===----------------------------------------------------------------------===//
// Error terms
//===----------------------------------------------------------------------===//

/// The greatest magnitude that is finite in 16 bit. Of bf16, rounding is left
/// out that would exceed fp32.
static double getGreatest(ElementKind kind) {
  return kind == ElementKind::Float16 ? 65519 : 3.38e38;
}

/// What rounding changes: r(x) - x, and 10^12 x beyond the greatest number. An
/// element that is infinite counts as a finite one: what does not depend on it
/// has the derivative zero.
static Value getResidual(NodeBuilder &b, Operation *marker, ElementKind kind) {
  Value value = marker->getOperand(0);
  Value rounded = b.sub(roundTo(b, marker, kind), value);
  Value isInside = b.create("Less", {b.create("Abs", {value}),
                                     b.scalarLike(getGreatest(kind), value)});
  Value bound = b.scalarLike(1e18, value);
  Value finite = b.create(
      "Max", {b.create("Min", {value, bound}), b.scalarLike(-1e18, value)});
  return b.where(isInside, rounded, b.scale(finite, 1e12));
}

FailureOr<ErrorTerms> addErrorTerms(ModuleOp module, unsigned numMarkers,
                                    ElementKind kind) {
  NodeBuilder b(module);
  GraphOp graph = getMainGraph(module);
  GraphEditor editor(graph);
  std::vector<Operation *> markers = findMarkers(module, numMarkers);
  ErrorTerms terms;
  DifferentiationRequest request;
  request.block = &editor.getBlock();
  for (Value output : getYield(graph.getBody())->getOperands()) {
    terms.probes.push_back(b.getNames().getValueName("probe").str());
    request.seeds.emplace_back(
        output, editor.addInput(terms.probes.back(), output.getType()));
  }
  for (Operation *marker : markers)
    if (marker)
      request.wanted.push_back(marker->getResult(0));
  b.setInsertionPointToEnd(&editor.getBlock());
  FailureOr<Gradients> gradients = differentiate(b, request);
  if (failed(gradients))
    return failure();
  SmallVector<Value> sums;
  for (Operation *marker : markers) {
    Value adjoint = marker ? gradients->lookup(marker->getResult(0)) : Value();
    if (!adjoint) {
      b.setInsertionPointToEnd(&editor.getBlock());
      sums.push_back(b.unsqueeze(b.scalar(0, b.getBuilder().getF32Type()), 0));
      continue;
    }
    // The sum is computed at once: both values need not be kept.
    if (Operation *definer = adjoint.getDefiningOp())
      b.setInsertionPointAfter(definer);
    b.setBase("error_term");
    Value effect = b.mul(adjoint, getResidual(b, marker, kind));
    sums.push_back(
        b.reshape(b.create("ReduceSumSquare", {effect}, b.attr("keepdims", 0)),
                  ArrayRef<int64_t>{1}));
  }
  b.setInsertionPointToEnd(&editor.getBlock());
  setOutputs(graph, b.concat(sums, 0));
  for (Operation *marker : markers)
    if (marker) {
      marker->getResult(0).replaceAllUsesWith(marker->getOperand(0));
      b.getTypes().forget(marker);
      marker->erase();
    }
  return terms;
}

} // namespace mp
