//===- TrainingRun.cpp - The library trains without a tool ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Findings.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Run/OutputDifferences.h"
#include "mp-opt/API/Run/Session.h"
#include "mp-opt/API/Train/Trainer.h"
#include "mp-opt/Data/Checkpoint.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mp;

namespace {

/// Least squares by gradient descent, without the gradient's factor of two.
constexpr const char *stepText = R"(
<ir_version: 9, opset_import: ["" : 21]>
step (float[n,2] x, float[n,1] y, float learning_rate, float[2,1] w)
  => (float loss, float[2,1] w_new)
<float learning_rate = {0.1}, float[2,1] w = {0, 0}>
{
  predicted = MatMul(x, w)
  error = Sub(predicted, y)
  squares = Mul(error, error)
  loss = ReduceMean<keepdims = 0>(squares)
  turned = Transpose<perm = [1, 0]>(x)
  slope = MatMul(turned, error)
  change = Mul(slope, learning_rate)
  w_new = Sub(w, change)
}
)";
constexpr const char *foreignText = R"(
<ir_version: 9, opset_import: ["" : 21, "other" : 1]>
foreign (float[2] x) => (float[2] y) { y = other.Blend(x) }
)";
constexpr uint64_t numRows = 8, batchRows = 4, numSteps = 20;

/// The training step, computed in double.
struct Reference {
  double w[2] = {0, 0};

  double makeStep(uint64_t batch);
};

struct Tests {
  Tests() { registerModelDialects(registry); }

  void trainToTheEnd();
  void stopAndResume();
  void resumeOldCheckpoint();
  void keepStates();
  void runSession();
  void tellErrors();
  llvm::Expected<std::unique_ptr<Trainer>> makeTrainer(TrainerOptions options);
  std::vector<float> getParameters(const Trainer &trainer);

  mlir::DialectRegistry registry;
  Findings findings;
};

} // namespace

static double getX(uint64_t row, unsigned column) {
  return column ? double(row % 3) - 1 : double(row) / 4 - 1;
}

static double getY(uint64_t row) { return getX(row, 0) - 2 * getX(row, 1); }

double Reference::makeStep(uint64_t batch) {
  double loss = 0, slope[2] = {0, 0};
  for (uint64_t row = batch * batchRows; row < (batch + 1) * batchRows; ++row) {
    double error = w[0] * getX(row, 0) + w[1] * getX(row, 1) - getY(row);
    loss += error * error / double(batchRows);
    for (unsigned column : {0, 1})
      slope[column] += error * getX(row, column);
  }
  for (unsigned column : {0, 1})
    w[column] -= 0.1 * slope[column];
  return loss;
}

static DataSet makeData() {
  Tensor x = cantFail(Tensor::create(ElementKind::Float, {numRows, 2}));
  Tensor y = cantFail(Tensor::create(ElementKind::Float, {numRows, 1}));
  for (uint64_t row = 0; row < numRows; ++row) {
    for (unsigned column : {0, 1})
      x.get<float>()[2 * row + column] = float(getX(row, column));
    y.get<float>()[row] = float(getY(row));
  }
  DataSet data;
  data.inputs = {{"x", x}, {"y", y}};
  return data;
}

llvm::Expected<std::unique_ptr<Trainer>>
Tests::makeTrainer(TrainerOptions options) {
  auto model = Model::parse(stepText, "step.onnxtxt", registry);
  if (!model)
    return model.takeError();
  options.batches.size = batchRows;
  options.batches.shuffle = false;
  options.steps = numSteps;
  return Trainer::create(std::move(*model), makeData(), std::move(options));
}

std::vector<float> Tests::getParameters(const Trainer &trainer) {
  std::vector<NamedTensor> states = llvm::cantFail(trainer.getStates());
  findings.expect(states.size() == 1 && states[0].name == "w",
                  "expected one state, 'w'");
  return states[0].tensor.get<float>().vec();
}

void Tests::trainToTheEnd() {
  auto trainer = findings.get(makeTrainer({}));
  if (!trainer)
    return;
  Reference reference;
  TrainingObserver observer;
  observer.onStep = [&](const StepRecord &record) {
    double expected = reference.makeStep((record.step - 1) % 2);
    findings.expect(std::abs(record.loss - expected) < 1e-5 * (1 + expected),
                    "step " + llvm::Twine(record.step) + ": loss " +
                        std::to_string(record.loss) + ", expected " +
                        std::to_string(expected));
    findings.expect(record.rate && std::abs(*record.rate - 0.1) < 1e-6,
                    "expected the step's own learning rate");
    return llvm::Error::success();
  };
  auto end = findings.get((*trainer)->run(observer));
  findings.expect(end == TrainingEnd::Finished && (*trainer)->getStep() == 20,
                  "expected 20 steps");
  findings.expect((*trainer)->getLast().loss < 0.05, "expected a small loss");
  std::vector<float> w = getParameters(**trainer);
  for (unsigned i : {0, 1})
    findings.expect(std::abs(w[i] - reference.w[i]) < 1e-5,
                    "expected the parameters of the reference");
}

void Tests::stopAndResume() {
  llvm::SmallString<128> folder;
  findings.expect(!llvm::sys::fs::createUniqueDirectory("mp-training", folder),
                  "expected a folder");
  TrainerOptions options;
  options.checkpoints = folder.str().str();
  auto first = findings.get(makeTrainer(options));
  auto whole = findings.get(makeTrainer({}));
  if (!first || !whole)
    return;
  TrainingObserver observer;
  observer.shouldStop = [&] { return (*first)->getStep() == 5; };
  auto end = findings.get((*first)->run(observer));
  findings.expect(end == TrainingEnd::Stopped && (*first)->getStep() == 5 &&
                      (*first)->getCheckpointStep() == 5,
                  "expected a checkpoint of step 5");
  // A trainer may write to the folder for as long as it exists.
  findings.expectError(makeTrainer(options).takeError(), ErrorKind::BadInput,
                       "is in use by process");
  first->reset();
  findings.expectError(makeTrainer(options).takeError(), ErrorKind::BadInput,
                       "has checkpoints of another run");
  options.resume = true;
  if (auto second = findings.get(makeTrainer(options))) {
    findings.expect((*second)->getStep() == 5, "expected to go on at step 5");
    findings.get((*second)->run());
    findings.get((*whole)->run());
    findings.expect(getParameters(**second) == getParameters(**whole),
                    "expected the same bits as without a stop");
  }
  llvm::sys::fs::remove_directories(folder);
}

/// Earlier releases did not store a description of the data.
void Tests::resumeOldCheckpoint() {
  llvm::SmallString<128> folder;
  findings.expect(!llvm::sys::fs::createUniqueDirectory("mp-training", folder),
                  "expected a folder");
  std::string warnings;
  TrainerOptions options;
  options.checkpoints = folder.str().str();
  options.onWarning = [&](const llvm::Twine &text) { warnings += text.str(); };
  TrainingObserver observer;
  observer.shouldStop = [] { return true; };
  if (auto first = findings.get(makeTrainer(options)))
    findings.get((*first)->run(observer));
  CheckpointFolder checkpoints(options.checkpoints);
  auto old = findings.get(checkpoints.read(1));
  if (!old)
    return;
  findings.expect(old->data.size() == 2 && old->loss, "expected two hashes");
  old->data.clear();
  findings.expect(!checkpoints.write(*old, 1), "expected a checkpoint");
  options.resume = true;
  auto second = findings.get(makeTrainer(options));
  findings.expect(second && (*second)->getStep() == 1, "expected to go on");
  findings.expect(
      llvm::StringRef(warnings).contains("does not say what is in the data"),
      "expected a warning of data that are not compared, found '" + warnings +
          "'");
  llvm::sys::fs::remove_directories(folder);
}

/// The states of a run without checkpoints can be kept in the middle, and the
/// run continues from there.
void Tests::keepStates() {
  llvm::SmallString<128> folder;
  findings.expect(!llvm::sys::fs::createUniqueDirectory("mp-training", folder),
                  "expected a folder");
  auto first = findings.get(makeTrainer({}));
  auto whole = findings.get(makeTrainer({}));
  if (!first || !whole)
    return;
  TrainingObserver observer;
  observer.onStep = [&](const StepRecord &record) {
    return record.step < 7 ? llvm::Error::success()
                           : llvm::createStringError("seven");
  };
  findings.expectError((*first)->run(observer).takeError(), ErrorKind::BadInput,
                       "seven");
  findings.expect(!(*first)->isStepBroken() &&
                      llvm::cantFail((*first)->hasFiniteStates()),
                  "expected states of seven steps");
  findings.expect(!(*first)->writeCheckpoint(folder), "expected a checkpoint");
  TrainerOptions options;
  options.checkpoints = folder.str().str();
  options.resume = true;
  if (auto second = findings.get(makeTrainer(options))) {
    findings.expect((*second)->getStep() == 7, "expected to go on at step 7");
    findings.get((*second)->run());
    findings.get((*whole)->run());
    findings.expect(getParameters(**second) == getParameters(**whole),
                    "expected the same bits as without an end");
  }
  llvm::sys::fs::remove_directories(folder);
}

/// One call of the step, against outputs that are right and wrong.
void Tests::runSession() {
  auto model = findings.get(Model::parse(stepText, "step.onnxtxt", registry));
  if (!model)
    return;
  auto session =
      findings.get(Session::create(std::move(*model), makeData(), {}));
  auto outputs = session ? findings.get(session->run()) : std::nullopt;
  if (!outputs)
    return;
  double loss = 0;
  for (uint64_t row = 0; row < numRows; ++row)
    loss += getY(row) * getY(row) / double(numRows);
  for (double error : {0.0, 0.1}) {
    DataSet expected;
    Tensor tensor = cantFail(Tensor::create(ElementKind::Float, {}));
    tensor.get<float>()[0] = float(loss + error);
    expected.expected = {{"loss", tensor}};
    auto compared = findings.get(compareOutputs(*outputs, expected, {}));
    findings.expect(compared && isOutside(*compared) == (error != 0),
                    "expected a difference from what is wrong alone");
  }
}

void Tests::tellErrors() {
  findings.expectError(Model::parse("<", "no.onnxtxt", registry).takeError(),
                       ErrorKind::BadInput, "");
  findings.expectError(Model::read("there/is/none.onnx", registry).takeError(),
                       ErrorKind::BadInput,
                       "there/is/none.onnx: cannot read it");
  for (bool isHeard : {false, true}) {
    std::string heard;
    ModelOptions options;
    if (isHeard)
      options.onMessage = [&](llvm::StringRef name, mlir::DiagnosticSeverity,
                              const llvm::Twine &text) {
        heard += (name + ": " + text).str();
      };
    auto model = findings.get(
        Model::parse(foreignText, "foreign.onnxtxt", registry, options));
    if (!model)
      return;
    findings.expectError((*model)->compile({}).takeError(),
                         ErrorKind::NotSupported, "Blend", isHeard);
    findings.expect(llvm::StringRef(heard).contains("Blend") == isHeard,
                    "expected a message for who listens");
  }
  auto model = findings.get(Model::parse(stepText, "step.onnxtxt", registry));
  DataSet data = makeData();
  data.path = "rows.npz";
  data.inputs[0].name = "z";
  if (model)
    findings.expectError(
        Trainer::create(std::move(*model), data, {}).takeError(),
        ErrorKind::BadInput,
        "rows.npz: missing: x (batches or rows of float32[n,2]); the data "
        "have: z, y; is 'z' meant to be 'x'?");
}

int main() {
  Tests tests;
  tests.trainToTheEnd();
  tests.stopAndResume();
  tests.resumeOldCheckpoint();
  tests.keepStates();
  tests.runSession();
  tests.tellErrors();
  return tests.findings.getExitCode();
}
