//===- Steps.cpp - Training steps in the C API ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Train/TrainingStep.h"
#include "mp-opt/Data/Convert.h"

#include "llvm/ADT/ScopeExit.h"

#include <cmath>

using namespace llvm;

namespace mp {

/// Finds the inputs of the batch and the outputs that are not states.
static void sortValues(mp_opt_step &step, ArrayRef<ModelValue> form) {
  ArrayRef<unsigned> states = step.getProgram().getStates();
  SmallVector<unsigned> indices;
  for (unsigned index = 0; index < step.getProgram().getInputs().size();
       ++index)
    if (!is_contained(states, index) &&
        step.getProgram().getInputs()[index].name != rateName)
      indices.push_back(index);
  step.takes.emplace(step.getProgram().getInputs(), form, std::move(indices));
  for (const auto &[index, output] :
       enumerate(step.getProgram().getProgram().getOutputs()))
    if (output.state < 0)
      step.outputs.push_back(unsigned(index));
}

static mp_opt_status create(mp_opt_model &model, const mp_opt_options *options,
                            mp_opt_step **step) {
  auto request = makeRequest(options, "train");
  if (!request)
    return fail(request.takeError(), model.sink.get());
  if (!(*request)->rateFlags)
    return failUsage("step_create: expected options of 'train'");
  mlir::DialectRegistry registry;
  if (Error failed = (*request)->complete(registry))
    return fail(std::move(failed), model.sink.get());
  ModelFlags &flags = (*request)->model;
  auto made = std::make_unique<mp_opt_step>();
  made->sink = model.sink;
  made->model = std::move(model.model);
  Model &inner = *made->model;
  auto give = [&](Error failed) {
    return fail(std::move(failed), model.sink.get(), inner.getName());
  };
  if (Error failed =
          ModelFlags::prepare(inner, flags.getPrecision(), flags.sizes))
    return give(std::move(failed));
  // Fails with advice if the model is not a step.
  auto found = TrainingStep::find(inner, flags.sizes);
  if (!found)
    return give(found.takeError());
  made->rules = findDataRules(inner.getModule());
  auto session = StepSession::create(inner, flags.getOptions(),
                                     getContentName(inner.getContent()));
  if (!session)
    return give(session.takeError());
  made->session = std::move(*session);
  sortValues(*made, found->inputs);
  if (Error failed =
          made->session->setSchedule((*request)->rate, (*request)->steps, "lr"))
    return give(std::move(failed));
  *step = made.release();
  return succeed();
}

/// Checks for class numbers and indices that the step cannot use.
static Error checkIntegers(const mp_opt_step &step) {
  std::string faults;
  for (unsigned input : step.takes->getInputIndices()) {
    const Tensor &tensor = step.getProgram().getValues()[input];
    DataRule rule = step.rules.lookup((*step.takes)[input].name);
    if (!tensor.getData() || !rule.range || !isInteger(tensor.getKind()))
      continue;
    NamedTensor named{(*step.takes)[input].name, tensor};
    uint64_t count = uint64_t(tensor.getNumElements());
    if (DataFault fault = findFault(tensor, rule, 0, count))
      faults += (faults.empty() ? "" : "; ") +
                describeFault(named, rule, fault, /*areBatches=*/false);
  }
  return faults.empty() ? Error::success() : createStringError(faults);
}

/// All errors in the batch are found before the step begins.
static Error run(mp_opt_step &step, ArrayRef<mp_opt_array> batch, double rate) {
  StepProgram &program = step.getProgram();
  if (program.isBroken())
    return createStringError("a step has failed on its way, and may have "
                             "changed some states: load or set them all");
  // The batch belongs to the caller; no reference to it remains after the call.
  llvm::scope_exit forget([&] {
    for (unsigned index : step.takes->getInputIndices())
      program.getValues()[index] = Tensor();
  });
  if (Error failed = step.takes->bind(batch, program.getValues(), *step.sink,
                                      step.model->getName()))
    return failed;
  if (Error failed = checkIntegers(step))
    return failed;
  StepSession &session = *step.session;
  if (Error failed = session.setRate(
          std::isnan(rate) ? std::nullopt : std::optional<double>(rate)))
    return failed;
  // A step whose sizes do not match most likely fails. On devices all sizes are
  // known.
  return session.run(int64_t(session.getCount()),
                     step.takes->findMisfit(program.getValues()));
}

/// Runs a function on a step. Errors are prefixed with the model's name, unless
/// they name their own file.
template <typename Function>
static mp_opt_status use(mp_opt_step *step, Function function,
                         bool namesFile = false) {
  std::lock_guard<std::mutex> lock(step->mutex);
  step->sink->begin(nullptr);
  if (Error failed = function(*step))
    return fail(std::move(failed), step->sink.get(),
                namesFile ? StringRef() : StringRef(step->model->getName()));
  return succeed();
}

} // namespace mp

using namespace mp;

mp_opt_status mp_opt_step_create(mp_opt_model *model,
                                 const mp_opt_options *options,
                                 mp_opt_step **step) {
  return guard([&] {
    if (!model || !step)
      return failUsage("step_create: no model, or no place for the step");
    *step = nullptr;
    std::lock_guard<std::mutex> lock(model->mutex);
    if (!model->model)
      return failUsage("step_create: the model is used up");
    model->sink->begin(options);
    return create(*model, options, step);
  });
}

void mp_opt_step_destroy(mp_opt_step *step) { delete step; }

size_t mp_opt_step_num_inputs(const mp_opt_step *step) {
  return step ? step->takes->getInputIndices().size() : 0;
}
size_t mp_opt_step_num_outputs(const mp_opt_step *step) {
  return step ? step->outputs.size() : 0;
}
size_t mp_opt_step_num_states(const mp_opt_step *step) {
  return step ? step->getProgram().getStates().size() : 0;
}

/// Describes one of the values of `step` with these indices.
static mp_opt_status giveValue(const mp_opt_step *step,
                               ArrayRef<unsigned> indices, size_t index,
                               mp_opt_value *value) {
  if (!value || index >= indices.size())
    return failUsage("there are " + Twine(indices.size()) +
                     ", asked for number " + Twine(index));
  *value = describe(step->getProgram().getInputs()[indices[index]]);
  return succeed();
}

mp_opt_status mp_opt_step_input(const mp_opt_step *step, size_t index,
                                mp_opt_value *value) {
  return guard([&] {
    return step ? giveValue(step, step->takes->getInputIndices(), index, value)
                : failUsage("step_input: no step");
  });
}

mp_opt_status mp_opt_step_state(const mp_opt_step *step, size_t index,
                                mp_opt_value *value) {
  return guard([&] {
    return step ? giveValue(step, step->getProgram().getStates(), index, value)
                : failUsage("step_state: no step");
  });
}

const char *mp_opt_step_output_name(const mp_opt_step *step, size_t index) {
  if (!step || index >= step->outputs.size())
    return nullptr;
  return step->getProgram()
      .getProgram()
      .getOutputs()[step->outputs[index]]
      .name.c_str();
}

mp_opt_status mp_opt_step_run(mp_opt_step *step, const mp_opt_array *batch,
                              size_t count, double rate,
                              mp_opt_buffer **outputs) {
  return guard([&] {
    if (!step || (count && !batch) || !outputs)
      return failUsage("step_run: no step, no batch, or no place for the "
                       "outputs");
    std::fill_n(outputs, step->outputs.size(), nullptr);
    return use(step, [&](mp_opt_step &step) -> Error {
      if (Error failed = run(step, ArrayRef(batch, count), rate))
        return failed;
      for (const auto &[index, named] :
           enumerate(step.getProgram().getOutputs()))
        outputs[index] = new mp_opt_buffer{named};
      return Error::success();
    });
  });
}

uint64_t mp_opt_step_count(const mp_opt_step *step) {
  return guardResult<uint64_t>(0, [&]() -> uint64_t {
    if (!step)
      return 0;
    std::lock_guard<std::mutex> lock(step->mutex);
    return step->session->getCount();
  });
}

double mp_opt_step_rate(const mp_opt_step *step) {
  return guardResult<double>(NAN, [&]() -> double {
    if (!step)
      return NAN;
    std::lock_guard<std::mutex> lock(step->mutex);
    return step->session->getRate().value_or(NAN);
  });
}

mp_opt_status mp_opt_step_get_states(mp_opt_step *step,
                                     mp_opt_buffer **states) {
  return guard([&] {
    if (!step || !states)
      return failUsage("step_get_states: no step, or no place for the states");
    std::fill_n(states, step->getProgram().getStates().size(), nullptr);
    return use(step, [&](mp_opt_step &step) -> Error {
      auto named = step.getProgram().fetchStates();
      if (!named)
        return named.takeError();
      std::vector<std::unique_ptr<mp_opt_buffer>> copies;
      for (const auto &[name, tensor] : *named) {
        auto copy = tensor.clone();
        if (!copy)
          return copy.takeError();
        copies.push_back(
            std::make_unique<mp_opt_buffer>(mp_opt_buffer{{name, *copy}}));
      }
      for (const auto &[index, copy] : enumerate(copies))
        states[index] = copy.release();
      return Error::success();
    });
  });
}

mp_opt_status mp_opt_step_set_states(mp_opt_step *step,
                                     const mp_opt_array *states,
                                     size_t num_states, int needs_all,
                                     uint64_t count) {
  return guard([&] {
    if (!step || (num_states && !states))
      return failUsage("step_set_states: no step, or no states");
    return use(step, [&](mp_opt_step &step) -> Error {
      std::vector<NamedTensor> named;
      for (const mp_opt_array &array : ArrayRef(states, num_states)) {
        std::string name = array.name ? array.name : "";
        Expected<Tensor> tensor = makeTensor(array, "state '" + name + "'");
        if (!tensor)
          return tensor.takeError();
        named.push_back({std::move(name), std::move(*tensor)});
      }
      if (Error failed = step.getProgram().setStates(named, needs_all != 0))
        return failed;
      step.session->setCount(count);
      return Error::success();
    });
  });
}

mp_opt_status mp_opt_step_save(mp_opt_step *step, const char *path,
                               uint32_t keep) {
  return guard([&] {
    if (!step || !path || !*path)
      return failUsage("step_save: no step, or no path");
    return use(
        step, [&](mp_opt_step &step) { return step.session->save(path, keep); },
        /*namesFile=*/true);
  });
}

mp_opt_status mp_opt_step_load(mp_opt_step *step, const char *path) {
  return guard([&] {
    if (!step || !path || !*path)
      return failUsage("step_load: no step, or no path");
    return use(
        step,
        [&](mp_opt_step &step) {
          return step.session->load(path, [&](const Twine &warning) {
            step.sink->report(path, mlir::DiagnosticSeverity::Warning,
                              warning.str());
          });
        },
        /*namesFile=*/true);
  });
}
