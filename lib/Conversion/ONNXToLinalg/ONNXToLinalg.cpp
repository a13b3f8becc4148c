//===- ONNXToLinalg.cpp - A model as a function on tensors ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Conversion/ONNXToLinalg.h"

#include "GraphLowering.h"
#include "PoolGradients.h"
#include "QuantizedOperators.h"
#include "Rules.h"
#include "mp-opt/Autodiff/Decompositions.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/FunctionBodies.h"
#include "mp-opt/Graph/SizeNames.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

const LoweringRule *findRule(Operation *node) {
  static const llvm::StringMap<const LoweringRule *> rules = [] {
    llvm::StringMap<const LoweringRule *> result;
    for (ArrayRef<LoweringRule> family :
         {getContractionLowerings(), getControlFlowLowerings(),
          getConvolutionLowerings(), getDataMovementLowerings(),
          getEinsumLowerings(),      getElementwiseLowerings(),
          getIndexingLowerings(),    getInterpolationLowerings(),
          getLossLowerings(),        getNormalizationLowerings(),
          getOrderingLowerings(),    getPaddingLowerings(),
          getPoolingLowerings(),     getQuantizationLowerings(),
          getRandomLowerings(),      getReductionLowerings(),
          getSamplingLowerings(),    getSelectionLowerings(),
          getSequenceLowerings(),    getShapeLowerings(),
          getSignalLowerings(),      getTrainingLowerings()})
      for (const LoweringRule &rule : family)
        result[rule.op] = &rule;
    return result;
  }();
  return rules.lookup(getQualifiedName(getDomain(node), getOpType(node)));
}

//===----------------------------------------------------------------------===//
// Operators that are written in others
//===----------------------------------------------------------------------===//

/// Decomposes and expands nodes until each has a rule. One error lists all
/// nodes that have none.
static LogicalResult expandNodes(ModuleOp module, GraphOp graph) {
  NodeBuilder builder(module);
  llvm::MapVector<StringRef, SmallVector<Operation *>> missing;
  bool changed = true;
  while (changed) {
    changed = false;
    missing.clear();
    std::vector<Operation *> nodes;
    graph.walk([&](Operation *op) {
      if (isNode(op) && !isStandardOp(op, "Constant") && !findRule(op))
        nodes.push_back(op);
    });
    for (Operation *node : nodes) {
      const Decomposition *decomposition = findDecomposition(node);
      if (!decomposition)
        decomposition = findQuantizedDecomposition(node);
      if (decomposition) {
        if (failed(decompose(builder, node, *decomposition)))
          return failure();
        changed = true;
      } else if (hasFunctionBody(node)) {
        if (failed(expandFunctionBody(builder, node)))
          return failure();
        changed = true;
      } else {
        missing[getOpType(node)].push_back(node);
      }
    }
  }
  if (missing.empty())
    return success();
  InFlightDiagnostic error =
      graph.emitError("operators that cannot be compiled: ");
  llvm::interleaveComma(missing, error, [&](auto &entry) {
    error << describe(entry.second.front());
    if (entry.second.size() > 1)
      error << " and " << entry.second.size() - 1 << " more";
  });
  return error;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

namespace {

/// Makes the function and its arguments.
class ModelLowering {
public:
  ModelLowering(ModuleOp module, GraphOp graph,
                const ONNXToLinalgOptions &options,
                const ExcessPrecision &excess)
      : module(module), graph(graph), options(options), excess(excess),
        builder(module.getContext()),
        emitter(builder, graph.getLoc(), getNumbers(module)) {
    if (options.gathersPools)
      emitter.maxima = &maxima;
  }

  LogicalResult run();

private:
  FailureOr<SmallVector<int64_t>> getInputShape(unsigned index);
  LogicalResult createFunction();
  llvm::DenseSet<StringAttr> findAmbiguousNames();
  void bindInputs(GraphLowering &lowering);
  void describeResults(ArrayRef<TensorValue> results);
  void describeUpdates(const GraphLowering &lowering);
  void describeResult(StringAttr name, const TensorValue &value,
                      std::optional<unsigned> input);
  StringAttr getDimName(unsigned input, unsigned axis);

  ModuleOp module;
  GraphOp graph;
  const ONNXToLinalgOptions &options;
  const ExcessPrecision &excess;
  OpBuilder builder;
  MaximaTable maxima;
  Emitter emitter;
  func::FuncOp function;
  /// They are set together, since the context keeps each list of attributes.
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
};

} // namespace

/// The name of a symbolic dimension in the description of an input or output.
StringAttr ModelLowering::getDimName(unsigned input, unsigned axis) {
  auto list = getYield(graph.getBody())->getAttrOfType<ArrayAttr>(attr::inputs);
  if (!list || input >= list.size())
    return {};
  auto entry = dyn_cast<DictionaryAttr>(list[input]);
  for (StringRef key : {"type", "tensor_type", "shape"})
    entry = entry ? entry.getAs<DictionaryAttr>(key) : entry;
  auto dims = entry ? entry.getAs<ArrayAttr>("dim") : ArrayAttr();
  if (!dims || axis >= dims.size())
    return {};
  auto dim = dyn_cast<DictionaryAttr>(dims[axis]);
  return dim ? dim.getAs<StringAttr>("dim_param") : StringAttr();
}

/// True if callers can pass elements of this type: numbers that fill bytes.
static bool hasWholeBytes(Type element) {
  Type storage = getStorageType(element);
  return storage &&
         (element.isInteger(1) ||
          element.getIntOrFloatBitWidth() == storage.getIntOrFloatBitWidth());
}

FailureOr<SmallVector<int64_t>> ModelLowering::getInputShape(unsigned index) {
  BlockArgument input = graph.getBody().getArgument(index);
  StringRef name = getValueName(input);
  auto type = dyn_cast<RankedTensorType>(input.getType());
  auto given = options.inputSizes.find(name);
  bool isGiven = given != options.inputSizes.end();
  Type element = getTensorElementType(input.getType());
  if (!type && isGiven && element && hasWholeBytes(element))
    return llvm::to_vector(given->second);
  if (!type || !hasWholeBytes(element)) {
    graph.emitError("input '") << name << "' has the type " << input.getType()
                               << ": expected a tensor of numbers with a known "
                                  "number of dimensions";
    return failure();
  }
  SmallVector<int64_t> shape(type.getShape());
  if (isGiven && given->second.size() != shape.size()) {
    graph.emitError("input '") << name << "': found " << given->second.size()
                               << " dimensions, expected " << shape.size();
    return failure();
  }
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    int64_t wanted = isGiven ? given->second[axis] : ShapedType::kDynamic;
    StringAttr symbol = getDimName(index, axis);
    if (!isGiven && symbol)
      if (auto bound = options.dims.find(symbol); bound != options.dims.end())
        wanted = bound->second;
    if (ShapedType::isDynamic(wanted))
      continue;
    if (!ShapedType::isDynamic(extent) && extent != wanted) {
      graph.emitError("input '") << name << "': size " << wanted << " of axis "
                                 << axis << ", expected " << extent;
      return failure();
    }
    extent = wanted;
  }
  return shape;
}

LogicalResult ModelLowering::createFunction() {
  SmallVector<Type> types;
  for (unsigned index = 0; index < graph.getBody().getNumArguments(); ++index) {
    FailureOr<SmallVector<int64_t>> shape = getInputShape(index);
    if (failed(shape))
      return failure();
    Type element =
        getTensorElementType(graph.getBody().getArgument(index).getType());
    types.push_back(RankedTensorType::get(*shape, getStorageType(element)));
  }
  builder.setInsertionPointToStart(module.getBody());
  function = func::FuncOp::create(builder, graph.getLoc(), "main",
                                  builder.getFunctionType(types, {}));
  function.addEntryBlock();
  GraphEditor editor(graph);
  for (BlockArgument input : graph.getBody().getArguments()) {
    NamedAttrList list;
    list.set(mark::name, builder.getStringAttr(getValueName(input)));
    list.set(mark::element,
             TypeAttr::get(getTensorElementType(input.getType())));
    if (InitializerOp initializer = editor.getDefault(input))
      if (initializer.getValueAttr())
        list.set(mark::constant, initializer.getValueAttr());
    argumentAttrs.push_back(list.getDictionary(builder.getContext()));
  }
  builder.setInsertionPointToStart(&function.getBody().front());
  return success();
}

/// Warns about names of dimensions whose sizes are known to differ: exporters
/// may give meaningless names.
llvm::DenseSet<StringAttr> ModelLowering::findAmbiguousNames() {
  llvm::DenseMap<StringAttr, int64_t> sizes;
  llvm::DenseSet<StringAttr> ambiguous;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    for (auto [axis, extent] :
         llvm::enumerate(cast<RankedTensorType>(type).getShape())) {
      StringAttr name = getDimName(index, axis);
      if (!name || !isSizeName(name.getValue()) ||
          ShapedType::isDynamic(extent))
        continue;
      int64_t other = sizes.try_emplace(name, extent).first->second;
      if (other != extent && ambiguous.insert(name).second)
        graph.emitWarning("input '")
            << getValueName(graph.getBody().getArgument(index)) << "': size "
            << extent << " of axis " << axis << " is called '"
            << name.getValue() << "', as one of " << other
            << ": expected one size for the name, which is not made use of";
    }
  return ambiguous;
}

/// Dimensions of one name are one size.
void ModelLowering::bindInputs(GraphLowering &lowering) {
  llvm::MapVector<StringAttr, Size> symbols;
  llvm::DenseSet<StringAttr> ambiguous = findAmbiguousNames();
  for (auto [index, input] : llvm::enumerate(graph.getBody().getArguments())) {
    TensorValue value = {function.getArgument(index),
                         getTensorElementType(input.getType())};
    Sizes extents = emitter.sizes(value);
    emitter.setPlace(graph.getLoc(),
                     ("input '" + getValueName(input) + "'").str());
    for (auto [axis, extent] : llvm::enumerate(extents)) {
      StringAttr symbol = getDimName(index, axis);
      if (!symbol || !isSizeName(symbol.getValue()) ||
          ambiguous.contains(symbol))
        continue;
      auto [entry, isNew] = symbols.try_emplace(symbol, extent);
      if (isNew || entry->second == extent)
        continue;
      emitter.check(emitter.s.compare(Scalars::EQ, emitter.index(entry->second),
                                      emitter.index(extent)),
                    "size %1 of axis " + Twine(axis) + ", expected '" +
                        symbol.getValue() + "' to be %0",
                    entry->second, extent);
      if (!Emitter::getConstant(extent))
        extent = entry->second;
    }
    emitter.noteSizes(value.value, extents);
    lowering.bind(input, value);
  }
}

/// Describes a result. `input` is the number of the input that it may be the
/// next state of.
void ModelLowering::describeResult(StringAttr name, const TensorValue &value,
                                   std::optional<unsigned> input) {
  NamedAttrList list;
  list.set(mark::name, name);
  list.set(mark::element, TypeAttr::get(value.element));
  if (input && function.getArgumentTypes()[*input] == value.value.getType())
    list.set(mark::state, builder.getI64IntegerAttr(*input));
  resultAttrs.push_back(list.getDictionary(builder.getContext()));
}

/// `NAME_new` is the next state of the input `NAME` if their types agree.
void ModelLowering::describeResults(ArrayRef<TensorValue> results) {
  YieldOp yield = getYield(graph.getBody());
  llvm::StringMap<unsigned> inputs;
  for (auto [index, input] : llvm::enumerate(graph.getBody().getArguments()))
    inputs[getValueName(input)] = index;
  ArrayAttr names = yield->getAttrOfType<ArrayAttr>(attr::outputs);
  for (auto [index, value] : llvm::enumerate(results)) {
    auto entry = names && index < names.size()
                     ? dyn_cast<DictionaryAttr>(names[index])
                     : DictionaryAttr();
    auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
    if (!name)
      name = builder.getStringAttr(getValueName(yield.getOperand(index)));
    StringRef state = name.getValue();
    std::optional<unsigned> input;
    if (state.consume_back("_new"))
      if (auto found = inputs.find(state); found != inputs.end())
        input = found->second;
    describeResult(name, value, input);
  }
}

/// The new values of inputs that nodes write over are the last outputs.
void ModelLowering::describeUpdates(const GraphLowering &lowering) {
  for (const auto &update : lowering.getUpdates()) {
    StringRef name = getValueName(graph.getBody().getArgument(update.first));
    describeResult(builder.getStringAttr(name + "_new"), update.second,
                   update.first);
  }
}

LogicalResult ModelLowering::run() {
  if (failed(createFunction()))
    return failure();
  GraphLowering lowering(emitter, function, excess);
  bindInputs(lowering);
  auto results = lowering.lowerBlock(graph.getBody().front());
  if (failed(results))
    return failure();
  SmallVector<Value> values;
  for (auto [index, result] : llvm::enumerate(*results)) {
    if (!result || !hasWholeBytes(result.element))
      return graph.emitError("output ")
             << index << " is not a tensor of numbers: it cannot be compiled";
    values.push_back(result.value);
  }
  for (const auto &update : lowering.getUpdates())
    values.push_back(update.second.value);
  func::ReturnOp::create(builder, graph.getLoc(), values);
  function.setFunctionType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), ValueRange(values).getTypes()));
  describeResults(*results);
  describeUpdates(lowering);
  llvm::append_range(argumentAttrs, lowering.getConstantAttrs());
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
  return success();
}

/// Emits a remark at each node whose rounding is dropped.
static void emitExcessRemarks(const ExcessPrecision &excess,
                              ArrayRef<DroppedRounding> dropped) {
  using remark::detail::Remark;
  auto options =
      remark::RemarkOpts::name("excess-precision").category("mp-precision");
  for (auto [value, texts] : llvm::zip_equal(excess.roundings, dropped))
    if (auto remark = remark::passed(value.getLoc(), options))
      remark << Remark::Arg("Value", texts.value)
             << Remark::Arg("Node", texts.node)
             << Remark::Arg("From", texts.precision)
             << Remark::Arg("To", "f32");
}

/// Emits a remark that lists the dropped roundings. Graphs without 16-bit
/// products need none.
static void remarkExcess(GraphOp graph, const ExcessPrecision &excess,
                         ArrayRef<DroppedRounding> dropped) {
  if (excess.numProducts == 0)
    return;
  std::string text = "excess precision: ";
  if (dropped.empty())
    text += "no rounding is dropped, since 16-bit nodes or outputs read " +
            std::string(excess.numProducts == 1 ? "the" : "each") +
            " 16-bit product";
  else
    text += listDroppedRoundings(dropped);
  emitRemark(graph.getLoc(), text);
}

/// The values that are not rounded in code; none unless that is asked for.
static ExcessPrecision decideExcess(GraphOp graph,
                                    const ONNXToLinalgOptions &options,
                                    std::vector<DroppedRounding> *dropped) {
  if (!options.excessPrecision)
    return {};
  ExcessPrecision excess = ExcessPrecision::find(graph, options.numWatched);
  std::vector<DroppedRounding> texts = excess.describeRoundings();
  emitExcessRemarks(excess, texts);
  remarkExcess(graph, excess, texts);
  if (dropped)
    *dropped = std::move(texts);
  return excess;
}

LogicalResult convertONNXToLinalg(ModuleOp module,
                                  const ONNXToLinalgOptions &options,
                                  std::vector<DroppedRounding> *dropped) {
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return module.emitError("the module has no main graph to compile");
  if (failed(expandNodes(module, graph)))
    return failure();
  ExcessPrecision excess = decideExcess(graph, options, dropped);
  if (failed(ModelLowering(module, graph, options, excess).run()))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<GraphOp, FunctionOp, TrainingOp>(op))
      op.erase();
  for (StringRef name : {attr::opsets, attr::externalFiles, attr::model})
    module->removeAttr(name);
  return success();
}

} // namespace mp
