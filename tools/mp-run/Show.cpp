//===- Show.cpp - mp-run show ---------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Message.h"

#include "mp-opt/API/DataSet.h"
#include "mp-opt/API/TensorText.h"

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

int runShow(Arguments arguments, mlir::DialectRegistry &) {
  Flags flags("mp-run show", help);
  std::vector<std::string> files;
  bool asJSON = false;
  flags.beginGroup("Options");
  flags.add("json", asJSON, "print as JSON");
  if (std::optional<int> code = flags.parse(arguments, files))
    return *code;
  if (files.size() != 1)
    return flags.usageError("expected one file, got " + Twine(files.size()));
  auto tensors = readTensors(files[0], [](const Twine &warning) {
    printMessage("mp-run show", mlir::DiagnosticSeverity::Warning, warning);
  });
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
