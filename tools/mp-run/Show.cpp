//===- Show.cpp - mp-run show ---------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Message.h"

#include "mp-opt/API/Model/DataSet.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Data/Checkpoint.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral showHelp = R"(mp-run show: the tensors in a file

usage: mp-run show FILE [--json]

FILE is an .npz, .npy or .safetensors file, a test_data_set folder of ONNX, or
a folder of checkpoints. The output has names, types, the least and the greatest
element and the mean, and how many elements are not finite. Of checkpoints, it
shows the newest complete one, with its step, losses and settings.

  --json    as JSON
)";

/// Prints everything in a checkpoint except its tensors.
static void print(const Checkpoint &checkpoint, raw_ostream &os) {
  os << "checkpoint of step " << checkpoint.step << ", after "
     << checkpoint.epoch << " epochs and " << checkpoint.position
     << " batches\n";
  if (checkpoint.loss)
    os << "loss " << formatShort(*checkpoint.loss) << "\n";
  if (checkpoint.validation)
    os << "validation loss " << formatShort(*checkpoint.validation) << "\n";
  os << "made with ";
  ListSeparator comma;
  for (const auto &[key, text] : checkpoint.settings)
    os << comma << escapeText(key + " = " + text);
  os << "\n";
}

int runShow(Arguments arguments, mlir::DialectRegistry &) {
  Flags flags("mp-run show", showHelp);
  std::vector<std::string> files;
  bool asJSON = false;
  flags.beginGroup("Options");
  flags.add("json", asJSON, "print as JSON");
  if (std::optional<int> code = flags.parse(arguments, files))
    return *code;
  if (files.size() != 1)
    return flags.usageError("expected one file, got " + Twine(files.size()));
  auto warn = [](const Twine &warning) {
    printMessage("mp-run show", mlir::DiagnosticSeverity::Warning, warning);
  };
  std::optional<Checkpoint> checkpoint;
  if (CheckpointFolder::isOne(files[0])) {
    auto read = CheckpointFolder(files[0]).readNewest(warn);
    if (!read)
      return reportError("mp-run show", read.takeError());
    checkpoint = std::move(*read);
  }
  Expected<std::vector<NamedTensor>> tensors =
      checkpoint ? std::move(checkpoint->states) : readTensors(files[0], warn);
  if (!tensors)
    return reportError("mp-run show", tensors.takeError());
  if (asJSON) {
    json::OStream json(outs(), 2);
    json.array([&] {
      for (const NamedTensor &named : *tensors)
        printJSON(named, json);
    });
    outs() << "\n";
  } else {
    printTable(*tensors, EscapingStream(outs()).get());
    if (checkpoint)
      print(*checkpoint, EscapingStream(outs()).get());
  }
  return finishOutput(exitOk);
}

} // namespace mp
