//===- FuzzBytes.cpp - Arbitrary bytes as a model -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mp::fuzz::Harness harness;
  harness.runModel({reinterpret_cast<const char *>(data), size});
  return 0;
}
