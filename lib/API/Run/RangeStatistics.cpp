//===- RangeStatistics.cpp - Statistics of a model's values ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each statistic is a reduction that compiles to one pass over the memory of
// the value; the functions applied to elements before it are part of its loop.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/RangeStatistics.h"

#include "mp-opt/API/Run/Session.h"

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Precision/Assignment/TrainingPhases.h"
#include "mp-opt/Precision/Data/ObservedValues.h"
#include "mp-opt/Precision/Data/RangeMarks.h"
#include "mp-opt/Support/Rounding.h"
#include "mp-opt/Training/Distribution.h"

#include "Graph/Passes.h"
#include "Pipelines/Pipelines.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The least normal number of fp16, and the distance of the numbers below it.
static constexpr double minNormalFP16 = 0x1p-14, subnormalStep = 0x1p-24;
/// Stands for no element; a finite number, since comparisons with infinities
/// are slow.
static constexpr double noElement = 3e38;
/// Statistics that are joined at once, so that no node has too many operands.
static constexpr size_t joinedStatistics = 256;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

class StatisticsBuilder {
public:
  StatisticsBuilder(ModuleOp module, RangeStatistics &statistics)
      : graph(getMainGraph(module)), builder(module), statistics(statistics) {}

  /// `keys` are the values' names by the number of their node.
  void run(ArrayRef<SmallVector<std::string>> keys);

private:
  using Entry = RangeStatistics::Entry;

  void add(const ObservedValue &observed, Entry entry);
  int keep(Value scalar);
  Value reduce(StringRef op, Value value);
  Value getLost(Value wide, Value magnitude);
  Value getSmallest(Value magnitude);
  void addPartialSum(const ObservedValue &observed, Entry &entry);
  Value countTerms(Operation *node);
  void setOutput();

  GraphOp graph;
  NodeBuilder builder;
  RangeStatistics &statistics;
  SmallVector<Value> numbers;
};

Value StatisticsBuilder::reduce(StringRef op, Value value) {
  return builder.create(op, {value}, builder.attr("keepdims", int64_t(0)));
}

int StatisticsBuilder::keep(Value scalar) {
  numbers.push_back(builder.reshape(scalar, {1}));
  return int(numbers.size()) - 1;
}

/// The sum of squares of what fp16 rounds away from its subnormal numbers.
Value StatisticsBuilder::getLost(Value wide, Value magnitude) {
  Value units = builder.scale(wide, 1 / subnormalStep);
  Value rounded =
      builder.scale(builder.create("Round", {units}), subnormalStep);
  Value small = builder.create(
      "Less", {magnitude, builder.scalarLike(minNormalFP16, wide)});
  Value error = builder.where(small, builder.sub(rounded, wide),
                              builder.scalarLike(0, wide));
  return reduce("ReduceSumSquare", error);
}

/// The greatest of the negative magnitudes, without zeros.
Value StatisticsBuilder::getSmallest(Value magnitude) {
  Value isZero =
      builder.create("Equal", {magnitude, builder.scalarLike(0, magnitude)});
  Value negative =
      builder.where(isZero, builder.scalarLike(-noElement, magnitude),
                    builder.neg(magnitude));
  return reduce("ReduceMax", negative);
}

/// The number of terms of a mean, as float.
Value StatisticsBuilder::countTerms(Operation *node) {
  Type f32 = Float32Type::get(builder.getContext());
  if (isStandardOp(node, "AveragePool")) {
    int64_t count = 1;
    for (int64_t size : getInts(node, "kernel_shape"))
      count *= size;
    return builder.scalar(double(count), f32);
  }
  auto count = [&](Value value) {
    return builder.castTo(builder.create("Size", {value}), f32);
  };
  return builder.div(count(node->getOperand(0)), count(node->getResult(0)));
}

/// A partial sum is largest if all terms of one sign come first: the sum of the
/// positive terms, or that of the negative ones.
void StatisticsBuilder::addPartialSum(const ObservedValue &observed,
                                      Entry &entry) {
  Operation *node = observed.value.getOwner();
  entry.isSum = observed.sum == InnerSum::Magnitudes;
  entry.isRoot = observed.sum == InnerSum::Root;
  bool isMean = observed.sum == InnerSum::Mean;
  if (!isMean && observed.sum != InnerSum::Sum)
    return;
  SmallVector<Value> operands(node->getOperands());
  operands[0] = builder.create("Relu", {operands[0]});
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : node->getDiscardableAttrs())
    if (!attribute.getName().strref().contains('.'))
      attributes.push_back(attribute);
  Value positive = builder.create(getOpType(node), operands, attributes,
                                  observed.value.getType());
  Value negative = builder.sub(positive, observed.value);
  Value both = builder.create("Max", {positive, negative});
  Type f32 = Float32Type::get(builder.getContext());
  Value partial = reduce("ReduceMax", builder.castTo(both, f32));
  entry.partial =
      keep(isMean ? builder.mul(partial, countTerms(node)) : partial);
}

void StatisticsBuilder::add(const ObservedValue &observed, Entry entry) {
  builder.setInsertionPointAfter(observed.value.getOwner());
  builder.setBase("range");
  Value wide =
      builder.castTo(observed.value, Float32Type::get(builder.getContext()));
  if (observed.isMasked)
    wide = builder.where(
        builder.create("Greater",
                       {wide, builder.scalarLike(maskElement, wide)}),
        wide, builder.scalarLike(0, wide));
  Value magnitude = builder.create("Abs", {wide});
  entry.max = keep(reduce("ReduceMax", magnitude));
  entry.energy = keep(reduce("ReduceSumSquare", wide));
  entry.lost = keep(getLost(wide, magnitude));
  if (observed.isDivisor)
    entry.smallest = keep(getSmallest(magnitude));
  addPartialSum(observed, entry);
  statistics.entries.push_back(std::move(entry));
}

/// Makes the numbers the only output.
void StatisticsBuilder::setOutput() {
  GraphEditor editor(graph);
  YieldOp yield = editor.getYield();
  builder.setInsertionPoint(yield);
  SmallVector<Value> parts;
  for (size_t at = 0; at < numbers.size(); at += joinedStatistics)
    parts.push_back(
        builder.concat(ArrayRef(numbers).slice(
                           at, std::min(joinedStatistics, numbers.size() - at)),
                       0));
  Value output = parts.size() == 1 ? parts[0] : builder.concat(parts, 0);
  unsigned others = yield->getNumOperands();
  editor.addOutput(output);
  auto described = yield->getAttrOfType<ArrayAttr>(attr::outputs);
  yield->setAttr(attr::outputs,
                 ArrayAttr::get(yield->getContext(),
                                described.getValue().drop_front(others)));
  yield->setOperands({output});
}

void StatisticsBuilder::run(ArrayRef<SmallVector<std::string>> keys) {
  GraphEditor editor(graph);
  llvm::DenseSet<Value> outputs;
  for (Value value : editor.getYield().getOperands())
    outputs.insert(value);
  for (const ObservedValue &observed : findObservedValues(graph)) {
    Operation *node = observed.value.getOwner();
    auto place = node->getAttrOfType<IntegerAttr>(mark::place);
    if (!place)
      continue;
    Entry entry;
    entry.value = {keys[place.getInt()][observed.value.getResultNumber()],
                   getValueName(observed.value).str(), describe(node),
                   outputs.contains(observed.value)};
    if (!entry.value.key.empty())
      add(observed, std::move(entry));
  }
  if (!numbers.empty())
    setOutput();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Numbers the nodes of the forward pass, and returns the names of their
/// results.
static std::vector<SmallVector<std::string>> numberNodes(ModuleOp module) {
  std::vector<SmallVector<std::string>> keys;
  Builder builder(module.getContext());
  for (Operation *scope : getScopes(module)) {
    TrainingPhases phases;
    if (auto graph = dyn_cast<GraphOp>(scope))
      phases = TrainingPhases::compute(graph);
    for (Operation &op : scope->getRegion(0).front()) {
      if (!isNode(&op) || phases.lookup(&op) != TrainingPhase::Forward)
        continue;
      op.setAttr(mark::place, builder.getI64IntegerAttr(int64_t(keys.size())));
      for (OpResult result : op.getResults()) {
        if (result.getResultNumber() == 0)
          keys.emplace_back();
        keys.back().push_back(getRangeKey(result));
      }
      if (op.getNumResults() == 0)
        keys.emplace_back();
    }
  }
  return keys;
}

static void removeNumbers(ModuleOp module) {
  module->walk([](Operation *op) {
    if (isNode(op))
      op->removeAttr(mark::place);
  });
}

/// Erases the backward pass and the update, which no statistic needs.
static void eraseUnusedOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && (isNode(&op) || isa<MPDialect>(op.getDialect())))
      op.erase();
}

llvm::Expected<std::unique_ptr<RangeStatistics>>
RangeStatistics::create(ModuleOp module, StringRef name,
                        const CompileOptions &given) {
  std::unique_ptr<RangeStatistics> made(new RangeStatistics());
  std::vector<SmallVector<std::string>> keys = numberNodes(module);
  made->model = Model::copy(module, name);
  removeNumbers(module);
  if (llvm::Error failed = made->model->runPasses([](PassManager &manager) {
        manager.addPass(createInlineFunctions());
        RaiseOpsetOptions raising;
        constexpr int opsetOfStatistics = 13;
        raising.atLeast = opsetOfStatistics;
        manager.addPass(createRaiseOpset(raising));
      }))
    return failed;
  ModuleOp copy = made->model->getModule();
  removeReductions(copy);
  StatisticsBuilder(copy, *made).run(keys);
  eraseUnusedOps(getMainGraph(copy).getBody().front());
  stripMarks(copy);
  if (made->entries.empty())
    return std::move(made);
  CompileOptions compile = given;
  compile.updateInPlace = compile.keepReductions = false;
  compile.keepPanels = true;
  auto program = made->model->compile(compile);
  if (!program)
    return program.takeError();
  made->program = std::move(*program);
  return std::move(made);
}

ObservedRange RangeStatistics::read(const Entry &entry,
                                    ArrayRef<float> numbers) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // A tensor without elements has no greatest one.
  auto get = [&](int place) { return std::max(0.0, double(numbers[place])); };
  ObservedRange range;
  double max = double(numbers[entry.max]);
  range.max = std::isfinite(max) || max < 0 ? std::max(max, 0.0) : infinity;
  range.energy = get(entry.energy);
  range.lost = get(entry.lost);
  if (std::isnan(double(numbers[entry.energy])))
    range.max = infinity;
  if (!std::isfinite(range.energy))
    range.energy = infinity;
  if (entry.smallest >= 0) {
    double smallest = -double(numbers[entry.smallest]);
    range.smallest = smallest < noElement ? smallest : infinity;
  }
  if (entry.partial >= 0)
    range.partial = get(entry.partial);
  else if (entry.isSum || entry.isRoot)
    range.partial = entry.isRoot ? range.max * range.max : range.max;
  return range;
}

llvm::Error RangeStatistics::run(ArrayRef<NamedTensor> inputs, int64_t number,
                                 ObservedRanges &ranges) {
  if (!program)
    return llvm::Error::success();
  auto outputs = runByName(*program, inputs, number);
  if (!outputs)
    return outputs.takeError();
  ArrayRef<float> numbers = outputs->front().get<float>();
  auto isNaN = [&](const Entry &entry) {
    return std::isnan(double(numbers[entry.energy]));
  };
  if (llvm::any_of(entries, [&](const Entry &entry) {
        return entry.value.isOutput && isNaN(entry);
      })) {
    const Entry &first = *llvm::find_if(entries, isNaN);
    return llvm::createStringError(
        "batch " + Twine(number) + ": value '" + first.value.name +
        "' has NaN in fp32, from " + first.value.node +
        ", and the outputs have them too: ranges need data for which the "
        "model is right");
  }
  for (const Entry &entry : entries) {
    ObservedRange range = read(entry, numbers);
    auto [it, isNew] = ranges.values.try_emplace(entry.value.key, range);
    if (!isNew)
      it->second.merge(range);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

template <typename Elements>
static ObservedRange measureElements(const Elements &elements) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ObservedRange range;
  double smallest = infinity;
  for (double element : elements) {
    double magnitude = std::fabs(element);
    range.max =
        std::isfinite(element) ? std::max(range.max, magnitude) : infinity;
    range.energy += element * element;
    if (magnitude > 0)
      smallest = std::min(smallest, magnitude);
    if (magnitude >= minNormalFP16)
      continue;
    double rounded = std::nearbyint(element / subnormalStep) * subnormalStep;
    range.lost += (rounded - element) * (rounded - element);
  }
  range.smallest = smallest;
  return range;
}

ObservedRange measureTensor(const Tensor &tensor) {
  return tensor.getKind() == ElementKind::Float
             ? measureElements(tensor.get<float>())
             : measureElements(tensor.toDoubles());
}

} // namespace mp
