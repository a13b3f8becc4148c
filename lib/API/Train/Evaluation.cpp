//===- Evaluation.cpp - The loss on validation data -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Evaluation.h"

#include "mp-opt/API/Run/InferenceMode.h"
#include "mp-opt/API/Run/Session.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Training/Distribution.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// The forward pass
//===----------------------------------------------------------------------===//

static void keepLoss(Model &model, GraphOp graph) {
  YieldOp yield = getYield(graph.getBody());
  std::vector<std::string> names = model.getOutputNames();
  size_t place = llvm::find(names, lossName) - names.begin();
  if (auto described = yield->getAttrOfType<ArrayAttr>(attr::outputs);
      described && place < described.size())
    yield->setAttr(attr::outputs,
                   ArrayAttr::get(yield.getContext(), described[place]));
  yield->setOperands(yield->getOperand(place));
}

/// Erases nodes that nothing uses, and the defaults of states. Defaults of
/// other inputs are used by these inputs.
static void eraseUnused(GraphOp graph, const TrainingStep &step) {
  llvm::StringSet<> defaults;
  for (auto [input, isState] : llvm::zip(step.inputs, step.isState))
    if (!isState)
      defaults.insert(input.name);
  Block &block = graph.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto initializer = dyn_cast<InitializerOp>(op);
    bool isDefault = initializer && initializer.getOverridable() &&
                     defaults.contains(initializer.getName());
    if (!isa<YieldOp>(op) && op.use_empty() && !isDefault)
      op.erase();
  }
}

void makeEvaluationModel(Model &model, const TrainingStep &step) {
  GraphOp graph = getMainGraph(model.getModule());
  keepLoss(model, graph);
  // Evaluation runs on a single rank.
  removeReductions(model.getModule());
  eraseUnused(graph, step);
  useInferenceMode(model.getModule());
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// The input of the step with this name, unless it is a state; else null.
static const ModelValue *findInput(const TrainingStep &step, StringRef name) {
  for (auto [input, isState] : llvm::zip(step.inputs, step.isState))
    if (!isState && input.name == name)
      return &input;
  return nullptr;
}

/// The number of rows, if batches may be of any size; absent otherwise, and
/// for data that are batches already or do not fit.
static std::optional<uint64_t> findFreeRows(const TrainingStep &step,
                                            const DataSet &data) {
  std::optional<uint64_t> rows;
  for (const auto &[name, tensor] : data.inputs) {
    const ModelValue *input = findInput(step, name);
    if (!input)
      continue;
    if (input->sizes.empty() || input->sizes[0] >= 0 ||
        input->sizes.size() != size_t(tensor.getRank()))
      return std::nullopt;
    rows = tensor.getSizes()[0];
  }
  return rows;
}

/// True if the first tensor of the data consists of batches.
static bool areBatches(const TrainingStep &step, const DataSet &data) {
  for (const auto &[name, tensor] : data.inputs)
    if (const ModelValue *input = findInput(step, name))
      return size_t(tensor.getRank()) > input->sizes.size();
  return false;
}

/// The rows of each tensor that the step takes, from number `first` on.
static DataSet takeRowsFrom(const TrainingStep &step, const DataSet &data,
                            uint64_t first) {
  DataSet taken = data;
  taken.inputs.clear();
  for (const auto &[name, tensor] : data.inputs) {
    if (!findInput(step, name))
      continue;
    SmallVector<int64_t> sizes(tensor.getSizes());
    size_t rowBytes = tensor.getNumBytes() / sizes[0];
    sizes[0] -= int64_t(first);
    char *begin = static_cast<char *>(tensor.getData()) + first * rowBytes;
    taken.inputs.push_back({name, Tensor(tensor.getKind(), sizes, begin,
                                         std::make_shared<Tensor>(tensor))});
  }
  return taken;
}

llvm::Expected<std::unique_ptr<Evaluation>>
Evaluation::create(Model &model, const TrainingStep &step, const DataSet &data,
                   uint64_t size, const CompileOptions &compile) {
  std::unique_ptr<Evaluation> evaluation(new Evaluation());
  std::optional<uint64_t> freeRows = findFreeRows(step, data);
  // Fewer rows than a training batch form a single batch.
  if (freeRows)
    size = std::min(size, std::max<uint64_t>(*freeRows, 1));
  if (areBatches(step, data))
    size = 0;
  if (llvm::Error failed = evaluation->add(model, step, data, size, compile))
    return failed;
  const Batches &whole = evaluation->parts.front().batches;
  evaluation->remarks = whole.getRemarks();
  uint64_t left = whole.getLeftRows(), batch = whole.getBatchSize();
  if (left && freeRows) {
    DataSet rest = takeRowsFrom(step, data, whole.getCount() * batch);
    if (llvm::Error failed = evaluation->add(model, step, rest, left, compile))
      return failed;
  } else if (left) {
    evaluation->remarks.warnings.push_back(
        "the last " + std::to_string(left) + " rows are left out: the step " +
        "takes batches of " + std::to_string(batch));
  }
  return evaluation;
}

llvm::Error Evaluation::add(Model &model, const TrainingStep &step,
                            const DataSet &data, uint64_t size,
                            const CompileOptions &given) {
  BatchOptions options;
  options.shuffle = false;
  options.size = size;
  llvm::Expected<Batches> batches = Batches::create(step, data, options);
  if (!batches)
    return batches.takeError();
  CompileOptions compile = given;
  compile.updateInPlace = false;
  std::vector<Tensor> first(step.inputs.size());
  if (llvm::Error failed = batches->load(0, first))
    return failed;
  addSizes(step.inputs, first, compile);
  std::unique_ptr<Model> forward =
      Model::copy(model.getModule(), model.getName());
  makeEvaluationModel(*forward, step);
  auto program = forward->compile(compile);
  if (!program)
    return program.takeError();
  // Parameters are the same for all batches.
  std::vector<unsigned> kept;
  std::vector<ModelValue> states = step.getStates();
  for (auto [index, input] : llvm::enumerate((*program)->getInputs()))
    if (llvm::any_of(states, [&, &input = input](const ModelValue &state) {
          return state.name == input.name;
        })) {
      kept.push_back(index);
      (*program)->keepInput(index);
    }
  double weight = double(batches->getCount()) *
                  double(std::max<uint64_t>(batches->getBatchSize(), 1));
  parts.push_back(
      {std::move(*batches), weight, std::move(*program), std::move(kept)});
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

llvm::Expected<double> Evaluation::compute(Part &part,
                                           std::vector<Tensor> inputs) {
  SmallVector<Tensor> outputs;
  double sum = 0;
  for (unsigned index : part.kept)
    part.program->changeInput(index);
  for (uint64_t batch = 0; batch < part.batches.getCount(); ++batch) {
    if (llvm::Error failed = part.batches.load(batch, inputs))
      return failed;
    if (llvm::Error failed = part.program->run(inputs, outputs))
      return failed;
    sum += outputs.front().toDoubles().front();
  }
  return sum / double(part.batches.getCount());
}

llvm::Expected<double> Evaluation::compute(ArrayRef<Tensor> inputs) {
  double sum = 0, weights = 0;
  for (Part &part : parts) {
    llvm::Expected<double> mean = compute(part, inputs.vec());
    if (!mean)
      return mean;
    sum += *mean * part.weight;
    weights += part.weight;
  }
  return sum / weights;
}

} // namespace mp
