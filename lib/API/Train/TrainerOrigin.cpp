//===- TrainerOrigin.cpp - Finds the origin of a divergence ---------------===//
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

#include "mp-opt/API/Train/Trainer.h"

#include "mp-opt/API/Run/FiniteChecks.h"

#include <cmath>

using namespace llvm;

namespace mp {

/// The limit in seconds for repeating steps.
static constexpr double longestReplay = 60;

/// The states at which the replay begins, by name, and their step.
Expected<Trainer::KeptStates>
Trainer::findKeptStates(const FiniteChecks &checks) const {
  if (writer.getStep()) {
    auto read =
        CheckpointFolder(options.checkpoints).readNewest([](const Twine &) {});
    if (!read)
      return read.takeError();
    return KeptStates{read->step, std::move(read->states)};
  }
  KeptStates kept;
  for (unsigned index : compiled->getStates()) {
    const std::string &name = compiled->getInputs()[index].name;
    kept.states.push_back({name, checks.getDefault(name)});
  }
  if (options.init.empty())
    return kept;
  auto init = readInitStates();
  if (!init)
    return init.takeError();
  for (NamedTensor &state : kept.states)
    for (const NamedTensor &given : *init)
      if (given.name == state.name)
        state.tensor = given.tensor;
  return kept;
}

/// All inputs as they are. Inputs of the batch share its memory.
std::vector<NamedTensor> Trainer::nameInputs() const {
  std::vector<NamedTensor> inputs;
  for (auto [input, value] :
       llvm::zip(compiled->getInputs(), std::as_const(*compiled).getValues()))
    if (value.getData())
      inputs.push_back({input.name, value});
  return inputs;
}

/// Makes steps from `kept` on; its states become those before the first one
/// that leaves something that is not finite. False if none does.
Expected<bool> Trainer::replay(KeptStates &kept, uint64_t end) {
  if (Error failed = setStates(kept.states))
    return failed;
  for (step = kept.step; step < end;) {
    KeptStates before{step, {}};
    for (const NamedTensor &state : compiled->nameStates()) {
      Expected<Tensor> copy = state.tensor.clone();
      if (!copy)
        return copy.takeError();
      before.states.push_back({state.name, std::move(*copy)});
    }
    if (Error failed = makeStep())
      return failed;
    Expected<const ProgramValue *> infinite = compiled->findInfinite();
    if (!infinite)
      return infinite.takeError();
    if (*infinite || !std::isfinite(last.loss)) {
      kept = std::move(before);
      return true;
    }
  }
  return false;
}

/// The findings of the checks in the step after `kept`.
Expected<std::vector<unsigned>> Trainer::check(FiniteChecks &checks,
                                               const KeptStates &kept) {
  step = kept.step;
  if (Error failed = batches.load(step, compiled->getValues()))
    return failed;
  if (Error failed = setRate())
    return failed;
  std::vector<NamedTensor> inputs = nameInputs();
  for (NamedTensor &input : inputs)
    for (const NamedTensor &state : kept.states)
      if (state.name == input.name)
        input.tensor = state.tensor;
  return checks.run(inputs, int64_t(step));
}

/// Describes whether the batch is finite.
static std::string describeBatch(ArrayRef<NamedTensor> batch) {
  for (const auto &[name, tensor] : batch)
    if (!isFinite(tensor))
      return "the data of that step have it already, in '" + name + "'";
  return "the data of that step are finite";
}

Expected<std::string> Trainer::findOrigin() {
  uint64_t end = step;
  auto model = options.readStep();
  if (!model)
    return model.takeError();
  CompileOptions compile = options.compile;
  compile.title.clear();
  auto checks = FiniteChecks::create(std::move(*model), nameInputs(), compile);
  if (!checks)
    return checks.takeError();
  auto kept = findKeptStates(**checks);
  if (!kept)
    return kept.takeError();
  double made = double(end - firstStep), again = double(end - kept->step);
  if (stepSeconds / made * again > longestReplay)
    return std::string("checkpoints that are nearer to it "
                       "(--checkpoint-every=N) let the run find the node");
  auto usual = check(**checks, *kept);
  if (!usual)
    return usual.takeError();
  uint64_t first = kept->step;
  Expected<bool> isFound = replay(*kept, end);
  if (!isFound)
    return isFound.takeError();
  if (!*isFound)
    return std::string();
  auto found = check(**checks, *kept);
  if (!found)
    return found.takeError();
  std::vector<NamedTensor> batch;
  for (unsigned index = 0; index < form.inputs.size(); ++index)
    if (!form.isState[index] && compiled->getValues()[index].getData())
      batch.push_back({form.inputs[index].name, compiled->getValues()[index]});
  // Non-finite values that also occur in a good step are intended.
  for (unsigned place : *found)
    if (kept->step == first || !llvm::is_contained(*usual, place)) {
      const InnerValue &value = (*checks)->getValue(place);
      return "in step " + std::to_string(kept->step + 1) + ", '" + value.name +
             "' of " + value.node +
             " is the first result that is not finite; " + describeBatch(batch);
    }
  return std::string();
}

/// Searches for the origin of the divergence. Errors of the search are ignored,
/// since the run has diverged anyway.
void Trainer::traceDivergence() {
  if (!options.readStep || options.ranks || !shards.empty())
    return;
  StepRecord end = last;
  uint64_t reached = step;
  Expected<std::string> found = findOrigin();
  if (found)
    origin = std::move(*found);
  else
    consumeError(found.takeError());
  step = reached;
  last = std::move(end);
}

} // namespace mp
