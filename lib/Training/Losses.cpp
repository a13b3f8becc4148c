//===- Losses.cpp - Losses that a training step may have ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Losses.h"
#include "mp-opt/Operators/NodeView.h"

#include "LossKinds.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/SizeNames.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// Finds the operands of a loss.
class LossBuilder {
public:
  LossBuilder(GraphOp graph, NodeBuilder &builder, const LossRequest &request)
      : graph(graph), editor(graph), b(builder), request(request) {}

  FailureOr<Value> build();

private:
  FailureOr<Value> findOutput();
  FailureOr<BlockArgument> getLabels(RankedTensorType type,
                                     std::optional<int64_t> without = {});
  SmallVector<StringRef> getStatedNames();
  SmallVector<StringRef> nameSizes(std::optional<int64_t> without);
  FailureOr<RankedTensorType> getPredictionType();
  bool isResultOf(StringRef opType) const;
  void takeOperand(StringRef opType);
  bool isSoftmaxOverClasses();
  void checkActivation();
  void checkClassAxis(RankedTensorType type, int64_t axis);
  FailureOr<LossTerm> prepareClasses();
  FailureOr<LossTerm> prepareTarget();
  LogicalResult checkCount(StringRef what, size_t count, int64_t expected);
  InFlightDiagnostic error() {
    return graph.emitError() << "loss '" << request.text << "': ";
  }

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder &b;
  const LossRequest &request;
  Value prediction;
  /// The name of the output that the loss is computed from.
  std::string name;
};

} // namespace

/// The named output, or the first float output.
FailureOr<Value> LossBuilder::findOutput() {
  StringRef wanted = request.output;
  std::vector<std::string> names;
  for (Value value : editor.getYield().getValues()) {
    bool isFloat =
        isa_and_nonnull<FloatType>(getTensorElementType(value.getType()));
    names.push_back(onnxir::getValueName(value).str());
    if (wanted.empty() ? isFloat : names.back() == wanted) {
      name = names.back();
      if (isFloat)
        return value;
      return error() << "expected a float tensor, got '" << name << "' of type "
                     << value.getType();
    }
  }
  if (wanted.empty())
    return error() << "the model has no float output";
  std::vector<StringRef> known(names.begin(), names.end());
  return error() << "the model has no output '" << wanted << "'"
                 << suggestNearest(wanted, known);
}

FailureOr<RankedTensorType> LossBuilder::getPredictionType() {
  auto type = dyn_cast<RankedTensorType>(prediction.getType());
  if (!type)
    return error() << "the rank of '" << name << "' is unknown";
  return type;
}

/// The input that the loss is compared with. If it does not exist, it is added,
/// with the prediction's sizes except that of the axis `without`.
FailureOr<BlockArgument>
LossBuilder::getLabels(RankedTensorType type, std::optional<int64_t> without) {
  for (BlockArgument input : editor.getBlock().getArguments()) {
    if (onnxir::getValueName(input) != request.labels)
      continue;
    Type element = getTensorElementType(input.getType());
    bool fits = element == type.getElementType() ||
                (type.getElementType().isInteger(64) && element &&
                 element.isInteger(32));
    if (!fits)
      return error() << "expected labels of "
                     << getElementKindName(
                            getElementKind(type.getElementType()))
                     << ", got input '" << request.labels << "' of type "
                     << input.getType();
    return input;
  }
  StringRef unique = b.getNames().getValueName(request.labels);
  if (request.namesLabels && unique != request.labels)
    return error() << "labels: '" << request.labels << "' is a value of the "
                   << "model, and no input";
  return editor.addInput(unique, type, nameSizes(without));
}

/// The names that a description of a value gives to its axes.
static SmallVector<StringRef> getSizeNames(Attribute described) {
  auto fields = dyn_cast<DictionaryAttr>(described);
  for (StringRef key : {"type", "tensor_type", "shape"})
    fields = fields ? fields.getAs<DictionaryAttr>(key) : fields;
  auto dims = fields ? fields.getAs<ArrayAttr>("dim") : ArrayAttr();
  SmallVector<StringRef> names;
  for (Attribute dim : dims ? dims.getValue() : ArrayRef<Attribute>()) {
    auto size = dyn_cast<DictionaryAttr>(dim);
    auto name = size ? size.getAs<StringAttr>("dim_param") : StringAttr();
    names.push_back(name && isSizeName(name.getValue()) ? name.getValue() : "");
  }
  return names;
}

/// The size names that the model states for the output, if an input has them
/// too: exporters make up the others.
SmallVector<StringRef> LossBuilder::getStatedNames() {
  auto getList = [&](StringRef list) {
    auto entries = editor.getYield()->getAttrOfType<ArrayAttr>(list);
    return entries ? entries.getValue() : ArrayRef<Attribute>();
  };
  llvm::StringSet<> known;
  for (Attribute input : getList(onnxir::attr::inputs))
    for (StringRef name : getSizeNames(input))
      known.insert(name);
  for (Attribute output : getList(onnxir::attr::outputs)) {
    auto fields = dyn_cast<DictionaryAttr>(output);
    auto called = fields ? fields.getAs<StringAttr>("name") : StringAttr();
    if (!called || called.getValue() != name)
      continue;
    SmallVector<StringRef> names = getSizeNames(output);
    for (StringRef &size : names)
      size = known.contains(size) ? size : "";
    return names;
  }
  return {};
}

/// The model's names for the sizes of the prediction, without the axis of the
/// classes: `--dim` and data then set them once for all inputs.
SmallVector<StringRef> LossBuilder::nameSizes(std::optional<int64_t> without) {
  auto type = cast<RankedTensorType>(prediction.getType());
  if (type.hasStaticShape())
    return {};
  DimSymbols symbols(editor.getBlock(), b.getTypes());
  SmallVector<StringRef> stated = getStatedNames(), names;
  stated.resize(type.getRank());
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    StringRef found = symbols.getName(prediction, axis);
    if (axis != without)
      names.push_back(StringAttr::get(graph.getContext(),
                                      found.empty() ? stated[axis] : found)
                          .getValue());
  }
  return names;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

bool LossBuilder::isResultOf(StringRef opType) const {
  Operation *definer = prediction.getDefiningOp();
  return definer && isStandardOp(definer, opType);
}

void LossBuilder::takeOperand(StringRef opType) {
  prediction = prediction.getDefiningOp()->getOperand(0);
  graph.emitWarning() << "'" << name << "' is the result of a " << opType
                      << ": the loss takes its operand";
}

bool LossBuilder::isSoftmaxOverClasses() {
  auto type = dyn_cast<RankedTensorType>(prediction.getType());
  if (!type || !isResultOf("Softmax"))
    return false;
  auto count = [&](int64_t axis) {
    return axis < 0 ? axis + type.getRank() : axis;
  };
  return count(NodeView(prediction.getDefiningOp()).axis()) ==
         count(request.classAxis);
}

/// Checks that the activation is applied exactly once; otherwise the model
/// would learn something else. If the loss contains the activation, it takes
/// the operand of the model's one and avoids its rounding.
void LossBuilder::checkActivation() {
  switch (request.kind->activation) {
  case Activation::Any:
    return;
  case Activation::SoftmaxInside:
    if (isSoftmaxOverClasses())
      takeOperand("Softmax");
    return;
  case Activation::SigmoidInside:
    if (isResultOf("Sigmoid"))
      return takeOperand("Sigmoid");
    graph.emitWarning() << "'" << name << "' is not the result of a Sigmoid: "
                        << "the loss takes it for logits, as "
                        << "'bce-with-logits' does";
    return;
  case Activation::NoSigmoid:
    if (isResultOf("Sigmoid"))
      graph.emitWarning() << "'" << name << "' is the result of a Sigmoid, and "
                          << "the loss applies another one; 'bce' takes "
                          << "probabilities";
    return;
  case Activation::NoSoftmax:
    if (isResultOf("Softmax"))
      graph.emitWarning() << "'" << name << "' is the result of a Softmax, and "
                          << "the loss expects logarithms of probabilities";
    return;
  }
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LogicalResult LossBuilder::checkCount(StringRef what, size_t count,
                                      int64_t expected) {
  if (!count || expected == ShapedType::kDynamic || int64_t(count) == expected)
    return success();
  return error() << what << ": expected " << expected << " numbers for '"
                 << name << "', got " << count;
}

/// Warns of scores [batch, sequence, vocabulary], whose classes are on the last
/// axis; only the sizes show this.
void LossBuilder::checkClassAxis(RankedTensorType type, int64_t axis) {
  int64_t last = type.getRank() - 1;
  if (axis != 1 || last < 2 || type.isDynamicDim(last))
    return;
  bool isSequence = type.isDynamicDim(1);
  // Operands of look-ups have the sizes of a sequence.
  for (BlockArgument input : editor.getBlock().getArguments()) {
    auto given = dyn_cast<RankedTensorType>(input.getType());
    isSequence |= given && given.getRank() == last &&
                  isa<IntegerType>(given.getElementType()) &&
                  onnxir::getValueName(input) != request.labels &&
                  given.getShape() == type.getShape().drop_back();
  }
  if (!isSequence)
    return;
  SmallVector<StringRef> names = getStatedNames();
  bool isNamed = names.size() > 1 && !names[1].empty();
  graph.emitWarning() << "loss '" << request.text << "': classes of '" << name
                      << "' are axis 1 (" << (isNamed ? names[1] : "sequence")
                      << "); --class-axis=-1 if the last axis holds them";
}

/// Prepares labels without the axis of the classes; the axis is moved after the
/// batch.
FailureOr<LossTerm> LossBuilder::prepareClasses() {
  FailureOr<RankedTensorType> type = getPredictionType();
  if (failed(type))
    return failure();
  int64_t rank = type->getRank();
  int64_t axis =
      request.classAxis < 0 ? request.classAxis + rank : request.classAxis;
  if (axis < 1 || axis >= rank)
    return error() << "'" << name << "' has rank " << rank
                   << ", and no class axis " << request.classAxis
                   << " after the batch";
  if (failed(checkCount("weights", request.weights.size(),
                        type->getDimSize(axis))))
    return failure();
  checkClassAxis(*type, axis);
  SmallVector<int64_t> shape(type->getShape());
  shape.erase(shape.begin() + axis);
  auto labels = getLabels(
      RankedTensorType::get(shape, b.getBuilder().getI64Type()), axis);
  if (failed(labels))
    return failure();
  auto given = dyn_cast<RankedTensorType>(labels->getType());
  if (given && given.getRank() != rank - 1)
    return error() << "expected labels of " << rank - 1 << " axes, got input '"
                   << request.labels << "' of type " << given;
  if (axis != 1) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
    order.erase(order.begin() + axis);
    order.insert(order.begin() + 1, axis);
    prediction = b.transpose(prediction, order);
  }
  return LossTerm{b, request, prediction, *labels};
}

FailureOr<LossTerm> LossBuilder::prepareTarget() {
  FailureOr<RankedTensorType> type = getPredictionType();
  if (failed(type))
    return failure();
  if (type->getRank() == 0 && request.reduction == "batchmean")
    return error() << "'" << name << "' is a scalar, and has no batch";
  size_t count = request.posWeight.size();
  if (count > 1 &&
      failed(checkCount("pos-weight", count,
                        type->getRank() ? type->getShape().back() : 1)))
    return failure();
  auto labels = getLabels(*type);
  if (failed(labels))
    return failure();
  return LossTerm{b, request, prediction, *labels};
}

FailureOr<Value> LossBuilder::build() {
  FailureOr<Value> found = findOutput();
  if (failed(found) || !request.kind)
    return found;
  prediction = *found;
  b.setInsertionPointToEnd(&editor.getBlock());
  b.setBase("loss");
  checkActivation();
  FailureOr<LossTerm> term =
      request.kind->hasClasses ? prepareClasses() : prepareTarget();
  if (failed(term))
    return failure();
  return request.kind->build(*term);
}

//===----------------------------------------------------------------------===//
// Sums of losses
//===----------------------------------------------------------------------===//

/// The weighted sum. Losses that the model does not compute itself become
/// outputs, named after their kinds.
static Value addTotal(GraphEditor &editor, NodeBuilder &b,
                      ArrayRef<LossRequest> requests, ArrayRef<Value> losses) {
  b.setInsertionPointToEnd(&editor.getBlock());
  b.setBase("loss");
  Value total;
  SmallVector<Value> parts;
  for (auto [request, loss] : llvm::zip(requests, losses)) {
    if (request.kind) {
      b.rename(loss, lossPartPrefix + request.kind->name);
      parts.push_back(loss);
    }
    Value share = request.weight == 1 ? loss : b.scale(loss, request.weight);
    total = total ? b.add(total, b.castLike(share, total)) : share;
  }
  for (Value part : llvm::reverse(parts))
    editor.addFirstOutput(part);
  return total;
}

static FailureOr<SmallVector<LossRequest>> parseAll(GraphOp graph,
                                                    GraphEditor &editor,
                                                    ArrayRef<std::string> texts,
                                                    int64_t classAxis) {
  std::vector<std::string> outputs;
  for (Value value : editor.getYield().getValues())
    outputs.push_back(onnxir::getValueName(value).str());
  SmallVector<LossRequest> requests;
  for (const std::string &text : texts) {
    LossRequest &request = requests.emplace_back();
    if (llvm::Error failed = request.parse(text, classAxis, outputs))
      return graph.emitError() << toString(std::move(failed));
    if (request.labels.empty())
      request.labels = requests.size() == 1
                           ? "labels"
                           : "labels_" + std::to_string(requests.size());
  }
  return requests;
}

/// Marks the nodes made here: they stay fp32 regardless of operator lists, and
/// constants are not parameters.
static void markMade(Block &block, const llvm::DenseSet<Operation *> &before) {
  Builder attributes(block.getParentOp()->getContext());
  for (Operation &op : block) {
    if (before.contains(&op) || isa<YieldOp>(op))
      continue;
    if (!isStandardOp(&op, "Constant"))
      addHazard(&op, "part of the loss");
    op.setAttr(mark::added, attributes.getUnitAttr());
  }
}

/// Makes the name "loss" available by renaming inner values of the model.
/// Returns another name, with a warning, if an input, a parameter or an output
/// has it.
static std::string freeLossName(GraphOp graph, NodeBuilder &b, Value loss) {
  Block &block = graph.getBody().front();
  SmallVector<Value> fixed(block.getArguments());
  for (auto initializer : block.getOps<InitializerOp>())
    fixed.push_back(initializer.getResult());
  llvm::append_range(fixed, onnxir::getYield(graph.getBody()).getValues());
  for (Value value : fixed) {
    if (value == loss || onnxir::getValueName(value) != lossName)
      continue;
    StringRef other = b.getNames().getValueName(lossName);
    graph.emitWarning() << "the model has an input, a parameter or another "
                        << "output '" << lossName << "': the step's loss is '"
                        << other << "', which mp-run train does not take";
    return other.str();
  }
  graph.walk([&](Operation *op) {
    for (OpResult result : op->getResults())
      if (result != loss && onnxir::getValueName(result) == lossName)
        setValueName(result, b.getNames().getValueName(lossName));
  });
  return lossName.str();
}

/// Makes the loss the first output, under the name that the runtime expects.
static void nameLoss(GraphOp graph, GraphEditor &editor, NodeBuilder &b,
                     Value loss) {
  if (onnxir::getValueName(loss) == lossName &&
      llvm::is_contained(editor.getYield().getValues(), loss))
    return;
  std::string name = freeLossName(graph, b, loss);
  Value named = loss;
  // An output of the model keeps its name.
  if (llvm::is_contained(editor.getYield().getValues(), loss)) {
    b.setInsertionPointToEnd(&editor.getBlock());
    named = b.create("Identity", {loss}, {}, loss.getType());
  }
  setValueName(cast<OpResult>(named), name);
  editor.addFirstOutput(named);
}

/// True if the graph is already a training step: it has a loss, and next values
/// of inputs that have initial ones.
static bool isStep(GraphEditor &editor) {
  StringSet<> states;
  for (BlockArgument input : editor.getBlock().getArguments())
    if (editor.getDefault(input))
      states.insert((onnxir::getValueName(input) + "_new").str());
  bool hasLoss = false, hasState = false;
  for (Value value : editor.getYield().getValues()) {
    StringRef name = onnxir::getValueName(value);
    hasLoss |= name == lossName;
    hasState |= states.contains(name);
  }
  return hasLoss && hasState;
}

FailureOr<Value> addLosses(GraphOp graph, NodeBuilder &builder,
                           ArrayRef<std::string> texts, int64_t classAxis) {
  if (texts.empty())
    return graph.emitError() << "no loss is given: expected " << getLossNames();
  GraphEditor editor(graph);
  if (isStep(editor))
    return graph.emitError()
           << "it is a training step already, with a loss and next values of "
              "states: expected the forward model that it was made of";
  auto requests = parseAll(graph, editor, texts, classAxis);
  if (failed(requests))
    return failure();
  llvm::DenseSet<Operation *> before;
  for (Operation &op : editor.getBlock())
    before.insert(&op);
  SmallVector<Value> losses;
  for (const LossRequest &request : *requests) {
    FailureOr<Value> loss = LossBuilder(graph, builder, request).build();
    if (failed(loss))
      return failure();
    losses.push_back(*loss);
  }
  bool isSum = losses.size() > 1 || requests->front().weight != 1;
  Value loss =
      isSum ? addTotal(editor, builder, *requests, losses) : losses.front();
  nameLoss(graph, editor, builder, loss);
  markMade(editor.getBlock(), before);
  return loss;
}

} // namespace mp
