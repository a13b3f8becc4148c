//===- CheckpointWriter.cpp - Writes checkpoints in a thread --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/CheckpointWriter.h"

using namespace llvm;

namespace mp {

Error CheckpointWriter::start(Checkpoint checkpoint) {
  constexpr size_t smallBytes = 64 << 10;
  if (Error failed = finish())
    return failed;
  for (NamedTensor &state : checkpoint.states) {
    if (state.tensor.getNumBytes() > smallBytes)
      continue;
    Expected<Tensor> copy = state.tensor.clone();
    if (!copy)
      return copy.takeError();
    state.tensor = std::move(*copy);
  }
  pendingStep = checkpoint.step;
  pending = std::async(
      std::launch::async, [this, checkpoint = std::move(checkpoint)] {
        return CheckpointFolder(folder).write(checkpoint, keep);
      });
  return Error::success();
}

void CheckpointWriter::wait() const {
  if (pending.valid())
    pending.wait();
}

Error CheckpointWriter::finish() {
  if (!pending.valid())
    return Error::success();
  if (Error failed = pending.get())
    return failed;
  step = pendingStep;
  return Error::success();
}

} // namespace mp
