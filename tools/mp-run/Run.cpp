//===- Run.cpp - mp-run run -----------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "mp-opt/API/Model/ModelOutput.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/API/Run/Accuracy.h"
#include "mp-opt/API/Run/OutputDifferences.h"
#include "mp-opt/Support/ShownText.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral runHelp =
    R"(mp-run run: computes a model's outputs

usage: mp-run run MODEL [DATA] [-o OUTPUTS.npz] [options]

DATA is an .npz (inputs by their names, or as in:NAME, with expected outputs as
out:NAME), an .npy or .safetensors file, or a test_data_set folder of ONNX.
Inputs with defaults may be left out.

  --input=NAME=FILE     one input from an .npy or .pb file (repeatable)
  --raw=NAME:FILE:TYPE[SIZES]
                        one input from a file of plain elements, for example
                        x:x.bin:float32[?,784] (repeatable)
  --random[=SEED]       random numbers for missing inputs: floats of N(0, 1),
                        integers 0 and 1; unknown sizes are 32
  -o FILE               outputs to FILE: .npz, .npy or .safetensors
  --check[=RTOL,ATOL]   compare with expected outputs in DATA: out:NAME in an
                        .npz - numpy.savez(FILE, **{'in:x': x, 'out:y': y}) -
                        or output_0.pb in a folder; exit code 3 outside of
                        ATOL + RTOL * |expected| (1e-3, 1e-5)
  --expected=FILE       the same with outputs, by name, in FILE, such as
                        -o has written for another model or precision
  --states=FILE         trained initializers: the file that mp-run train -o has
                        written, or a checkpoint's folder; Dropout and
                        BatchNormalization behave as in inference
  --accuracy[=NAME]     how often the greatest score is that of the label in
                        the tensor NAME of DATA (labels); prints no outputs
  --json                print as JSON

  --mixed-bf16, --mixed-fp16
                        convert the model first, as mp-opt does
  --dim=NAME=SIZE,...   sizes of symbolic dimensions
  --threads=N           threads (default: one per processor that the process may
                        use, by its affinity and quota; more are not started)
  --device=NAME         cpu; cuda: the first GPU of NVIDIA's driver; emulated:
                        the same code without a GPU, slow and strict. Both need
                        all sizes: --dim
  --fp32-products=tf32  tensor cores multiply fp32, rounded to 11 bits (default:
                        ieee, exactly); for cuda and emulated
  --kernels=FORM        16-bit products: auto, widen, dot or amx; direct: like
                        auto, but convolutions without Winograd's transforms
  --excess-precision    do not round 16-bit products that only casts to fp32
                        read; a note lists them (default: as the model says)
  --in-place            outputs that are states overwrite their inputs
  --schemas=FILE, --external-data-root=DIR    as for mp-opt
  --model-check=strict  refuse models that break ONNX's rules without harm, too
  --cache=WHERE         where compiled code is kept for later runs: on, which is
                        ~/.cache/mp-opt/code, a folder (DIR/), or off
  --mlir-timing         print the times of compilation
)";

/// Returns an exit code if the outputs cannot be written at the end, or would
/// replace an input.
static std::optional<int>
checkOutput(const Flags &flags, ArrayRef<std::string> read, StringRef output) {
  if (output.empty())
    return std::nullopt;
  if (Error failed = checkDataFileName(output))
    return flags.usageError("-o " + toString(std::move(failed)));
  for (StringRef path : read)
    if (isSameFile(path, output))
      return flags.usageError("'" + output + "' would replace '" + path +
                              "', which is read");
  if (Error failed = AtomicFile::check(output))
    return reportError(std::move(failed));
  return std::nullopt;
}

/// Prints how many labels the outputs match.
static int printAccuracy(ArrayRef<NamedTensor> outputs,
                         const NamedTensor &labels, bool asJSON) {
  Expected<Accuracy> accuracy = computeAccuracy(outputs, labels);
  if (!accuracy)
    return reportError(accuracy.takeError());
  if (asJSON) {
    json::OStream json(outs(), 2);
    accuracy->printJSON(json);
    outs() << "\n";
  } else {
    accuracy->print(EscapingStream(outs()).get());
  }
  return finishOutput(exitOk);
}

/// Flags to evaluate a trained model.
static void addEvaluation(Flags &flags, SessionFlags &session) {
  flags.beginGroup("Evaluation");
  flags.add("states", session.model.states, "initializers as trained", "FILE");
  flags
      .addOptional("accuracy", "share of correctly predicted labels", "NAME",
                   [&](StringRef name) {
                     session.labels = name.empty() ? "labels" : name.str();
                     return true;
                   })
      .expected = "a name";
}

int runRun(Arguments arguments, mlir::DialectRegistry &registry) {
  SessionFlags session;
  std::string output;
  std::optional<std::string> expected;
  bool isChecked = false, asJSON = false;
  Tolerance tolerance;
  Flags flags("mp-run run", runHelp);
  session.addTo(flags);
  addEvaluation(flags, session);
  flags.beginGroup("Outputs");
  flags.add("o", output, "outputs to a file", "FILE").synonyms = {"output"};
  flags.add("json", asJSON, "print as JSON");
  flags.add("expected", expected, "expected outputs, by name", "FILE");
  flags.addOptional("check", "compare with the expected outputs", "RTOL,ATOL",
                    [&](StringRef text) {
                      isChecked = true;
                      return tolerance.parse(text);
                    });
  if (auto code = session.parse(flags, arguments, registry))
    return *code;
  if (!session.labels.empty() && (isChecked || expected))
    return flags.usageError("--accuracy excludes --" +
                            flags.findGiven({"check", "expected"}));
  session.model.showsCompiling = !asJSON;
  if (auto code = checkOutput(flags, session.files, output))
    return *code;
  DataSet data;
  Expected<Session> opened = session.open(registry, data);
  if (!opened)
    return reportError(opened.takeError());
  auto outputs = opened->run();
  if (!outputs)
    return reportError(outputs.takeError());
  std::vector<OutputDifference> differences;
  if (isChecked || expected) {
    auto wanted = expected ? readExpected(*expected) : std::move(data);
    if (!wanted)
      return reportError(wanted.takeError());
    auto compared = compareOutputs(*outputs, *wanted, tolerance);
    if (!compared)
      return reportError(compared.takeError());
    differences = std::move(*compared);
  }
  if (!output.empty())
    if (Error failed = writeDataFile(output, *outputs))
      return reportError(std::move(failed));
  if (!session.labels.empty())
    return printAccuracy(*outputs, data.expected.front(), asJSON);
  if (asJSON)
    printJSON(*outputs, differences, outs());
  else
    printValues(*outputs, EscapingStream(outs()).get());
  if (!asJSON && !differences.empty())
    printDifferences(differences, EscapingStream(outs()).get());
  return finishOutput(isOutside(differences) ? exitOutside : exitOk);
}

} // namespace mp
