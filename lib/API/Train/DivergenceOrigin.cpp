//===- DivergenceOrigin.cpp - Finds the origin of a divergence ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps overwrite their states, so the states after a diverged step do not
// help. Repeated steps are bitwise equal. They are repeated from the last
// checkpoint, or from the beginning, up to the first step after which a value
// is not finite. That step is repeated once more with a check after each node.
//
//===----------------------------------------------------------------------===//

#include "DivergenceOrigin.h"

#include "Checkpoints.h"

#include "mp-opt/API/Run/FiniteChecks.h"

#include <cmath>

using namespace llvm;

namespace mp {

/// The limit in seconds for repeating steps.
static constexpr double longestReplay = 60;

namespace {
/// States before a step.
struct KeptStates {
  uint64_t step = 0;
  std::vector<NamedTensor> states;
};

/// Repeats the steps of a run.
class Replay {
public:
  explicit Replay(const DivergedRun &run)
      : run(run), session(run.session), program(session.getProgram()) {}

  Expected<std::string> findOrigin();

private:
  Expected<KeptStates> findKeptStates() const;
  std::vector<NamedTensor> nameInputs() const;
  Expected<KeptStates> copyStates() const;
  Error load();
  Expected<bool> repeat(KeptStates &kept, uint64_t end);
  Expected<std::vector<unsigned>> check(const KeptStates &kept);
  std::string describe(const InnerValue &value, uint64_t step) const;

  const DivergedRun &run;
  StepSession &session;
  StepProgram &program;
  std::unique_ptr<FiniteChecks> checks;
};
} // namespace

/// The states at which the replay begins, by name, and their step.
Expected<KeptStates> Replay::findKeptStates() const {
  if (run.checkpointStep) {
    auto read =
        CheckpointFolder(run.options.checkpoints).readNewest([](const Twine &) {
        });
    if (!read)
      return read.takeError();
    return KeptStates{read->step, std::move(read->states)};
  }
  KeptStates kept;
  for (unsigned index : program.getStates()) {
    const std::string &name = program.getInputs()[index].name;
    kept.states.push_back({name, checks->getDefault(name)});
  }
  if (run.options.init.empty())
    return kept;
  auto init = readInitStates(run.options);
  if (!init)
    return init.takeError();
  for (NamedTensor &state : kept.states)
    for (const NamedTensor &given : *init)
      if (given.name == state.name)
        state.tensor = given.tensor;
  return kept;
}

/// All inputs as they are. Inputs of the batch share its memory.
std::vector<NamedTensor> Replay::nameInputs() const {
  std::vector<NamedTensor> inputs;
  for (auto [input, value] :
       llvm::zip(program.getInputs(), std::as_const(program).getValues()))
    if (value.getData())
      inputs.push_back({input.name, value});
  return inputs;
}

Expected<KeptStates> Replay::copyStates() const {
  KeptStates kept{session.getCount(), {}};
  for (const NamedTensor &state : program.nameStates()) {
    Expected<Tensor> copy = state.tensor.clone();
    if (!copy)
      return copy.takeError();
    kept.states.push_back({state.name, std::move(*copy)});
  }
  return kept;
}

/// Sets the batch and the rate of the next step.
Error Replay::load() {
  if (Error failed = run.batches.load(session.getCount(), program.getValues()))
    return failed;
  return session.setRate();
}

/// Makes steps from `kept` on; its states become those before the first one
/// that leaves something that is not finite. False if none does.
Expected<bool> Replay::repeat(KeptStates &kept, uint64_t end) {
  if (Error failed = program.setStates(kept.states, /*needsAll=*/false))
    return failed;
  for (session.setCount(kept.step); session.getCount() < end;) {
    auto before = copyStates();
    if (!before)
      return before.takeError();
    if (Error failed = load())
      return failed;
    if (Error failed = session.run(int64_t(session.getCount())))
      return failed;
    Expected<const ProgramValue *> infinite = program.findInfinite();
    if (!infinite)
      return infinite.takeError();
    if (*infinite || !std::isfinite(program.getLoss())) {
      kept = std::move(*before);
      return true;
    }
  }
  return false;
}

/// The findings of the checks in the step after `kept`.
Expected<std::vector<unsigned>> Replay::check(const KeptStates &kept) {
  session.setCount(kept.step);
  if (Error failed = load())
    return failed;
  std::vector<NamedTensor> inputs = nameInputs();
  for (NamedTensor &input : inputs)
    for (const NamedTensor &state : kept.states)
      if (state.name == input.name)
        input.tensor = state.tensor;
  return checks->run(inputs, int64_t(kept.step));
}

/// Describes whether the batch is finite.
static std::string describeBatch(ArrayRef<NamedTensor> batch) {
  for (const auto &[name, tensor] : batch)
    if (!isFinite(tensor))
      return "the data of that step have it already, in '" + name + "'";
  return "the data of that step are finite";
}

std::string Replay::describe(const InnerValue &value, uint64_t step) const {
  std::vector<NamedTensor> batch;
  for (unsigned index = 0; index < run.form.inputs.size(); ++index)
    if (!run.form.isState[index] && program.getValues()[index].getData())
      batch.push_back(
          {run.form.inputs[index].name, program.getValues()[index]});
  return "in step " + std::to_string(step) + ", '" + value.name + "' of " +
         value.node + " is the first result that is not finite; " +
         describeBatch(batch);
}

Expected<std::string> Replay::findOrigin() {
  uint64_t end = session.getCount();
  auto model = run.options.readStep();
  if (!model)
    return model.takeError();
  CompileOptions compile = run.options.compile;
  compile.title.clear();
  auto created = FiniteChecks::create(std::move(*model), nameInputs(), compile);
  if (!created)
    return created.takeError();
  checks = std::move(*created);
  auto kept = findKeptStates();
  if (!kept)
    return kept.takeError();
  if (run.secondsPerStep * double(end - kept->step) > longestReplay)
    return std::string("checkpoints that are nearer to it "
                       "(--checkpoint-every=N) let the run find the node");
  auto usual = check(*kept);
  if (!usual)
    return usual.takeError();
  uint64_t first = kept->step;
  Expected<bool> isFound = repeat(*kept, end);
  if (!isFound)
    return isFound.takeError();
  if (!*isFound)
    return std::string();
  auto found = check(*kept);
  if (!found)
    return found.takeError();
  // Non-finite values that also occur in a good step are intended.
  for (unsigned place : *found)
    if (kept->step == first || !llvm::is_contained(*usual, place))
      return describe(checks->getValue(place), kept->step + 1);
  return std::string();
}

Expected<std::string> findOrigin(const DivergedRun &run) {
  return Replay(run).findOrigin();
}

} // namespace mp
