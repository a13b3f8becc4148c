//===- RunData.cpp - Checks the data of a run -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunData.h"

using namespace llvm;

namespace mp {

void RunData::read(mlir::ModuleOp module) {
  ReadData read{path, batches.getTensors(), !batches.areRows(),
                !options.checkpoints.empty() || options.ranks};
  std::vector<ReadData> files{std::move(read)};
  if (options.validation) {
    const DataSet &data = *options.validation;
    files.push_back({data.path, {}, !batches.areRows(), false});
    for (const NamedTensor &named : data.inputs)
      if (llvm::any_of(files.front().tensors, [&](const NamedTensor &input) {
            return input.name == named.name;
          }))
        files.back().tensors.push_back(named);
  }
  pass = std::make_unique<DataPass>(std::move(files), findDataRules(module));
}

const DataAttributes &RunData::getHashes() {
  if (!pass)
    return known;
  if (pass->getHashes().empty()) {
    std::vector<ReadData> files{{path, batches.getTensors(), false, true}};
    pass = std::make_unique<DataPass>(std::move(files), StringMap<DataRule>());
  }
  return pass->getHashes();
}

Error RunData::check(const Checkpoint &checkpoint) {
  if (!checkpoint.data.empty() && !version.empty() &&
      checkpoint.dataVersion == version) {
    known = checkpoint.data;
    pass.reset();
    return Error::success();
  }
  if (checkpoint.data.empty()) {
    if (options.onWarning)
      options.onWarning(options.checkpoints +
                        ": the checkpoint does not say what is in the data: "
                        "they are taken for the same");
    return Error::success();
  }
  for (const auto &[name, hash] : getHashes()) {
    auto found = checkpoint.data.find(name);
    if (found == checkpoint.data.end() || found->second != hash)
      return createStringError("the checkpoint was made with other data: '" +
                               name +
                               "' has the same sizes, but not the same "
                               "elements");
  }
  return Error::success();
}

} // namespace mp
