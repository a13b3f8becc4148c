//===- Show.cpp - mp-run show ---------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "DataSet.h"

#include "mp-opt/API/TensorText.h"
#include "mp-opt/Data/Checkpoint.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral help = R"(mp-run show: the tensors in a file

usage: mp-run show FILE [--json]

FILE is an .npz, .npy or .safetensors file, a test_data_set folder of ONNX, or
a folder of checkpoints. Shown are names, types, the least and the greatest
element and the mean; elements that are no finite numbers are counted.

  --json    as JSON
)";

/// The tensors of anything, inputs and outputs told apart by prefixes.
static Expected<std::vector<NamedTensor>> read(StringRef path) {
  if (CheckpointFolder::isOne(path)) {
    Expected<Checkpoint> checkpoint = CheckpointFolder(path).readNewest(
        [](const Twine &warning) { errs() << "warning: " << warning << "\n"; });
    if (!checkpoint)
      return checkpoint.takeError();
    return std::move(checkpoint->states);
  }
  if (!sys::fs::is_directory(path))
    return readDataFile(path);
  Expected<DataSet> data = readDataSet(path);
  if (!data)
    return data.takeError();
  std::vector<NamedTensor> tensors;
  auto add = [&](StringRef prefix, std::vector<NamedTensor> &from) {
    for (size_t i = 0; i < from.size(); ++i)
      tensors.push_back(
          {(prefix + (from[i].name.empty() ? std::to_string(i) : from[i].name))
               .str(),
           from[i].tensor});
  };
  add("in:", data->inputs);
  add("out:", data->expected);
  return tensors;
}

int runShow(Arguments arguments) {
  Flags flags("mp-run show", help);
  std::vector<std::string> files;
  bool asJSON = false;
  flags.add("json", asJSON);
  if (std::optional<int> code = flags.parse(arguments, files))
    return *code;
  if (files.size() != 1)
    return flags.usageError("expected one file, got " + Twine(files.size()));
  auto tensors = read(files[0]);
  if (!tensors)
    return reportError(tensors.takeError());
  if (asJSON) {
    json::OStream json(outs(), 2);
    json.array([&] {
      for (const NamedTensor &named : *tensors)
        printJSON(named, json);
    });
    outs() << "\n";
  } else {
    printTable(*tensors, outs());
  }
  return finishOutput(exitOk);
}

} // namespace mp
