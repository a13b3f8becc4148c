//===- NextBatch.cpp - Copies a batch during the step before --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NextBatch.h"

using namespace llvm;

namespace mp {

Error NextBatch::prepare(
    const std::function<void(const Twine &text)> &onWarning) {
  if (total < 2 || std::exchange(isPrepared, true))
    return Error::success();
  Expected<std::string> shortage = program.getProgram().prepareNextInputs();
  if (!shortage)
    return shortage.takeError();
  if (!shortage->empty() && onWarning)
    onWarning("batches are copied before steps, and not during the steps "
              "before: " +
              Twine(*shortage));
  return Error::success();
}

/// Memory of the batch may change once an input is copied.
Error NextBatch::copy(uint64_t step) {
  SmallVector<unsigned> loaded;
  auto isWanted = [&](unsigned input) {
    if (takes(input))
      loaded.push_back(input);
    return takes(input);
  };
  if (Error failed = batches.load(step, program.getValues(), isWanted))
    return failed;
  for (unsigned input : loaded)
    if (Error failed = program.getProgram().setNextInput(
            input, program.getValues()[input]))
      return failed;
  copied = step;
  return Error::success();
}

Error NextBatch::load() {
  uint64_t step = session.getCount();
  if (copied != step)
    if (Error failed = copy(step))
      return failed;
  return batches.load(step, program.getValues(),
                      [&](unsigned input) { return !takes(input); });
}

Error NextBatch::copyNext() {
  // The count of steps does not include the one that is running.
  uint64_t next = session.getCount() + 1;
  return next < total ? copy(next) : Error::success();
}

Error NextBatch::drop() {
  copied.reset();
  return program.getProgram().dropNextInputs();
}

} // namespace mp
