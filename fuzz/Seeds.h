//===- Seeds.h - The inputs that fuzzing starts from ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of seeds holds models as ONNX text (.onnxtxt), as protobuf text
// (.pbtxt, which can say all that a model can) or as they are (.onnx), and
// texts for the other readers: .policy.yaml, .gaudi.json, .list.txt,
// .schemas.json; an .onnxtxt is one of these as well.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FUZZ_SEEDS_H
#define MPOPT_FUZZ_SEEDS_H

#include "Harness.h"

#include <string>
#include <vector>

namespace mp::fuzz {

struct ModelSeed {
  std::string name, bytes;
};

struct TextSeed {
  std::string name, text;
  Reader reader;
};

struct Seeds {
  std::vector<ModelSeed> models;
  std::vector<TextSeed> texts;

  /// Adds all files of a folder, in the order of their names, or one file. A
  /// text that is no model is a text only.
  void load(llvm::StringRef path);

private:
  void add(llvm::StringRef file);
};

} // namespace mp::fuzz

#endif // MPOPT_FUZZ_SEEDS_H
