//===- NextInputs.h - Inputs copied during the call before ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data of a next input are copied to pinned memory of the host, and from
// there to a buffer of the device on a stream of its own, while the model's
// stream works on the call before. The next call waits for the copy by an event
// and copies the buffer to the input, at the rate of the device's memory. The
// input keeps its address, so one graph serves all calls: a second graph that
// reads the buffer would double the time to record it, to save about a
// thousandth of a step. An input has two pinned slots, so that the host can
// fill one while the other is copied, and one buffer: it is free again long
// before the next copy arrives.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_NEXTINPUTS_H
#define MPOPT_LIB_RUNTIME_CUDA_NEXTINPUTS_H

#include "LoadedPlan.h"

namespace mp::runtime {

/// Functions return MP_OK, or another code after setting the last error.
class NextInputs {
public:
  explicit NextInputs(LoadedPlan &loaded) : loaded(loaded) {}

  /// Allocates for inputs of more than MP_MAX_DIRECT_BYTES that are not states.
  /// After a failure nothing is allocated.
  int32_t prepare();
  /// True if `set` takes the input.
  bool takes(uint32_t input) const {
    return stream && nextInputs[input].buffer != 0;
  }
  /// Begins the copy of an input for the next call. The data are not read after
  /// the function returns.
  int32_t set(uint32_t input, const void *data);
  /// Makes the model's stream take the inputs that were set since the last
  /// call.
  int32_t take();
  /// True if `take` takes the input.
  bool has(uint32_t input) const {
    return takes(input) && nextInputs[input].pending;
  }
  /// The next call keeps the input as it is.
  void drop(uint32_t input) {
    if (takes(input))
      nextInputs[input].pending = nullptr;
  }
  /// Waits for copies.
  int32_t wait();
  /// Waits for copies, and drops all inputs.
  int32_t finish();
  /// Waits for copies and frees everything.
  void destroy();

private:
  /// Pinned memory of the host.
  struct Slot {
    void *memory;
    /// The event after the copy from it; it was recorded if it `isUsed`.
    void *copied;
    bool isUsed;
  };
  struct NextInput {
    Slot slots[2];
    unsigned current;
    mp_device_address buffer;
    /// The event after the copy from the buffer; it was recorded if the buffer
    /// `isUsed`.
    void *taken;
    bool isUsed;
    /// The slot whose data the next call takes; null if there is none.
    Slot *pending;
  };
  int32_t start();
  int32_t allocate(uint64_t input);
  int32_t fail(int32_t error, const char *function, uint64_t input,
               const char *what);

  LoadedPlan &loaded;
  /// Null if nothing is allocated.
  void *stream = nullptr;
  /// Indexed by input; zeros for inputs that are not taken.
  Array<NextInput> nextInputs;
};

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CUDA_NEXTINPUTS_H
