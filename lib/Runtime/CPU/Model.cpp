//===- Model.cpp - Models in libraries of their own -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Combines the caller's arguments with data and sizes from the model's
// interface.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <cstdlib>
#include <cstring>

using namespace mp::runtime;

namespace {

/// The arguments of a body. A jump may leave the body, so its caller frees
/// them.
class Arguments {
public:
  explicit Arguments(const mp_interface &interface) : interface(interface) {
    int64_t numSizes = 0;
    for (int32_t index = 0; index < interface.num_inputs; ++index)
      numSizes += interface.inputs[index].rank;
    for (int32_t index = 0; index < interface.num_outputs; ++index)
      numSizes += interface.outputs[index].rank;
    int64_t count = interface.num_inputs + interface.num_outputs;
    memory =
        std::malloc(count * sizeof(mp_tensor) + numSizes * sizeof(int64_t) + 1);
    inputs = static_cast<mp_tensor *>(memory);
    outputs = inputs + interface.num_inputs;
    sizes = reinterpret_cast<int64_t *>(inputs + count);
  }
  ~Arguments() { std::free(memory); }
  Arguments(const Arguments &) = delete;

  int32_t fill(const mp_tensor *given, const mp_tensor *wanted) {
    if (!memory)
      return refuse(MP_OUT_OF_MEMORY, nullptr, "out of memory");
    for (int32_t index = 0; index < interface.num_inputs; ++index)
      if (int32_t code = fillInput(index, given[index]))
        return code;
    for (int32_t index = 0; index < interface.num_outputs; ++index) {
      outputs[index] = wanted[index];
      if (!outputs[index].sizes)
        outputs[index].sizes = copySizes(interface.outputs[index]);
    }
    return MP_OK;
  }

  /// Sets the addresses of the outputs, including those of states.
  void finish(mp_tensor *results) {
    for (int32_t index = 0; index < interface.num_outputs; ++index) {
      const mp_value &value = interface.outputs[index];
      const mp_tensor *there = &outputs[index];
      if (value.state >= 0 && interface.inputs[value.state].written) {
        there = &inputs[value.state];
        if (results[index].sizes)
          std::memcpy(results[index].sizes, there->sizes,
                      value.rank * sizeof(int64_t));
      }
      results[index].data = there->data;
    }
  }

  mp_tensor *inputs, *outputs;

private:
  int32_t fillInput(int32_t index, const mp_tensor &given) {
    const mp_value &value = interface.inputs[index];
    mp_tensor &input = inputs[index] = given;
    if (!input.data && !input.sizes && value.initial && !value.written) {
      input.data = const_cast<void *>(value.initial);
    } else if (!input.data && !isEmpty(value, input.sizes)) {
      return refuse(MP_BAD_INPUT, value.name,
                    value.initial && value.written
                        ? "no data, but the call writes its next value there"
                        : "no data");
    }
    if (!input.sizes) {
      for (int32_t axis = 0; axis < value.rank; ++axis)
        if (value.sizes[axis] < 0)
          return refuse(MP_BAD_INPUT, value.name, "no sizes");
      input.sizes = copySizes(value);
    }
    return MP_OK;
  }

  static bool isEmpty(const mp_value &value, const int64_t *sizes) {
    for (int32_t axis = 0; axis < value.rank; ++axis)
      if ((sizes ? sizes : value.sizes)[axis] == 0)
        return true;
    return false;
  }

  int64_t *copySizes(const mp_value &value) {
    int64_t *copy = sizes;
    sizes += value.rank;
    std::memcpy(copy, value.sizes, value.rank * sizeof(int64_t));
    return copy;
  }

  const mp_interface &interface;
  void *memory;
  int64_t *sizes;
};

} // namespace

int32_t mp_run(const mp_interface *interface, mp_model body,
               const mp_tensor *inputs, mp_tensor *outputs, void **kept) {
  Arguments arguments(*interface);
  if (int32_t code = arguments.fill(inputs, outputs))
    return code;
  int64_t number = __atomic_fetch_add(interface->calls, 1, __ATOMIC_RELAXED);
  int32_t code =
      mp_call(body, arguments.inputs, arguments.outputs, number, kept);
  if (code == MP_OK)
    arguments.finish(outputs);
  return code;
}
