//===- Subgraph.cpp - A compiled group of nodes ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subgraph.h"

#include <algorithm>
#include <mutex>

namespace mp::ort {

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

Subgraph::Subgraph(const Api &api, const Settings &settings, const Graph *graph,
                   const Node *fused)
    : api(api), settings(settings), name(api.getText(api.Node_GetName, fused)) {
  GraphView view(api, graph);
  GraphPart part;
  auto add = [&](std::vector<int> &list, auto count, auto fill) {
    for (const ValueInfo *info : api.getList(count, fill, fused))
      list.push_back(
          view.find(api.get<const char *>(api.GetValueInfoName, info)));
  };
  add(part.inputs, api.Node_GetNumInputs, api.Node_GetInputs);
  add(part.outputs, api.Node_GetNumOutputs, api.Node_GetOutputs);
  numOutputs = part.outputs.size();
  for (size_t index = 0; index < view.getNodes().size(); ++index)
    part.nodes.push_back(int(index));
  addConstants(view, part);
  ModelWriter writer(api, view, part);
  inputs = writer.getInputs();
  for (ModelInput &input : inputs) {
    isStatic &= input.type.isStatic();
    canBeGeneral &= input.type.hasRank;
    // Sizes of one name may differ: exporters give meaningless names.
    input.type.names.clear();
  }
  model = writer.write();
  modelSize = model.size();
  if (isStatic)
    general = compile(nullptr);
  ComputeInfo::createState = [](ComputeInfo *self, ComputeContext *,
                                void **state) -> Status * {
    *state = self;
    return nullptr;
  };
  ComputeInfo::compute = [](ComputeInfo *self, void *, KernelContext *context) {
    auto *own = static_cast<Subgraph *>(self);
    return own->api.guard(errorEP, [&] { own->run(context); });
  };
  ComputeInfo::releaseState = [](ComputeInfo *, void *) {};
}

/// Adds the values that no node computes and that are not inputs.
void Subgraph::addConstants(const GraphView &view, GraphPart &part) const {
  const std::vector<GraphValue> &values = view.getValues();
  for (const std::vector<int> *list : {&part.inputs, &part.outputs})
    if (std::find(list->begin(), list->end(), -1) != list->end())
      throw std::runtime_error("mp-opt: '" + name +
                               "' has inputs or outputs that are not in its "
                               "graph");
  for (int index = 0; index < int(values.size()); ++index) {
    const GraphValue &value = values[index];
    if (value.producer >= 0 || std::find(part.inputs.begin(), part.inputs.end(),
                                         index) != part.inputs.end())
      continue;
    if (!value.constant)
      throw std::runtime_error("mp-opt: '" + name + "': '" + value.name +
                               "' has no value");
    part.constants.push_back(index);
  }
}

/// The program for the sizes of arrays, or for any sizes.
Subgraph::SharedProgram
Subgraph::compile(const std::vector<mp_opt_array> *arrays) {
  std::vector<ModelInput> own = inputs;
  for (size_t index = 0; arrays && index < own.size(); ++index) {
    const mp_opt_array &array = (*arrays)[index];
    own[index].type.hasRank = true;
    own[index].type.sizes.assign(array.sizes, array.sizes + array.rank);
  }
  appendInputs(own, modelSize, model);
  return SharedProgram(compileModel(model, name + ".onnx", settings));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Programs for sizes are dropped if there are more of them.
static constexpr size_t maxForms = 64;

Subgraph::SharedProgram
Subgraph::find(const std::vector<int64_t> &sizes) const {
  std::shared_lock<std::shared_mutex> lock(mutex);
  for (const Form &form : forms)
    if (form.sizes == sizes)
      return form.program;
  return general;
}

/// Makes the program for any sizes once there are enough for known ones. False
/// if there is none.
bool Subgraph::compileGeneral() {
  if (!canBeGeneral || forms.size() < settings.getMaxSizes())
    return false;
  try {
    SharedProgram made = compile(nullptr);
    std::unique_lock<std::shared_mutex> lock(mutex);
    general = std::move(made);
    return true;
  } catch (const std::runtime_error &) {
    // Code for known sizes may still be possible.
    canBeGeneral = false;
    return false;
  }
}

Subgraph::SharedProgram
Subgraph::getProgram(const std::vector<mp_opt_array> &arrays) {
  // It is set before the first run, and then remains.
  if (isStatic)
    return general;
  std::vector<int64_t> sizes;
  for (const mp_opt_array &array : arrays) {
    sizes.push_back(array.rank);
    sizes.insert(sizes.end(), array.sizes, array.sizes + array.rank);
  }
  if (SharedProgram program = find(sizes))
    return program;
  std::lock_guard<std::mutex> one(compiling);
  // Another thread may have compiled it.
  if (SharedProgram program = find(sizes))
    return program;
  if (compileGeneral())
    return general;
  SharedProgram made = compile(&arrays);
  std::unique_lock<std::shared_mutex> lock(mutex);
  if (forms.size() >= maxForms)
    forms.erase(forms.begin());
  forms.push_back({std::move(sizes), made});
  return made;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The outputs of one run.
struct Subgraph::Call {
  const Api &api;
  KernelContext *context;
  size_t numOutputs;
  /// An error of onnxruntime.
  std::string error;
  /// Outputs that the model has in addition: new values of its inputs.
  std::vector<std::unique_ptr<char[]>> unread;
  const mp_opt_program *program;

  void *place(size_t output, const int64_t *sizes, size_t rank);
};

void *Subgraph::Call::place(size_t output, const int64_t *sizes, size_t rank) {
  try {
    if (output < numOutputs) {
      Value *value = nullptr;
      api.check(
          api.KernelContext_GetOutput(context, output, sizes, rank, &value));
      void *data = nullptr;
      api.check(api.GetTensorMutableData(value, &data));
      return data;
    }
    mp_opt_value described;
    checkCompiler(mp_opt_program_output(program, output, &described), "");
    size_t bytes = getElementSize(described.type);
    for (size_t axis = 0; axis < rank; ++axis)
      bytes *= size_t(sizes[axis]);
    unread.push_back(std::make_unique<char[]>(bytes));
    return unread.back().get();
  } catch (const std::exception &thrown) {
    error = thrown.what();
    return nullptr;
  }
}

void Subgraph::run(KernelContext *context) {
  std::vector<mp_opt_array> arrays(inputs.size());
  for (size_t index = 0; index < arrays.size(); ++index) {
    const Value *value = nullptr;
    api.check(api.KernelContext_GetInput(context, index, &value));
    if (!value)
      throw std::runtime_error("mp-opt: input '" + inputs[index].name +
                               "' is missing");
    TensorView tensor(api, value);
    // onnxruntime accepts [1] for a scalar.
    const TensorType &type = inputs[index].type;
    if (type.hasRank && type.sizes.empty() && tensor.rank == 1 &&
        tensor.sizes[0] == 1)
      tensor.rank = 0;
    uint64_t bytes = getElementSize(tensor.element);
    for (size_t axis = 0; axis < tensor.rank; ++axis)
      bytes *= uint64_t(tensor.sizes[axis]);
    arrays[index] = {nullptr,      tensor.element, int32_t(tensor.rank),
                     tensor.sizes, tensor.data,    bytes};
  }
  SharedProgram program = getProgram(arrays);
  Call call = {api, context, numOutputs, "", {}, program.get()};
  mp_opt_status status = mp_opt_program_run_into(
      program.get(), arrays.data(), arrays.size(),
      [](size_t output, const int64_t *sizes, int32_t rank, void *user) {
        return static_cast<Call *>(user)->place(output, sizes, size_t(rank));
      },
      &call);
  if (!call.error.empty())
    throw std::runtime_error(call.error);
  checkCompiler(status, "");
}

} // namespace mp::ort
