//===- SessionStart.cpp - Memory, kernels and graph of a session ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CPU/LastError.h"
#include "Session.h"

#include <cstdio>

using namespace mp::runtime;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t mp_session::getTotal() const {
  uint64_t total = plan.head->arena_bytes + controlBytes;
  for (uint64_t index = 0; index < plan.head->inputs.count; ++index)
    total += plan.getInputs()[index].bytes;
  for (uint64_t index = 0; index < plan.head->outputs.count; ++index)
    if (plan.getOutputs()[index].state < 0)
      total += plan.getOutputs()[index].bytes;
  for (uint64_t index = 0; index < plan.head->constants.count; ++index)
    total += plan.getConstants()[index].bytes;
  return total;
}

int32_t mp_session::allocate(mp_device_address &address, uint64_t size,
                             const char *what, const char *name) {
  // Kernels need an address even if there are no bytes.
  int32_t error = driver.cuMemAlloc_v2(&address, size ? size : 1);
  if (!error) {
    bytes += size;
    return MP_OK;
  }
  address = 0;
  char text[400];
  size_t unused = 0, total = 0;
  driver.cuMemGetInfo_v2(&unused, &total);
  std::snprintf(text, sizeof(text),
                "%llu bytes for %s%s%.100s%s were asked for, the model needs "
                "%llu in all, and %llu of %llu are unused",
                static_cast<unsigned long long>(size), what, *name ? " '" : "",
                name, *name ? "'" : "",
                static_cast<unsigned long long>(getTotal()),
                static_cast<unsigned long long>(unused),
                static_cast<unsigned long long>(total));
  return device.fail(error, "cuMemAlloc", text);
}

int32_t mp_session::makeTables() {
  const mp_plan &head = *plan.head;
  bool isMade =
      inputs.resize(head.inputs.count) && outputs.resize(head.outputs.count) &&
      constants.resize(head.constants.count) &&
      isSet.resize(head.inputs.count) && isState.resize(head.inputs.count) &&
      modules.resize(head.images.count) && functions.resize(head.kernels.count);
  return isMade ? MP_OK : refuseWith(MP_OUT_OF_MEMORY, "out of memory");
}

int32_t mp_session::allocate() {
  const mp_plan &head = *plan.head;
  if (int32_t code = allocate(control, controlBytes, "control words", ""))
    return code;
  if (int32_t code = allocate(arena, head.arena_bytes, "temporaries", ""))
    return code;
  for (uint64_t index = 0; index < head.inputs.count; ++index) {
    const mp_plan_buffer &buffer = plan.getInputs()[index];
    if (int32_t code = allocate(inputs[index], buffer.bytes, "input",
                                plan.getText(buffer.name)))
      return code;
    // Inputs without bytes need no data.
    isSet[index] = buffer.bytes == 0;
  }
  for (uint64_t index = 0; index < head.outputs.count; ++index) {
    const mp_plan_buffer &buffer = plan.getOutputs()[index];
    if (buffer.state >= 0) {
      isState[static_cast<uint64_t>(buffer.state)] = true;
      continue;
    }
    if (int32_t code = allocate(outputs[index], buffer.bytes, "output",
                                plan.getText(buffer.name)))
      return code;
  }
  for (uint64_t index = 0; index < head.constants.count; ++index)
    if (int32_t code =
            allocate(constants[index], plan.getConstants()[index].bytes,
                     "a constant", ""))
      return code;
  return MP_OK;
}

int32_t mp_session::clearControl() {
  upper = 0;
  if (int32_t error = driver.cuMemsetD8Async(control, 0, controlBytes, stream))
    return device.fail(error, "cuMemsetD8Async", "clearing control words");
  return MP_OK;
}

int32_t mp_session::upload(const void *const *data) {
  for (uint64_t index = 0; index < plan.head->constants.count; ++index) {
    uint64_t size = plan.getConstants()[index].bytes;
    if (!size)
      continue;
    if (int32_t error = driver.cuMemcpyHtoDAsync_v2(constants[index],
                                                    data[index], size, stream))
      return device.fail(error, "cuMemcpyHtoDAsync", "copying constants");
  }
  if (int32_t code = clearControl())
    return code;
  if (int32_t error = driver.cuStreamSynchronize(stream))
    return device.fail(error, "cuStreamSynchronize", "copying constants");
  return MP_OK;
}

mp_device_address LoadedPlan::getAddress(const mp_plan_place &given) const {
  mp_plan_place place = plan.resolve(given);
  switch (place.space) {
  case MP_SPACE_INPUT:
    return inputs[place.index] + place.offset;
  case MP_SPACE_OUTPUT:
    return outputs[place.index] + place.offset;
  case MP_SPACE_CONSTANT:
    return constants[place.index] + place.offset;
  case MP_SPACE_CONTROL:
    return control + place.offset;
  default:
    return arena + place.offset;
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

int32_t mp_session::loadModule(uint64_t index, const void *emulated) {
  uint64_t chosen = index;
  if (int32_t code = device.choose(plan, index, chosen))
    return code;
  const mp_plan_image &image = plan.getImages()[chosen];
  const void *content =
      image.kind == MP_IMAGE_EMULATED ? emulated : plan.getContent(image);
  if (!content)
    return refuseWith(MP_BAD_PLAN, "device '%s': there are no emulated kernels",
                      device.name);
  // The error log of the driver's PTX compiler.
  char log[600] = "";
  int32_t options[] = {MP_CUDA_JIT_ERROR_LOG, MP_CUDA_JIT_ERROR_LOG_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  int32_t error =
      driver.cuModuleLoadDataEx(&modules[index], content, 2, options, values);
  if (!error)
    return MP_OK;
  modules[index] = nullptr;
  char text[700];
  std::snprintf(text, sizeof(text), "loading kernels%s%s", *log ? ": " : "",
                log);
  return device.fail(error, "cuModuleLoadDataEx", text);
}

int32_t mp_session::load(const void *emulated) {
  for (uint64_t index = 0; index < plan.head->images.count; ++index)
    if (plan.getImages()[index].instead_of == -1)
      if (int32_t code = loadModule(index, emulated))
        return code;
  for (uint64_t index = 0; index < plan.head->kernels.count; ++index) {
    const mp_plan_kernel &kernel = plan.getKernels()[index];
    char text[200];
    std::snprintf(text, sizeof(text), "kernel '%.150s'",
                  plan.getText(kernel.name));
    void *&function = functions[index];
    if (int32_t error = driver.cuModuleGetFunction(
            &function, modules[kernel.image], plan.getText(kernel.name)))
      return device.fail(error, "cuModuleGetFunction", text);
    if (!kernel.shared)
      continue;
    if (int32_t error =
            driver.cuFuncSetAttribute(function, MP_CUDA_FUNCTION_SHARED,
                                      static_cast<int32_t>(kernel.shared)))
      return device.fail(error, "cuFuncSetAttribute", text);
  }
  return MP_OK;
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

int32_t mp_session::addFill(const mp_plan_record &record) {
  const mp_plan_place &place = getPlace(record, 0);
  mp_device_address to = getAddress(place);
  uint64_t count = place.bytes / record.value_bytes;
  if (!count)
    return 0;
  if (record.value_bytes == 1)
    return driver.cuMemsetD8Async(to, static_cast<uint8_t>(record.value), count,
                                  stream);
  if (record.value_bytes == 2)
    return driver.cuMemsetD16Async(to, static_cast<uint16_t>(record.value),
                                   count, stream);
  return driver.cuMemsetD32Async(to, record.value, count, stream);
}

/// Queues a record, or adds it to the graph that is being recorded.
int32_t mp_session::add(const mp_plan_record &record,
                        Array<mp_device_address> &addresses,
                        Array<void *> &parameters) {
  const char *function = "cuLaunchKernel";
  int32_t error = 0;
  if (record.kind == MP_RECORD_COPY) {
    function = "cuMemcpyDtoDAsync";
    const mp_plan_place &from = getPlace(record, 0);
    if (from.bytes)
      error = driver.cuMemcpyDtoDAsync_v2(getAddress(getPlace(record, 1)),
                                          getAddress(from), from.bytes, stream);
  } else if (record.kind == MP_RECORD_FILL) {
    function = "cuMemsetAsync";
    error = addFill(record);
  } else {
    for (uint32_t index = 0; index < record.num_places; ++index) {
      addresses[index] = getAddress(getPlace(record, index));
      parameters[index] = &addresses[index];
    }
    error = driver.cuLaunchKernel(
        functions[record.kernel], record.grid[0], record.grid[1],
        record.grid[2], record.block[0], record.block[1], record.block[2],
        record.shared, stream, parameters.get(), nullptr);
  }
  if (!error)
    return MP_OK;
  const char *node = plan.getText(record.node);
  const char *kernel = record.kind == MP_RECORD_LAUNCH
                           ? plan.getText(plan.getKernels()[record.kernel].name)
                           : "";
  char text[400];
  std::snprintf(text, sizeof(text), "recording %s%.150s%s%.200s",
                *kernel ? "kernel " : "a copy", kernel, *node ? " of " : "",
                node);
  return device.fail(error, function, text);
}

int32_t mp_session::record(bool whenSet, uint64_t begin, uint64_t end) {
  uint32_t most = 0;
  for (uint64_t index = begin; index < end; ++index)
    if (plan.getRecords()[index].num_places > most)
      most = plan.getRecords()[index].num_places;
  Array<mp_device_address> addresses;
  Array<void *> parameters;
  if (!addresses.resize(most) || !parameters.resize(most))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  for (uint64_t index = begin; index < end; ++index) {
    const mp_plan_record &one = plan.getRecords()[index];
    if (isReduction(one) || (one.when_set != 0) != whenSet)
      continue;
    if (int32_t code = add(one, addresses, parameters))
      return code;
  }
  return MP_OK;
}

int32_t mp_session::makeGraph(Piece &piece, uint64_t begin) {
  // True if the graph would have no nodes, in which case none is made.
  bool isEmpty = true;
  for (uint64_t index = begin; index < piece.firstReduction; ++index)
    isEmpty &= plan.getRecords()[index].when_set != 0;
  if (isEmpty)
    return MP_OK;
  if (int32_t error =
          driver.cuStreamBeginCapture_v2(stream, MP_CUDA_CAPTURE_THREAD_LOCAL))
    return device.fail(error, "cuStreamBeginCapture", "recording the model");
  int32_t code = record(/*whenSet=*/false, begin, piece.firstReduction);
  int32_t error = driver.cuStreamEndCapture(stream, &piece.graph);
  if (code)
    return code;
  if (error)
    return device.fail(error, "cuStreamEndCapture", "recording the model");
  error = driver.cuGraphInstantiateWithFlags(&piece.executable, piece.graph, 0);
  if (!error)
    return MP_OK;
  piece.executable = nullptr;
  return device.fail(error, "cuGraphInstantiateWithFlags",
                     "making a graph of the model");
}

/// The end of the reductions that begin at a record. A start after a wait may
/// use the result of that wait, so it ends the range.
static uint64_t findEnd(const PlanView &plan, uint64_t begin) {
  uint64_t end = begin;
  bool hasWaits = false;
  for (; end < plan.head->records.count; ++end) {
    const mp_plan_record &one = plan.getRecords()[end];
    if (!isReduction(one) || (hasWaits && one.kind == MP_RECORD_REDUCE_START))
      break;
    hasWaits |= one.kind == MP_RECORD_REDUCE_WAIT;
  }
  return end;
}

int32_t mp_session::makePieces() {
  uint64_t count = plan.head->records.count, most = count ? 1 : 0;
  for (uint64_t index = 0; index < count; ++index)
    most += isReduction(plan.getRecords()[index]);
  if (!pieces.resize(most))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  for (uint64_t begin = 0; begin < count;) {
    Piece &piece = pieces[pieceCount++];
    piece.firstReduction = begin;
    while (piece.firstReduction < count &&
           !isReduction(plan.getRecords()[piece.firstReduction]))
      ++piece.firstReduction;
    piece.end = findEnd(plan, piece.firstReduction);
    if (int32_t code = makeGraph(piece, begin))
      return code;
    begin = piece.end;
  }
  return MP_OK;
}

//===----------------------------------------------------------------------===//
// Creation and destruction
//===----------------------------------------------------------------------===//

int32_t mp_session::create(const mp_session_options &options) {
  if (const char *wrong = mp_check_plan(options.plan, options.plan_bytes))
    return refuseWith(MP_BAD_PLAN, "the plan of the model: %s", wrong);
  if (int32_t code = device.open(options.device))
    return code;
  if (int32_t code = device.check(plan))
    return code;
  Current current(device);
  if (current.error)
    return device.fail(current.error, "cuCtxPushCurrent", "using its context");
  if (int32_t error =
          driver.cuStreamCreate(&stream, MP_CUDA_STREAM_NON_BLOCKING)) {
    stream = nullptr;
    return device.fail(error, "cuStreamCreate", "making a stream");
  }
  if (int32_t code = makeTables())
    return code;
  if (int32_t code = load(options.emulated_image))
    return code;
  if (int32_t code = allocate())
    return code;
  if (int32_t code = upload(options.constants))
    return code;
  return makePieces();
}

/// Ignores errors: they follow from an earlier failure that was reported.
void mp_session::destroy() {
  if (!device.context)
    return;
  Current current(device);
  if (stream)
    driver.cuStreamSynchronize(stream);
  nextInputs.finish();
  for (uint64_t index = 0; index < pieceCount; ++index) {
    if (pieces[index].executable)
      driver.cuGraphExecDestroy(pieces[index].executable);
    if (pieces[index].graph)
      driver.cuGraphDestroy(pieces[index].graph);
  }
  onDevices.destroy();
  nextInputs.destroy();
  void *memories[] = {conditions, reducedMemory};
  for (void *memory : memories)
    if (memory)
      driver.cuMemFreeHost(memory);
  auto free = [&](Array<mp_device_address> &buffers, uint64_t count) {
    for (uint64_t index = 0; buffers.get() && index < count; ++index)
      if (buffers[index])
        driver.cuMemFree_v2(buffers[index]);
  };
  free(constants, plan.head->constants.count);
  free(outputs, plan.head->outputs.count);
  free(inputs, plan.head->inputs.count);
  if (arena)
    driver.cuMemFree_v2(arena);
  if (control)
    driver.cuMemFree_v2(control);
  for (uint64_t index = 0; modules.get() && index < plan.head->images.count;
       ++index)
    if (modules[index])
      driver.cuModuleUnload(modules[index]);
  if (stream)
    driver.cuStreamDestroy_v2(stream);
}
