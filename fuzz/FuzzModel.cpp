//===- FuzzModel.cpp - Models mutated by their schemas --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "ModelMutator.h"

using mp::fuzz::ModelMutator;
using mp::fuzz::Random;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mp::fuzz::Harness harness;
  harness.runModel({reinterpret_cast<const char *>(data), size});
  return 0;
}

/// The new size; 0 if the model became too big.
static size_t store(const ::onnx::ModelProto &model, uint8_t *data,
                    size_t maxSize) {
  size_t size = model.ByteSizeLong();
  return size <= maxSize && model.SerializePartialToArray(data, int(size))
             ? size
             : 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  ::onnx::ModelProto model;
  // Bytes that are not a model any more are replaced by an empty model.
  if (!model.ParsePartialFromArray(data, int(size)))
    model.Clear();
  Random random(seed);
  ModelMutator(model, random).mutate();
  size_t stored = store(model, data, maxSize);
  return stored ? stored : size;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t oneSize,
                                            const uint8_t *two, size_t twoSize,
                                            uint8_t *out, size_t maxSize,
                                            unsigned seed) {
  ::onnx::ModelProto model, other;
  if (!model.ParsePartialFromArray(one, int(oneSize)) ||
      !other.ParsePartialFromArray(two, int(twoSize)))
    return 0;
  Random random(seed);
  ModelMutator(model, random).cross(other);
  return store(model, out, maxSize);
}
