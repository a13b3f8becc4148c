//===- CUDABackend.cpp - Programs on devices ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backends.h"
#include "LinkedCode.h"

#include "mp-opt/Emulation/EmulatedCode.h"
#include "mp-opt/Emulation/EmulatedDriver.h"
#include "mp-opt/Execution/DeviceFailure.h"
#include "mp-opt/Runtime/CompiledCode.h"
#include "mp-opt/Runtime/Device.h"
#include "mp-opt/Runtime/PlanView.h"

#include <cstring>

namespace mp {

char DeviceFailure::ID = 0;

void DeviceFailure::log(llvm::raw_ostream &os) const { os << text; }

std::error_code DeviceFailure::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

/// The error of a function of the run time that returned `code`.
static llvm::Error check(int32_t code) {
  if (code == MP_OK)
    return llvm::Error::success();
  if (code == MP_DEVICE_FAILED)
    return llvm::make_error<DeviceFailure>(mp_last_error());
  return llvm::createStringError(mp_last_error());
}

namespace {
/// A session of a plan. States are on the device; the caller's tensors have the
/// values from when they were given or fetched.
class CUDABackend : public Backend {
public:
  explicit CUDABackend(const ModelInterface &interface)
      : interface(interface) {}
  ~CUDABackend() override { mp_session_destroy(session); }

  llvm::Error load(ProgramCode &code, int deviceNumber) override;
  int64_t getArenaBytes() const override { return arenaBytes; }
  llvm::Error run(llvm::ArrayRef<Tensor> given, int64_t call,
                  llvm::SmallVectorImpl<Tensor> &results,
                  MeanwhileFn meanwhile) override;

  const mp_driver *getDriver() const override { return driver; }
  int getDeviceNumber() const override { return number; }

  llvm::Expected<std::string> prepareNextInputs() override;
  bool takesNextInput(unsigned input) const override {
    return mp_session_takes_next(session, input) != 0;
  }
  llvm::Error setNextInput(unsigned input, const Tensor &tensor) override;
  llvm::Error dropNextInputs() override;

  bool hasStatesApart() const override { return true; }
  llvm::Error fetchStates() override;
  void watchState(unsigned input) override {
    inputs[input].isWatched = inputs[input].isWritten;
  }
  void keepInput(unsigned input) override { inputs[input].isKept = true; }
  void changeInput(unsigned input) override { inputs[input].tensor = Tensor(); }

private:
  struct Input {
    /// True for a state, i.e. an output is written over it.
    bool isWritten = false;
    bool isWatched = false;
    /// True if it is copied only when the tensor changes.
    bool isKept = false;
    /// True if it was set for the next call.
    bool isNext = false;
    /// The tensor that was copied to the device. The elements of a state may be
    /// outdated.
    Tensor tensor;
  };

  llvm::Error loadKernels(ProgramCode &code);
  llvm::Error setInputs(llvm::ArrayRef<Tensor> given);
  llvm::Error getOutputs(llvm::SmallVectorImpl<Tensor> &results);
  llvm::Error getState(unsigned input);
  /// Waits for queued work, even after an error: the work uses the tensors.
  llvm::Error finish(llvm::Error error);

  const ModelInterface &interface;
  /// The packed plan, aligned to 8 bytes.
  std::vector<uint64_t> plan;
  int64_t arenaBytes = 0;
  LinkedCode kernels;
  mp_emulated_image image = {};
  const mp_driver *driver = nullptr;
  int number = 0;
  mp_session *session = nullptr;
  std::vector<Input> inputs;
  /// Indexed by output: the state that it is written over, or -1.
  std::vector<int64_t> written;
  bool isFetched = true;
};
} // namespace

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

llvm::Error CUDABackend::loadKernels(ProgramCode &code) {
  LinkedCode::Symbols symbols;
#define MP_EMULATED_FUNCTION(NAME)                                             \
  symbols.emplace_back(#NAME, reinterpret_cast<const void *>(&NAME));
#include "mp-opt/Emulation/Functions.def"
  // LLVM calls this function to convert lanes to bf16 if the processor has no
  // such type.
  symbols.emplace_back("__truncsfbf2",
                       reinterpret_cast<const void *>(&__truncsfbf2));
  if (llvm::Error error = kernels.link(std::move(code.objects), symbols))
    return error;
  auto table = kernels.find("mp_emulated_kernels");
  if (!table)
    return table.takeError();
  auto count = kernels.find("mp_emulated_kernel_count");
  if (!count)
    return count.takeError();
  std::memcpy(image.mark, MP_EMULATED_MARK, sizeof(image.mark));
  image.kernels = static_cast<const mp_emulated_kernel *>(*table);
  image.count = *static_cast<const uint32_t *>(*count);
  return llvm::Error::success();
}

llvm::Error CUDABackend::load(ProgramCode &code, int deviceNumber) {
  plan.resize(llvm::divideCeil(code.plan.size(), sizeof(uint64_t)));
  std::memcpy(plan.data(), code.plan.data(), code.plan.size());
  if (const char *wrong = mp_check_plan(plan.data(), code.plan.size()))
    return llvm::createStringError("a plan for a device: " +
                                   llvm::Twine(wrong));
  runtime::PlanView view{reinterpret_cast<const mp_plan *>(plan.data())};
  if (view.head->inputs.count != interface.inputs.size() ||
      view.head->outputs.count != interface.outputs.size() ||
      view.head->constants.count != interface.constants.size())
    return llvm::createStringError("the plan is of another model");
  arenaBytes = int64_t(view.head->arena_bytes);
  inputs.resize(interface.inputs.size());
  for (size_t index = 0; index < interface.outputs.size(); ++index) {
    written.push_back(view.getOutputs()[index].state);
    if (written.back() >= 0)
      inputs[written.back()].isWritten = true;
  }
  mp_session_options options = {};
  options.plan = plan.data();
  options.plan_bytes = code.plan.size();
  std::vector<const void *> constants;
  for (auto [index, constant] : llvm::enumerate(interface.constants)) {
    if (constant.getNumBytes() != view.getConstants()[index].bytes)
      return llvm::createStringError("the plan is of another model");
    constants.push_back(constant.getData());
  }
  options.constants = constants.data();
  if (code.device == DeviceKind::Emulated) {
    if (llvm::Error error = loadKernels(code))
      return error;
    options.driver = mp_emulated_driver();
    options.emulated_image = &image;
  } else if (llvm::Error error = check(mp_cuda_driver(&options.driver))) {
    return error;
  }
  // Errors are reported when the session is created.
  int32_t count = 0;
  if (options.driver->cuInit(0) == 0 &&
      options.driver->cuDeviceGetCount(&count) == 0 && count > 0)
    options.device = deviceNumber % count;
  driver = options.driver;
  number = options.device;
  return check(mp_session_create(&options, &session));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

llvm::Error CUDABackend::setInputs(llvm::ArrayRef<Tensor> given) {
  for (auto [index, tensor] : llvm::enumerate(given)) {
    Input &input = inputs[index];
    if (std::exchange(input.isNext, false))
      continue;
    bool stays = input.isWritten || input.isKept;
    if (stays && input.tensor.getData() &&
        input.tensor.getData() == tensor.getData())
      continue;
    if (llvm::Error error =
            check(mp_session_set(session, index, tensor.getData())))
      return error;
    // The tensor is kept, so that no other tensor can get its memory.
    if (stays)
      input.tensor = tensor;
  }
  return llvm::Error::success();
}

llvm::Error CUDABackend::getState(unsigned input) {
  return check(mp_session_get(session, input, inputs[input].tensor.getData()));
}

llvm::Error CUDABackend::getOutputs(llvm::SmallVectorImpl<Tensor> &results) {
  for (auto [index, output] : llvm::enumerate(interface.outputs)) {
    if (written[index] >= 0) {
      results.push_back(inputs[written[index]].tensor);
      continue;
    }
    llvm::Expected<Tensor> made = Tensor::create(output.kind, output.sizes);
    if (!made)
      return made.takeError();
    if (llvm::Error error =
            check(mp_session_get_output(session, index, made->getData())))
      return error;
    results.push_back(std::move(*made));
  }
  for (auto [index, input] : llvm::enumerate(inputs))
    if (input.isWatched)
      if (llvm::Error error = getState(index))
        return error;
  return llvm::Error::success();
}

llvm::Error CUDABackend::finish(llvm::Error error) {
  llvm::Error failed = check(mp_session_wait(session));
  if (!error)
    return failed;
  llvm::consumeError(std::move(failed));
  return error;
}

llvm::Error CUDABackend::run(llvm::ArrayRef<Tensor> given, int64_t call,
                             llvm::SmallVectorImpl<Tensor> &results,
                             MeanwhileFn meanwhile) {
  llvm::SmallVector<Tensor> made;
  llvm::Error error = setInputs(given);
  if (!error)
    error = check(mp_session_run(session, call));
  isFetched = false;
  // Copies of outputs to pageable memory may wait for the call.
  if (!error && meanwhile)
    error = meanwhile();
  if (!error)
    error = getOutputs(made);
  if (llvm::Error failed = finish(std::move(error)))
    return failed;
  results.assign(made.begin(), made.end());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Inputs of the next call
//===----------------------------------------------------------------------===//

llvm::Expected<std::string> CUDABackend::prepareNextInputs() {
  int32_t code = mp_session_prepare_next(session);
  if (code == MP_OUT_OF_MEMORY)
    return mp_last_error();
  if (llvm::Error error = check(code))
    return error;
  return std::string();
}

llvm::Error CUDABackend::setNextInput(unsigned input, const Tensor &tensor) {
  if (llvm::Error error =
          check(mp_session_set_next(session, input, tensor.getData())))
    return error;
  inputs[input].isNext = true;
  // A kept input has another tensor now.
  inputs[input].tensor = Tensor();
  return llvm::Error::success();
}

llvm::Error CUDABackend::dropNextInputs() {
  for (Input &input : inputs)
    input.isNext = false;
  return check(mp_session_finish_next(session));
}

llvm::Error CUDABackend::fetchStates() {
  if (isFetched)
    return llvm::Error::success();
  llvm::Error error = llvm::Error::success();
  for (auto [index, input] : llvm::enumerate(inputs))
    if (input.isWritten && input.tensor.getData() && !error)
      error = getState(index);
  if (llvm::Error failed = finish(std::move(error)))
    return failed;
  isFetched = true;
  return llvm::Error::success();
}

std::unique_ptr<Backend> createCUDABackend(const ModelInterface &interface) {
  return std::make_unique<CUDABackend>(interface);
}

} // namespace mp
