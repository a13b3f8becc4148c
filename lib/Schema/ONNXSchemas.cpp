//===- ONNXSchemas.cpp - ONNX's own schemas, one by one -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's registry makes all of its schemas, some 20 MB, when it is asked for
// one. This file calls the function that makes a single schema instead.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/Schema.h"

#include "onnx/defs/schema.h"

#include <mutex>

namespace {
struct Maker {
  onnx::OpSchema (*make)();
  std::atomic<const onnx::OpSchema *> made = nullptr;
};
} // namespace

// Declares the functions, and lists them as `makers`, by onnxNumber - 1.
#include "ONNXMakers.inc"

namespace mp {

const void *OpSchema::getONNXSchema() const {
  if (!isONNX())
    return nullptr;
  Maker &maker = makers[onnxNumber - 1];
  if (const onnx::OpSchema *made = maker.made.load(std::memory_order_acquire))
    return made;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (const onnx::OpSchema *made = maker.made.load(std::memory_order_relaxed))
    return made;
  // It lives as long as the process: type inference keeps references to it.
  auto *fresh = new onnx::OpSchema(maker.make());
  fresh->Finalize();
  maker.made.store(fresh, std::memory_order_release);
  return fresh;
}

} // namespace mp
