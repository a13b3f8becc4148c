//===- SpotPrograms.cpp - Roundings, and their effects, in a graph --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Attribution/SpotPrograms.h"

#include "Kinks.h"
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

/// Erases nodes whose results nobody reads; defaults of inputs have no readers.
static void eraseUnread(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && op.getNumResults() && !isa<InitializerOp>(op))
      op.erase();
}

/// The values before they become outputs.
static llvm::SetVector<Value> findMeasured(GraphOp graph, StringRef metric,
                                           bool &areGradients) {
  llvm::SetVector<Value> sources;
  if (metric.empty())
    for (OpOperand *gradient : findTraining(graph).gradients)
      sources.insert(gradient->get());
  areGradients = !sources.empty();
  if (sources.empty())
    for (Value output : getYield(graph.getBody())->getOperands())
      if (isDifferentiable(output) &&
          (metric.empty() || getValueName(output) == metric))
        sources.insert(output);
  return sources;
}

MeasuredOutputs keepMeasuredOutputs(ModuleOp module, StringRef metric) {
  GraphOp graph = getMainGraph(module);
  NodeBuilder builder(module);
  builder.setInsertionPointToEnd(&graph.getBody().front());
  builder.setBase("measured");
  MeasuredOutputs measured;
  llvm::SetVector<Value> sources =
      findMeasured(graph, metric, measured.areGradients);
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
  eraseUnread(graph.getBody().front());
  if (measured.areGradients)
    markPools(module);
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

static void replaceMarker(NodeBuilder &b, Operation *marker, Value value) {
  marker->getResult(0).replaceAllUsesWith(value);
  b.getTypes().forget(marker);
  marker->erase();
}

/// The element of a vector, a scalar.
static Value getElement(NodeBuilder &b, Value vector, size_t index) {
  return b.gather(vector, b.intScalar(int64_t(index)), 0);
}

static RankedTensorType getVectorType(ModuleOp module, size_t size) {
  return RankedTensorType::get({int64_t(size)},
                               Float32Type::get(module.getContext()));
}

/// The marker's value, rounded by a share.
static Value addRounding(NodeBuilder &b, Operation *marker, Value scale,
                         ElementKind kind) {
  Value value = marker->getOperand(0);
  Value isRounded = b.create("Greater", {scale, b.scalarLike(0, scale)});
  Value target = b.where(isRounded, roundTo(b, marker, kind), value);
  // An infinite element minus itself is not zero.
  Value isSame = b.create("Equal", {target, value});
  Value moved = b.add(value, b.mul(b.sub(target, value), scale));
  return b.where(isSame, value, moved);
}

RoundingInputs addRoundings(ModuleOp module, unsigned numMarkers,
                            ElementKind kind, bool hasKinks) {
  NodeBuilder b(module);
  GraphEditor editor(getMainGraph(module));
  RoundingInputs inputs;
  inputs.scales = b.getNames().getValueName("rounding_scales").str();
  Value scales =
      editor.addInput(inputs.scales, getVectorType(module, numMarkers));
  Kinks kinks = hasKinks ? Kinks::find(module) : Kinks();
  SmallVector<Value> sources;
  for (size_t number = 0; number < kinks.size(); ++number) {
    inputs.kinks.push_back(kinks.isPool(number));
    Value source = kinks.addSource(b, number);
    if (isa<OpResult>(source))
      b.setInsertionPointAfter(source.getDefiningOp());
    sources.push_back(b.create("Identity", {source}, {}, source.getType()));
  }
  for (auto [number, marker] :
       llvm::enumerate(findMarkers(module, numMarkers))) {
    if (!marker)
      continue;
    b.setInsertionPointAfter(marker);
    b.setBase("rounding");
    Value scale = getElement(b, scales, number);
    replaceMarker(b, marker, addRounding(b, marker, scale, kind));
  }
  editor.addOutputs(sources);
  return inputs;
}

//===----------------------------------------------------------------------===//
// Error terms
//===----------------------------------------------------------------------===//

/// The greatest magnitude that is finite in 16 bit. Of bf16, rounding is left
/// out that would exceed fp32.
static double getGreatest(ElementKind kind) {
  return kind == ElementKind::Float16 ? 65519 : 3.38e38;
}

/// The change by rounding: r(x) - x, and 10^12 x beyond the greatest number. An
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

namespace {

class ErrorTermBuilder {
public:
  ErrorTermBuilder(ModuleOp module, unsigned numMarkers, ElementKind kind)
      : module(module), kind(kind), b(module), graph(getMainGraph(module)),
        editor(graph), markers(findMarkers(module, numMarkers)) {}

  void addKinks();
  LogicalResult run();

  ErrorInputs inputs;

private:
  void addSeed(Value value, std::vector<std::string> &names);
  void insertAfter(ArrayRef<Value> values);
  Value addTerm(Operation *marker);
  void addKinkOutputs(SmallVector<Value> &outputs);
  Value toVector(Value scalar) {
    return b.reshape(scalar, ArrayRef<int64_t>{1});
  }

  ModuleOp module;
  const ElementKind kind;
  NodeBuilder b;
  GraphOp graph;
  GraphEditor editor;
  std::vector<Operation *> markers;
  Kinks kinks;
  SmallVector<Value> sources;
  DifferentiationRequest request;
  Gradients gradients;
};

} // namespace

/// Adds an input for the gradient of a value.
void ErrorTermBuilder::addSeed(Value value, std::vector<std::string> &names) {
  names.push_back(b.getNames().getValueName("probe").str());
  request.seeds.emplace_back(value,
                             editor.addInput(names.back(), value.getType()));
}

void ErrorTermBuilder::addKinks() {
  kinks = Kinks::find(module);
  for (size_t number = 0; number < kinks.size(); ++number)
    sources.push_back(kinks.addSource(b, number));
}

/// Inserts after the last of the values: those before need not be kept.
void ErrorTermBuilder::insertAfter(ArrayRef<Value> values) {
  Operation *last = nullptr;
  for (Value value : values)
    if (Operation *op = value ? value.getDefiningOp() : nullptr)
      last = last && op->isBeforeInBlock(last) ? last : op;
  if (last)
    b.setInsertionPointAfter(last);
  else
    b.setInsertionPointToEnd(&editor.getBlock());
}

Value ErrorTermBuilder::addTerm(Operation *marker) {
  Value adjoint = marker ? gradients.lookup(marker->getResult(0)) : Value();
  insertAfter(adjoint);
  b.setBase("error_term");
  if (!adjoint)
    return toVector(b.scalar(0, b.getBuilder().getF32Type()));
  Value effect = b.mul(adjoint, getResidual(b, marker, kind));
  return toVector(b.create("ReduceSumSquare", {effect}, b.attr("keepdims", 0)));
}

void ErrorTermBuilder::addKinkOutputs(SmallVector<Value> &outputs) {
  if (!kinks.size())
    return;
  inputs.deviations = b.getNames().getValueName("kink_deviations").str();
  Value deviations =
      editor.addInput(inputs.deviations, getVectorType(module, kinks.size()));
  SmallVector<Value> errors, flips;
  for (size_t number = 0; number < kinks.size(); ++number) {
    SmallVector<Value> adjoints;
    for (Value value : kinks.getWanted(number))
      adjoints.push_back(gradients.lookup(value));
    insertAfter(adjoints);
    Kinks::Effect effect =
        kinks.addEffect(b, number, sources[number],
                        getElement(b, deviations, number), gradients);
    errors.push_back(toVector(effect.error));
    flips.push_back(toVector(effect.flips));
  }
  b.setInsertionPointToEnd(&editor.getBlock());
  outputs.push_back(b.concat(errors, 0));
  outputs.push_back(b.concat(flips, 0));
}

LogicalResult ErrorTermBuilder::run() {
  request.block = &editor.getBlock();
  for (Value output : getYield(graph.getBody())->getOperands())
    addSeed(output, inputs.probes);
  for (Value source : sources)
    addSeed(source, inputs.kinkProbes);
  for (Operation *marker : markers)
    if (marker)
      request.wanted.push_back(marker->getResult(0));
  for (size_t number = 0; number < kinks.size(); ++number)
    llvm::append_range(request.wanted, kinks.getWanted(number));
  b.setInsertionPointToEnd(&editor.getBlock());
  FailureOr<Gradients> found = differentiate(b, request);
  if (failed(found))
    return failure();
  gradients = std::move(*found);
  SmallVector<Value> terms;
  for (Operation *marker : markers)
    terms.push_back(addTerm(marker));
  b.setInsertionPointToEnd(&editor.getBlock());
  SmallVector<Value> outputs = {b.concat(terms, 0)};
  addKinkOutputs(outputs);
  setOutputs(graph, outputs);
  for (Operation *marker : markers)
    if (marker)
      replaceMarker(b, marker, marker->getOperand(0));
  return success();
}

FailureOr<ErrorInputs> addErrorTerms(ModuleOp module, unsigned numMarkers,
                                     ElementKind kind, bool hasKinks) {
  ErrorTermBuilder builder(module, numMarkers, kind);
  if (hasKinks)
    builder.addKinks();
  if (failed(builder.run()))
    return failure();
  return std::move(builder.inputs);
}

} // namespace mp
