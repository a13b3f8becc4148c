//===- Programs.cpp - Compiled models in the C API ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "Graph/Passes.h"
#include "Lowering/Passes.h"
#include "mp-opt/API/Model/Error.h"

#include "mlir/Pass/PassManager.h"

using namespace llvm;

namespace mp {

/// The indices of all inputs.
static SmallVector<unsigned> countUp(size_t count) {
  SmallVector<unsigned> indices;
  for (unsigned index = 0; index < count; ++index)
    indices.push_back(index);
  return indices;
}

static mp_opt_status compile(mp_opt_model &model, const mp_opt_options *options,
                             mp_opt_program **program) {
  auto request = makeRequest(options, "compile");
  if (!request)
    return fail(request.takeError(), model.sink.get());
  if ((*request)->convertFlags || (*request)->rateFlags)
    return failUsage("compile: expected options of 'compile'");
  mlir::DialectRegistry registry;
  if (Error failed = (*request)->complete(registry))
    return fail(std::move(failed), model.sink.get());
  ModelFlags &flags = (*request)->model;
  auto made = std::make_unique<mp_opt_program>();
  made->sink = model.sink;
  made->model = std::move(model.model);
  Model &inner = *made->model;
  if (Error failed =
          ModelFlags::prepare(inner, flags.getPrecision(), flags.sizes))
    return fail(std::move(failed), model.sink.get(), inner.getName());
  auto form = inner.getInputs(flags.sizes);
  if (!form)
    return fail(form.takeError(), model.sink.get(), inner.getName());
  auto compiled = inner.compile(flags.getOptions());
  if (!compiled)
    return fail(compiled.takeError(), model.sink.get(), inner.getName());
  made->program = std::move(*compiled);
  ArrayRef<ProgramValue> inputs = made->program->getInputs();
  made->takes.emplace(inputs, *form, countUp(inputs.size()));
  made->isInPlace = flags.inPlace;
  *program = made.release();
  return succeed();
}

static mp_opt_status checkCompile(mp_opt_model &handle) {
  std::unique_ptr<Model> model = std::move(handle.model);
  mlir::ModuleOp module = model->getModule();
  mlir::PassManager manager(module.getContext(),
                            mlir::ModuleOp::getOperationName());
  // As when code is made.
  manager.enableVerifier(false);
  manager.addPass(createInlineFunctions());
  manager.addPass(createStackSequences());
  manager.addPass(createConvertONNXToLinalg());
  if (succeeded(manager.run(module)))
    return succeed();
  return fail(makeError({ErrorKind::NotSupported, "it cannot be compiled"}),
              handle.sink.get(), model->getName());
}

static Error runInto(mp_opt_program &handle, ArrayRef<mp_opt_array> arrays,
                     mp_opt_output_fn place, void *user) {
  ArrayRef<ProgramValue> inputs = handle.program->getInputs();
  if (arrays.size() != inputs.size())
    return makeError({ErrorKind::Usage,
                      ("program_run_into: expected " + Twine(inputs.size()) +
                       " arrays, got " + Twine(arrays.size()))
                          .str()});
  SmallVector<Tensor> values;
  for (const auto &[input, array] : zip(inputs, arrays)) {
    Expected<Tensor> value = makeTensor(array, "input '" + input.name + "'");
    if (!value)
      return value.takeError();
    values.push_back(std::move(*value));
  }
  return handle.program->runInto(
      values, [&](unsigned output, ArrayRef<int64_t> sizes) {
        return place(output, sizes.data(), int32_t(sizes.size()), user);
      });
}

static Error run(mp_opt_program &handle, ArrayRef<mp_opt_array> arrays,
                 SmallVectorImpl<Tensor> &results) {
  Program &program = *handle.program;
  ArrayRef<ProgramValue> inputs = program.getInputs();
  std::vector<Tensor> values(inputs.size());
  if (Error failed = handle.takes->bind(arrays, values, *handle.sink,
                                        handle.model->getName()))
    return failed;
  // Calls may only overwrite memory of the library.
  if (handle.isInPlace)
    for (const ProgramValue &output : program.getOutputs())
      if (output.state >= 0 && values[output.state].getData()) {
        auto own = values[output.state].clone();
        if (!own)
          return own.takeError();
        values[output.state] = std::move(*own);
      }
  if (Error failed = program.run(values, results))
    return failed;
  return program.fetchStates();
}

static mp_opt_status giveValue(ArrayRef<ProgramValue> values, size_t index,
                               mp_opt_value *value) {
  if (!value || index >= values.size())
    return failUsage("there are " + Twine(values.size()) +
                     ", asked for number " + Twine(index));
  *value = describe(values[index]);
  return succeed();
}

} // namespace mp

using namespace mp;

mp_opt_status mp_opt_compile(mp_opt_model *model, const mp_opt_options *options,
                             mp_opt_program **program) {
  return guard([&] {
    if (!model || !program)
      return failUsage("compile: no model, or no place for the program");
    *program = nullptr;
    std::lock_guard<std::mutex> lock(model->mutex);
    if (!model->model)
      return failUsage("compile: the model is used up");
    model->sink->begin(options);
    return compile(*model, options, program);
  });
}

mp_opt_status mp_opt_check_compile(mp_opt_model *model) {
  return guard([&] {
    if (!model)
      return failUsage("check_compile: no model");
    std::lock_guard<std::mutex> lock(model->mutex);
    if (!model->model)
      return failUsage("check_compile: the model is used up");
    model->sink->begin(nullptr);
    return checkCompile(*model);
  });
}

void mp_opt_program_destroy(mp_opt_program *program) { delete program; }

size_t mp_opt_program_num_inputs(const mp_opt_program *program) {
  return program ? program->program->getInputs().size() : 0;
}

size_t mp_opt_program_num_outputs(const mp_opt_program *program) {
  return program ? program->program->getOutputs().size() : 0;
}

mp_opt_status mp_opt_program_input(const mp_opt_program *program, size_t index,
                                   mp_opt_value *value) {
  return guard([&] {
    return program ? giveValue(program->program->getInputs(), index, value)
                   : failUsage("program_input: no program");
  });
}

mp_opt_status mp_opt_program_output(const mp_opt_program *program, size_t index,
                                    mp_opt_value *value) {
  return guard([&] {
    return program ? giveValue(program->program->getOutputs(), index, value)
                   : failUsage("program_output: no program");
  });
}

mp_opt_status mp_opt_program_run(mp_opt_program *program,
                                 const mp_opt_array *inputs, size_t num_inputs,
                                 mp_opt_buffer **outputs) {
  return guard([&] {
    if (!program || (num_inputs && !inputs) || !outputs)
      return failUsage("program_run: no program, no inputs, or no place for "
                       "the outputs");
    std::lock_guard<std::mutex> lock(program->mutex);
    ArrayRef<ProgramValue> values = program->program->getOutputs();
    std::fill_n(outputs, values.size(), nullptr);
    program->sink->begin(nullptr);
    SmallVector<Tensor> results;
    if (Error failed = run(*program, ArrayRef(inputs, num_inputs), results))
      return fail(std::move(failed), program->sink.get(),
                  program->model->getName());
    for (const auto &[index, tensor] : enumerate(results))
      outputs[index] = new mp_opt_buffer{{values[index].name, tensor}};
    return succeed();
  });
}

mp_opt_status mp_opt_program_run_into(mp_opt_program *program,
                                      const mp_opt_array *inputs,
                                      size_t num_inputs, mp_opt_output_fn place,
                                      void *user) {
  return guard([&] {
    if (!program || (num_inputs && !inputs) || !place)
      return failUsage("program_run_into: no program, no inputs, or no place "
                       "for the outputs");
    if (program->isInPlace || program->program->getDriver())
      return failUsage("program_run_into: expected a program for the "
                       "processor, without in-place");
    if (Error failed =
            runInto(*program, ArrayRef(inputs, num_inputs), place, user))
      return fail(std::move(failed));
    return succeed();
  });
}

mp_opt_status mp_opt_set_num_threads(uint32_t count) {
  return guard([&] {
    if (count < 1 || count > 65536)
      return failUsage("expected 1 to 65536 threads, got " + Twine(count));
    setNumThreads(count);
    return succeed();
  });
}

uint32_t mp_opt_num_threads(void) {
  return guardResult<uint32_t>(1, [] { return getNumThreads(); });
}
