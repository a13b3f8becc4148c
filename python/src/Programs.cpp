//===- Programs.cpp - Compiled models and training steps ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Module.h"

namespace mp::python {

//===----------------------------------------------------------------------===//
// Programs and steps
//===----------------------------------------------------------------------===//

/// Returns the result of a call. The last entry of `made` is null.
static nb::tuple finish(const Outcome &outcome,
                        const std::vector<mp_opt_buffer *> &made,
                        bool isTorch) {
  std::vector<BufferHandle> buffers;
  for (size_t index = 0; index + 1 < made.size(); ++index)
    if (made[index])
      buffers.emplace_back(made[index]);
  if (PyErr_CheckSignals() != 0)
    throw nb::python_error();
  return give(outcome, makeArrays(std::move(buffers), isTorch));
}

namespace {
/// The listener is kept, since objects outlive their options.
struct Program {
  std::shared_ptr<Listener> listener;
  ProgramHandle handle;

  nb::list describe(bool isInput) const {
    nb::list values;
    size_t count = isInput ? mp_opt_program_num_inputs(handle.get())
                           : mp_opt_program_num_outputs(handle.get());
    for (size_t index = 0; index < count; ++index) {
      mp_opt_value value;
      auto get = isInput ? mp_opt_program_input : mp_opt_program_output;
      if (get(handle.get(), index, &value) == MP_OPT_STATUS_OK)
        values.append(describeValue(value));
    }
    return values;
  }

  nb::tuple run(nb::object names, nb::sequence values, nb::object prepare,
                bool isTorch) {
    Arrays arrays(names, values, prepare);
    std::vector<mp_opt_buffer *> made(mp_opt_program_num_outputs(handle.get()) +
                                      1);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_program_run(handle.get(), arrays.data(),
                                            arrays.size(), made.data()),
                         listener->take());
    }
    return finish(outcome, made, isTorch);
  }
};
} // namespace

namespace {
struct Compilation : Work {
  ProgramHandle program;

  mp_opt_status doRun() override {
    ModelHandle model;
    mp_opt_status status = source.read(options.handle.get(), model);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_program *made = nullptr;
    status = mp_opt_compile(model.get(), options.handle.get(), &made);
    program.reset(made);
    return status;
  }
};
} // namespace

static nb::tuple compile(nb::object model, std::string name, nb::list flags) {
  auto work = std::make_shared<Compilation>();
  work->command = "compile";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  runInterruptibly(work);
  nb::object program = nb::none();
  if (work->program)
    program =
        nb::cast(new Program{work->options.listener, std::move(work->program)},
                 nb::rv_policy::take_ownership);
  return give(work->outcome, program);
}

namespace {
struct Step {
  std::shared_ptr<Listener> listener;
  StepHandle handle;

  nb::list describe(bool isInput) const {
    nb::list values;
    size_t count = isInput ? mp_opt_step_num_inputs(handle.get())
                           : mp_opt_step_num_states(handle.get());
    for (size_t index = 0; index < count; ++index) {
      mp_opt_value value;
      auto get = isInput ? mp_opt_step_input : mp_opt_step_state;
      if (get(handle.get(), index, &value) == MP_OPT_STATUS_OK)
        values.append(describeValue(value));
    }
    return values;
  }

  nb::tuple run(nb::object names, nb::sequence values, double rate,
                nb::object prepare, bool isTorch) {
    Arrays arrays(names, values, prepare);
    std::vector<mp_opt_buffer *> made(mp_opt_step_num_outputs(handle.get()) +
                                      1);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_run(handle.get(), arrays.data(),
                                         arrays.size(), rate, made.data()),
                         listener->take());
    }
    return finish(outcome, made, isTorch);
  }

  nb::tuple getStates(bool isTorch) {
    std::vector<mp_opt_buffer *> made(mp_opt_step_num_states(handle.get()) + 1);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_get_states(handle.get(), made.data()),
                         listener->take());
    }
    return finish(outcome, made, isTorch);
  }

  nb::tuple setStates(nb::object names, nb::sequence values, bool needsAll,
                      uint64_t count, nb::object prepare) {
    Arrays arrays(names, values, prepare);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_set_states(handle.get(), arrays.data(),
                                                arrays.size(), needsAll, count),
                         listener->take());
    }
    return give(outcome);
  }

  nb::tuple save(std::string path, uint32_t keep) {
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_save(handle.get(), path.c_str(), keep),
                         listener->take());
    }
    return give(outcome);
  }

  nb::tuple load(std::string path) {
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_load(handle.get(), path.c_str()),
                         listener->take());
    }
    return give(outcome);
  }
};
} // namespace

namespace {
struct StepCompilation : Work {
  StepHandle step;

  mp_opt_status doRun() override {
    ModelHandle model;
    mp_opt_status status = source.read(options.handle.get(), model);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_step *made = nullptr;
    status = mp_opt_step_create(model.get(), options.handle.get(), &made);
    step.reset(made);
    return status;
  }
};
} // namespace

static nb::tuple createStep(nb::object model, std::string name,
                            nb::list flags) {
  auto work = std::make_shared<StepCompilation>();
  work->command = "train";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  runInterruptibly(work);
  nb::object step = nb::none();
  if (work->step)
    step = nb::cast(new Step{work->options.listener, std::move(work->step)},
                    nb::rv_policy::take_ownership);
  return give(work->outcome, step);
}

static nb::tuple setThreads(uint32_t count) {
  return give(conclude(mp_opt_set_num_threads(count)));
}

void addPrograms(nb::module_ &module) {
  module.def("compile", &compile);
  module.def("create_step", &createStep);
  module.def("set_num_threads", &setThreads);
  module.def("num_threads", &mp_opt_num_threads);
  nb::class_<Program>(module, "Program")
      .def("describe", &Program::describe)
      .def("run", &Program::run, nb::arg("names").none(), nb::arg("values"),
           nb::arg("prepare"), nb::arg("is_torch"));
  nb::class_<Step>(module, "Step")
      .def("describe", &Step::describe)
      .def("run", &Step::run, nb::arg("names").none(), nb::arg("values"),
           nb::arg("rate"), nb::arg("prepare"), nb::arg("is_torch"))
      .def("get_states", &Step::getStates)
      .def("set_states", &Step::setStates)
      .def("save", &Step::save)
      .def("load", &Step::load)
      .def(
          "count",
          [](const Step &step) { return mp_opt_step_count(step.handle.get()); })
      .def("rate", [](const Step &step) {
        return mp_opt_step_rate(step.handle.get());
      });
}

} // namespace mp::python
