//===- FuzzText.cpp - Policies, lists, schemas, ONNX text, data -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first byte says which reader gets the rest: `Reader` in Harness.h.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using mp::fuzz::Reader;
  static mp::fuzz::Harness harness;
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (text.empty() || !llvm::StringRef("yglstnzfp").contains(text.front()))
    return -1;
  harness.runText(text.drop_front(), Reader(text.front()));
  return 0;
}
