//===- Session.cpp - A model compiled for its data ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Session.h"

using namespace llvm;

namespace mp {

void addSizes(ArrayRef<ModelValue> inputs, ArrayRef<Tensor> data,
              CompileOptions &options) {
  for (auto [input, tensor] : llvm::zip(inputs, data))
    if (tensor.getData())
      options.inputSizes[input.name] = llvm::to_vector(tensor.getSizes());
}

Expected<SmallVector<Tensor>>
runByName(Program &program, ArrayRef<NamedTensor> inputs, int64_t number) {
  StringMap<Tensor> byName;
  for (const auto &[name, tensor] : inputs)
    byName[name] = tensor;
  std::vector<Tensor> given;
  for (const ProgramValue &input : program.getInputs())
    given.push_back(byName.lookup(input.name));
  program.setCallNumber(number);
  SmallVector<Tensor> outputs;
  if (Error failed = program.run(given, outputs))
    return failed;
  return outputs;
}

Expected<Session> Session::create(std::unique_ptr<Model> model,
                                  const DataSet &data,
                                  const SessionOptions &options) {
  CompileOptions compile = options.compile;
  auto inputs = model->getInputs(compile.dims);
  if (!inputs)
    return inputs.takeError();
  auto bound = bindInputs(*inputs, data, options.binding);
  if (!bound)
    return bound.takeError();
  addSizes(*inputs, *bound, compile);
  auto program = model->compile(compile);
  if (!program)
    return program.takeError();
  Session session;
  session.model = std::move(model);
  session.program = std::move(*program);
  session.inputs = std::move(*bound);
  return session;
}

Error Session::takeStates() {
  for (const ProgramValue &output : program->getOutputs()) {
    if (output.state < 0 || inputs[output.state].getData() ||
        !program->getInputs()[output.state].hasDefault)
      continue;
    Expected<Tensor> state = program->takeDefault(output.state);
    if (!state)
      return state.takeError();
    inputs[output.state] = std::move(*state);
  }
  return Error::success();
}

Expected<std::vector<NamedTensor>> Session::run() {
  SmallVector<Tensor> results;
  if (Error failed = program->run(inputs, results))
    return failed;
  if (Error failed = program->fetchStates())
    return failed;
  std::vector<NamedTensor> outputs;
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), results))
    outputs.push_back({value.name, tensor});
  return outputs;
}

} // namespace mp
