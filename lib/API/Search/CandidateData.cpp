//===- CandidateData.cpp - Data of a model that gets smaller --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CandidateData.h"

#include "mp-opt/API/Run/InnerValues.h"
#include "mp-opt/API/Run/Session.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"

#include <cstring>

using namespace llvm;

namespace mp {

CandidateData::CandidateData(DataSet data) {
  for (NamedTensor &input : data.inputs)
    if (data.isPositional)
      unnamed.push_back(input);
    else
      known[input.name] = input.tensor;
}

Error CandidateData::check(Model &model, const DataSet &data) {
  auto inputs = model.getInputs({});
  if (!inputs)
    return inputs.takeError();
  return bindInputs(*inputs, data, {/*seed=*/0, /*onMessage=*/nullptr})
      .takeError();
}

/// The first elements of a tensor along each axis, if `sizes`, of which unknown
/// ones are negative, are smaller. Absent if the ranks differ or one is
/// greater.
static std::optional<Tensor> takeFirstElements(const Tensor &tensor,
                                               ArrayRef<int64_t> sizes) {
  unsigned bytes = getElementBytes(tensor.getKind());
  if (tensor.getSizes().size() != sizes.size() || !bytes)
    return std::nullopt;
  SmallVector<int64_t> taken;
  for (auto [wanted, held] : zip(sizes, tensor.getSizes())) {
    if (wanted > held)
      return std::nullopt;
    taken.push_back(wanted < 0 ? held : wanted);
  }
  if (ArrayRef<int64_t>(taken) == tensor.getSizes())
    return tensor;
  Expected<Tensor> smaller = Tensor::create(tensor.getKind(), taken);
  if (!smaller) {
    consumeError(smaller.takeError());
    return std::nullopt;
  }
  const char *from = static_cast<const char *>(tensor.getData());
  char *to = static_cast<char *>(smaller->getData());
  SmallVector<int64_t> index(taken.size(), 0);
  for (int64_t at = 0; at < smaller->getNumElements(); ++at) {
    int64_t place = 0;
    for (auto [position, size] : zip(index, tensor.getSizes()))
      place = place * size + position;
    std::memcpy(to + at * bytes, from + place * bytes, bytes);
    for (int axis = int(taken.size()) - 1;
         axis >= 0 && ++index[axis] == taken[axis]; --axis)
      index[axis] = 0;
  }
  return *smaller;
}

Expected<std::vector<NamedTensor>> CandidateData::bind(Model &model) const {
  auto inputs = model.getInputs({});
  if (!inputs)
    return inputs.takeError();
  DataSet data;
  data.path = "the data";
  for (auto [index, input] : enumerate(*inputs)) {
    auto named = known.find(input.name);
    const Tensor *held = named != known.end()     ? &named->second
                         : index < unnamed.size() ? &unnamed[index].tensor
                                                  : nullptr;
    if (auto tensor =
            held ? takeFirstElements(*held, input.sizes) : std::nullopt)
      data.inputs.push_back({input.name, *tensor});
  }
  auto bound = bindInputs(*inputs, data, {/*seed=*/0, /*onMessage=*/nullptr});
  if (!bound)
    return bound.takeError();
  std::vector<NamedTensor> tensors;
  for (auto [input, tensor] : zip(*inputs, *bound))
    if (tensor.getData())
      tensors.push_back({input.name, tensor});
  return tensors;
}

Expected<std::vector<NamedTensor>>
CandidateData::run(std::unique_ptr<Model> model, ArrayRef<NamedTensor> inputs,
                   bool exposesValues) {
  if (exposesValues) {
    StringSet<> names;
    mlir::ModuleOp module = model->getModule();
    for (mlir::Operation &op : getMainGraph(module).getBody().getOps())
      for (mlir::Value result : op.getResults())
        if (onnxir::isNode(&op) &&
            onnxir::getTensorElementType(result.getType()))
          names.insert(onnxir::getValueName(result));
    names.erase("");
    exposeValues(module, names);
  }
  DataSet data;
  data.path = "the data";
  data.inputs = inputs.vec();
  auto session = Session::create(std::move(model), data, {});
  if (!session)
    return session.takeError();
  return session->run();
}

void CandidateData::set(ArrayRef<NamedTensor> inputs,
                        ArrayRef<NamedTensor> values) {
  known.clear();
  unnamed.clear();
  for (const NamedTensor &tensor : inputs)
    known[tensor.name] = tensor.tensor;
  for (const NamedTensor &tensor : values)
    known[tensor.name] = tensor.tensor;
}

} // namespace mp
