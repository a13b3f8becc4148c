//===- DeviceProgram.cpp - A model on a device ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceProgram.h"

#include "mp-opt/Emulation/EmulatedCode.h"
#include "mp-opt/Execution/DeviceFailure.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Runtime/CompiledCode.h"

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

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

DeviceProgram::~DeviceProgram() { mp_session_destroy(session); }

llvm::Error DeviceProgram::loadKernels(ProgramCode &code) {
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

llvm::Error DeviceProgram::load(ProgramCode &code, int deviceNumber) {
  llvm::Expected<DevicePlan> unpacked = DevicePlan::unpack(code.plan);
  if (!unpacked)
    return unpacked.takeError();
  const ModelInterface &interface = code.interface;
  if (unpacked->inputs.size() != interface.inputs.size() ||
      unpacked->outputs.size() != interface.outputs.size() ||
      unpacked->constants.size() != interface.constants.size())
    return llvm::createStringError("the plan is of another model");
  arenaBytes = unpacked->arenaBytes;
  inputs.resize(unpacked->inputs.size());
  for (const DevicePlan::Buffer &output : unpacked->outputs) {
    written.push_back(output.state);
    if (output.state >= 0)
      inputs[output.state].isWritten = true;
  }
  plan.resize(code.plan.size() / sizeof(uint64_t));
  std::memcpy(plan.data(), code.plan.data(), code.plan.size());
  mp_session_options options = {};
  options.plan = plan.data();
  options.plan_bytes = code.plan.size();
  std::vector<const void *> constants;
  for (auto [constant, buffer] :
       llvm::zip(interface.constants, unpacked->constants)) {
    if (constant.getNumBytes() != buffer.bytes)
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

void DeviceProgram::watchState(unsigned input) {
  inputs[input].isWatched = inputs[input].isWritten;
}

void DeviceProgram::keepInput(unsigned input) { inputs[input].isKept = true; }

void DeviceProgram::changeInput(unsigned input) {
  inputs[input].tensor = Tensor();
}

llvm::Error DeviceProgram::setInputs(llvm::ArrayRef<Tensor> given) {
  for (auto [index, tensor] : llvm::enumerate(given)) {
    Input &input = inputs[index];
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

llvm::Error DeviceProgram::getState(unsigned input) {
  return check(mp_session_get(session, input, inputs[input].tensor.getData()));
}

llvm::Error DeviceProgram::getOutputs(const ModelInterface &interface,
                                      llvm::SmallVectorImpl<Tensor> &results) {
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

llvm::Error DeviceProgram::run(llvm::ArrayRef<Tensor> given, int64_t number,
                               const ModelInterface &interface,
                               llvm::SmallVectorImpl<Tensor> &results) {
  llvm::SmallVector<Tensor> made;
  llvm::Error error = setInputs(given);
  if (!error)
    error = check(mp_session_run(session, number));
  isFetched = false;
  if (!error)
    error = getOutputs(interface, made);
  // Wait even after an error, since queued calls use the tensors.
  llvm::Error failed = check(mp_session_wait(session));
  if (error) {
    llvm::consumeError(std::move(failed));
    return error;
  }
  if (failed)
    return failed;
  results.assign(made.begin(), made.end());
  return llvm::Error::success();
}

llvm::Error DeviceProgram::fetchStates() {
  if (isFetched)
    return llvm::Error::success();
  llvm::Error error = llvm::Error::success();
  for (auto [index, input] : llvm::enumerate(inputs))
    if (input.isWritten && input.tensor.getData() && !error)
      error = getState(index);
  llvm::Error failed = check(mp_session_wait(session));
  if (error) {
    llvm::consumeError(std::move(failed));
    return error;
  }
  if (failed)
    return failed;
  isFetched = true;
  return llvm::Error::success();
}

} // namespace mp
