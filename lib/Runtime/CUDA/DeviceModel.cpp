//===- DeviceModel.cpp - Models on devices, in libraries ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Runtime/DeviceModel.h"

#include "../CPU/Internal.h"
#include "../CPU/LastError.h"
#include "../CPU/Memory.h"
#include "Session.h"
#include "mp-opt/Runtime/Device.h"

#include <cstring>
#include <new>

using namespace mp::runtime;

namespace {

/// The content of an input on the device between calls.
enum class Kept : uint8_t {
  Nothing,
  /// The input's default.
  Initial,
  /// The value that the last call has written.
  State
};

/// State that is kept between calls of a model.
struct Calls {
  Mutex mutex;
  int32_t device = 0;
  mp_session *session = nullptr;
  Array<Kept> kept;
  /// A call has failed on the device, so states may be lost.
  bool hasFailed = false;
};

Mutex creation;

/// Returns null if there is no memory.
Calls *getCalls(mp_device_model &model) {
  Lock lock(creation);
  if (!model.calls)
    if (void *memory = std::malloc(sizeof(Calls)))
      model.calls = new (memory) Calls;
  return static_cast<Calls *>(model.calls);
}

/// Runs one call.
class DeviceCall {
public:
  DeviceCall(mp_device_model &model, Calls &calls, const mp_tensor *inputs,
             mp_tensor *outputs)
      : model(model), interface(*model.interface), calls(calls), inputs(inputs),
        outputs(outputs) {}

  int32_t run();

private:
  int32_t checkInput(int32_t index) const;
  int32_t open();
  int32_t call();
  int32_t setInput(int32_t index);
  int32_t getOutput(int32_t index);
  /// Waits for queued work in any case, since it reads the caller's memory.
  int32_t finish(int32_t code);

  bool isWritten(const mp_value &output) const {
    return output.state >= 0 && interface.inputs[output.state].written;
  }

  mp_device_model &model;
  const mp_interface &interface;
  Calls &calls;
  const mp_tensor *inputs;
  mp_tensor *outputs;
};

} // namespace

static bool isEmpty(const mp_value &value) {
  for (int32_t axis = 0; axis < value.rank; ++axis)
    if (value.sizes[axis] == 0)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Preparation on the host
//===----------------------------------------------------------------------===//

int32_t DeviceCall::checkInput(int32_t index) const {
  const mp_value &value = interface.inputs[index];
  const mp_tensor &given = inputs[index];
  for (int32_t axis = 0; given.sizes && axis < value.rank; ++axis)
    if (given.sizes[axis] != value.sizes[axis])
      return refuseWith(MP_BAD_INPUT,
                        "input '%s': size %lld of axis %d, expected %lld",
                        value.name, static_cast<long long>(given.sizes[axis]),
                        axis, static_cast<long long>(value.sizes[axis]));
  if (given.data || isEmpty(value))
    return MP_OK;
  if (value.written && calls.hasFailed)
    return refuse(MP_BAD_INPUT, value.name,
                  "no data, but a call before has failed on the device: what "
                  "it has left there is unknown");
  if (value.initial ||
      (value.written && calls.kept.get() && calls.kept[index] == Kept::State))
    return MP_OK;
  return refuse(MP_BAD_INPUT, value.name, "no data");
}

int32_t DeviceCall::open() {
  if (calls.session)
    return MP_OK;
  if (!calls.kept.get() &&
      !calls.kept.resize(static_cast<uint64_t>(interface.num_inputs)))
    return refuse(MP_OUT_OF_MEMORY, nullptr, "out of memory");
  mp_session_options options = {};
  options.plan = model.plan;
  options.plan_bytes = model.plan_bytes;
  options.constants = model.constants;
  options.emulated_image = model.emulated_image;
  options.device = calls.device;
  if (int32_t code = model.open_driver(&options.driver))
    return code;
  return mp_session_create(&options, &calls.session);
}

//===----------------------------------------------------------------------===//
// Work on the device
//===----------------------------------------------------------------------===//

int32_t DeviceCall::setInput(int32_t index) {
  const mp_value &value = interface.inputs[index];
  Kept &kept = calls.kept[index];
  const void *data = inputs[index].data;
  if (!data && (kept != Kept::Nothing || !value.initial))
    return MP_OK;
  kept = data ? Kept::Nothing : Kept::Initial;
  return mp_session_set(calls.session, static_cast<uint32_t>(index),
                        data ? data : value.initial);
}

int32_t DeviceCall::getOutput(int32_t index) {
  const mp_value &value = interface.outputs[index];
  mp_tensor &output = outputs[index];
  if (output.sizes && value.rank)
    std::memcpy(output.sizes, value.sizes, value.rank * sizeof(int64_t));
  auto place = static_cast<uint32_t>(index);
  if (isWritten(value)) {
    void *data = inputs[value.state].data;
    if (output.data && output.data != data)
      if (int32_t code =
              mp_session_get_output(calls.session, place, output.data))
        return code;
    if (!data)
      return MP_OK;
    output.data = output.data ? output.data : data;
    return mp_session_get_output(calls.session, place, data);
  }
  if (!output.data)
    output.data = allocateAligned(
        static_cast<int64_t>(calls.session->plan.getOutputs()[place].bytes));
  if (!output.data)
    return refuse(MP_OUT_OF_MEMORY, nullptr, "out of memory for an output");
  return mp_session_get_output(calls.session, place, output.data);
}

int32_t DeviceCall::finish(int32_t code) {
  char text[lastErrorBytes];
  if (code)
    std::memcpy(text, getLastError(), sizeof(text));
  int32_t waited = mp_session_wait(calls.session);
  if (!code)
    return waited;
  std::memcpy(getLastError(), text, sizeof(text));
  return code;
}

int32_t DeviceCall::call() {
  for (int32_t index = 0; index < interface.num_inputs; ++index)
    if (int32_t code = setInput(index))
      return code;
  int64_t number = __atomic_fetch_add(interface.calls, 1, __ATOMIC_RELAXED);
  if (int32_t code = mp_session_run(calls.session, number))
    return code;
  for (int32_t index = 0; index < interface.num_outputs; ++index)
    if (int32_t code = getOutput(index))
      return code;
  return MP_OK;
}

int32_t DeviceCall::run() {
  clearLastError();
  for (int32_t index = 0; index < interface.num_inputs; ++index)
    if (int32_t code = checkInput(index))
      return code;
  if (int32_t code = open())
    return code;
  Array<void *> given;
  if (!given.resize(static_cast<uint64_t>(interface.num_outputs)))
    return refuse(MP_OUT_OF_MEMORY, nullptr, "out of memory");
  for (int32_t index = 0; index < interface.num_outputs; ++index)
    given[index] = outputs[index].data;
  int32_t code = finish(call());
  calls.hasFailed = code != MP_OK;
  for (int32_t index = 0; index < interface.num_inputs; ++index)
    if (code)
      calls.kept[index] = Kept::Nothing;
    else if (interface.inputs[index].written)
      calls.kept[index] = Kept::State;
  for (int32_t index = 0; code && index < interface.num_outputs; ++index) {
    bool isMade = !given[index] && !isWritten(interface.outputs[index]);
    if (isMade)
      std::free(outputs[index].data);
    outputs[index].data = given[index];
  }
  return code;
}

//===----------------------------------------------------------------------===//
// C
//===----------------------------------------------------------------------===//

int32_t mp_device_run(mp_device_model *model, const mp_tensor *inputs,
                      mp_tensor *outputs) {
  Calls *calls = getCalls(*model);
  if (!calls)
    return refuse(MP_OUT_OF_MEMORY, nullptr, "out of memory");
  Lock lock(calls->mutex);
  return DeviceCall(*model, *calls, inputs, outputs).run();
}

int32_t mp_device_choose(mp_device_model *model, int32_t number) {
  Calls *calls = getCalls(*model);
  if (!calls)
    return refuse(MP_OUT_OF_MEMORY, nullptr, "out of memory");
  Lock lock(calls->mutex);
  clearLastError();
  if (number < 0)
    return refuseWith(MP_BAD_INPUT, "device %d: expected a number from 0 on",
                      number);
  if (calls->session && calls->device != number)
    return refuseWith(MP_BAD_INPUT,
                      "device %d: calls have used device %d, which is to be "
                      "released first",
                      number, calls->device);
  calls->device = number;
  return MP_OK;
}

void mp_device_release(mp_device_model *model) {
  Lock lock(creation);
  auto *calls = static_cast<Calls *>(model->calls);
  if (!calls || !calls->session)
    return;
  mp_session_destroy(calls->session);
  calls->session = nullptr;
  calls->hasFailed = false;
  for (int32_t index = 0;
       calls->kept.get() && index < model->interface->num_inputs; ++index)
    calls->kept[index] = Kept::Nothing;
}
