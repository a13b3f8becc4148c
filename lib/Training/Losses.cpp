//===- Losses.cpp - Losses that a training step may have ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Losses.h"

#include "mp-opt/Support/Nearest.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// What a loss is made of.
class LossBuilder {
public:
  LossBuilder(GraphOp graph, NodeBuilder &builder, const LossRequest &request)
      : graph(graph), editor(graph), b(builder), request(request) {}

  FailureOr<Value> build();

private:
  using LossFn = FailureOr<Value> (LossBuilder::*)();
  struct Kind {
    StringLiteral name;
    LossFn build;
  };
  static const Kind kinds[];
  friend std::string mp::getLossNames();

  FailureOr<Value> findOutput(StringRef name);
  FailureOr<BlockArgument> getLabels(RankedTensorType type);
  FailureOr<RankedTensorType> getPredictionType();
  /// Where the prediction is the result of `opType`, its operand.
  bool skipActivation(StringRef opType);
  bool isSoftmaxOverClasses();
  FailureOr<Value> prepareClasses(BlockArgument &labels);

  FailureOr<Value> softmaxCrossEntropy();
  FailureOr<Value> negativeLogLikelihood();
  FailureOr<Value> meanSquaredError();
  FailureOr<Value> binaryCrossEntropy();

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder &b;
  const LossRequest &request;
  Value prediction;
  /// The name of the output that the loss is of.
  std::string name;
};

} // namespace

const LossBuilder::Kind LossBuilder::kinds[] = {
    {"softmax-cross-entropy", &LossBuilder::softmaxCrossEntropy},
    {"mse", &LossBuilder::meanSquaredError},
    {"bce", &LossBuilder::binaryCrossEntropy},
    {"nll", &LossBuilder::negativeLogLikelihood},
};

std::string getLossNames() {
  std::string names;
  for (const LossBuilder::Kind &kind : LossBuilder::kinds)
    names += (kind.name + ", ").str();
  return names + "output:NAME";
}

/// The output of that name; without a name the first one that is a float.
FailureOr<Value> LossBuilder::findOutput(StringRef wanted) {
  std::vector<std::string> names;
  for (Value value : editor.getYield().getValues()) {
    bool isFloat =
        isa_and_nonnull<FloatType>(getTensorElementType(value.getType()));
    names.push_back(onnxir::getValueName(value).str());
    if (wanted.empty() ? isFloat : names.back() == wanted) {
      name = names.back();
      if (isFloat)
        return value;
      return graph.emitError()
             << "loss '" << request.kind << "': expected a float tensor, got '"
             << name << "' of type " << value.getType();
    }
  }
  InFlightDiagnostic diag = graph.emitError()
                            << "loss '" << request.kind << "': ";
  if (wanted.empty())
    return diag << "the model has no float output";
  std::vector<StringRef> known(names.begin(), names.end());
  return diag << "the model has no output '" << wanted << "'"
              << suggestNearest(wanted, known);
}

FailureOr<RankedTensorType> LossBuilder::getPredictionType() {
  auto type = dyn_cast<RankedTensorType>(prediction.getType());
  if (!type)
    return graph.emitError() << "loss '" << request.kind << "': the rank of '"
                             << name << "' is unknown";
  return type;
}

/// The input `labels`; made if there is none.
FailureOr<BlockArgument> LossBuilder::getLabels(RankedTensorType type) {
  for (BlockArgument input : editor.getBlock().getArguments()) {
    if (onnxir::getValueName(input) != "labels")
      continue;
    Type element = getTensorElementType(input.getType());
    bool fits = element == type.getElementType() ||
                (type.getElementType().isInteger(64) && element &&
                 element.isInteger(32));
    if (!fits)
      return graph.emitError()
             << "loss '" << request.kind << "': expected labels of "
             << getElementKindName(getElementKind(type.getElementType()))
             << ", got input 'labels' of type " << input.getType();
    return input;
  }
  return editor.addInput(b.getNames().getValueName("labels"), type);
}

bool LossBuilder::skipActivation(StringRef opType) {
  Operation *definer = prediction.getDefiningOp();
  if (!definer || !isStandardOp(definer, opType))
    return false;
  prediction = definer->getOperand(0);
  return true;
}

/// Labels without the axis of the classes, which is moved behind the batch.
FailureOr<Value> LossBuilder::prepareClasses(BlockArgument &labels) {
  FailureOr<RankedTensorType> type = getPredictionType();
  if (failed(type))
    return failure();
  int64_t rank = type->getRank();
  int64_t axis =
      request.classAxis < 0 ? request.classAxis + rank : request.classAxis;
  if (axis < 1 || axis >= rank)
    return graph.emitError() << "loss '" << request.kind << "': '" << name
                             << "' has rank " << rank << ", and no class axis "
                             << request.classAxis << " behind the batch";
  SmallVector<int64_t> shape(type->getShape());
  shape.erase(shape.begin() + axis);
  auto found =
      getLabels(RankedTensorType::get(shape, b.getBuilder().getI64Type()));
  if (failed(found))
    return failure();
  labels = *found;
  if (axis == 1)
    return prediction;
  auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
  order.erase(order.begin() + axis);
  order.insert(order.begin() + 1, axis);
  return b.transpose(prediction, order);
}

bool LossBuilder::isSoftmaxOverClasses() {
  Operation *definer = prediction.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(prediction.getType());
  if (!definer || !type || !isStandardOp(definer, "Softmax"))
    return false;
  auto count = [&](int64_t axis) {
    return axis < 0 ? axis + type.getRank() : axis;
  };
  return count(getInt(definer, "axis", -1)) == count(request.classAxis);
}

FailureOr<Value> LossBuilder::softmaxCrossEntropy() {
  // Scores that went through Softmax already are those before it.
  if (isSoftmaxOverClasses() && skipActivation("Softmax"))
    graph.emitWarning() << "'" << name << "' is the result of a Softmax: the "
                        << "loss takes its operand";
  BlockArgument labels;
  FailureOr<Value> scores = prepareClasses(labels);
  if (failed(scores))
    return failure();
  Type element = getTensorElementType(scores->getType());
  Type scalar = RankedTensorType::get({}, element);
  return b
      .createNode("SoftmaxCrossEntropyLoss", {*scores, labels}, {scalar},
                  b.attr("reduction", "mean"))
      ->getResult(0);
}

FailureOr<Value> LossBuilder::negativeLogLikelihood() {
  BlockArgument labels;
  FailureOr<Value> scores = prepareClasses(labels);
  if (failed(scores))
    return failure();
  return b.create("NegativeLogLikelihoodLoss", {*scores, labels},
                  b.attr("reduction", "mean"));
}

FailureOr<Value> LossBuilder::meanSquaredError() {
  FailureOr<RankedTensorType> type = getPredictionType();
  if (failed(type))
    return failure();
  auto labels = getLabels(*type);
  if (failed(labels))
    return failure();
  Value difference = b.sub(prediction, *labels);
  return b.reduceMean(b.mul(difference, difference), {}, /*keepDims=*/false);
}

/// mean(max(x, 0) - x t + log(1 + exp(-|x|))) of logits x: no overflow, and no
/// logarithm of a probability that was rounded to zero.
FailureOr<Value> LossBuilder::binaryCrossEntropy() {
  skipActivation("Sigmoid");
  FailureOr<RankedTensorType> type = getPredictionType();
  if (failed(type))
    return failure();
  auto labels = getLabels(*type);
  if (failed(labels))
    return failure();
  Value positive = b.create("Relu", {prediction});
  Value linear = b.sub(positive, b.mul(prediction, *labels));
  Value decay = b.create("Softplus", {b.neg(b.create("Abs", {prediction}))});
  return b.reduceMean(b.add(linear, decay), {}, /*keepDims=*/false);
}

FailureOr<Value> LossBuilder::build() {
  auto [kind, output] = StringRef(request.kind).split(':');
  if (kind == "output" && !output.empty())
    return findOutput(output);
  std::vector<StringRef> known;
  for (const Kind &entry : kinds) {
    known.push_back(entry.name);
    if (entry.name != kind)
      continue;
    FailureOr<Value> found = findOutput(output);
    if (failed(found))
      return failure();
    prediction = *found;
    b.setInsertionPointToEnd(&editor.getBlock());
    b.setBase("loss");
    return (this->*entry.build)();
  }
  return graph.emitError() << "unknown loss '" << request.kind << "': expected "
                           << getLossNames() << suggestNearest(kind, known);
}

FailureOr<Value> addLoss(GraphOp graph, NodeBuilder &builder,
                         const LossRequest &request) {
  GraphEditor editor(graph);
  Operation *last = editor.getYield()->getPrevNode();
  FailureOr<Value> loss = LossBuilder(graph, builder, request).build();
  if (failed(loss))
    return failure();
  bool isOutput = llvm::is_contained(editor.getYield().getValues(), *loss);
  // What was made here; a constant among it stands at the begin.
  Operation *made = last ? last->getNextNode() : nullptr;
  Builder attributes(graph.getContext());
  for (; made && !isa<YieldOp>(made); made = made->getNextNode()) {
    made->setAttr("mp.hazard", attributes.getStringAttr("part of the loss"));
    made->setAttr("mp.unlisted", attributes.getUnitAttr());
  }
  if (!isOutput) {
    builder.rename(*loss, "loss");
    editor.addFirstOutput(*loss);
  }
  return *loss;
}

} // namespace mp
