//===- Run.cpp - mp-run run -----------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Model.h"

#include "mp-opt/API/OutputDifferences.h"
#include "mp-opt/API/TensorText.h"
#include "mp-opt/Support/Nearest.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral help = R"(mp-run run: computes a model's outputs

usage: mp-run run MODEL [DATA] [-o OUTPUTS.npz] [options]

DATA is an .npz (inputs by their names, or as in:NAME, with expected outputs as
out:NAME), an .npy or .safetensors file, or a test_data_set folder of ONNX.
Inputs with defaults may be left out.

  --input=NAME=FILE     one input from an .npy or .pb file (repeatable)
  --raw=NAME:FILE:TYPE[SIZES]
                        one input from a file of plain elements, for example
                        x:x.bin:float32[?,784] (repeatable)
  --random[=SEED]       random numbers for what is missing: floats of N(0, 1),
                        integers 0 and 1
  -o FILE               outputs to FILE: .npz, .npy or .safetensors
  --check[=RTOL,ATOL]   compare with the expected outputs in DATA; exit code 3
                        outside of ATOL + RTOL * |expected| (1e-3, 1e-5)
  --expected=FILE       the same with expected outputs, by name, in FILE
  --json                print as JSON

  --mixed-bf16, --mixed-fp16
                        convert the model first, as mp-opt does
  --dim=NAME=SIZE,...   sizes of symbolic dimensions
  --threads=N           threads (default: one per processor that the process may
                        use, by its affinity and quota; more are not started)
  --kernels=FORM        16-bit products: auto, widen, dot or amx; direct: as
                        auto, and convolutions without Winograd's transforms
  --in-place            outputs that are states are written over their inputs
  --schemas=FILE, --external-data-root=DIR    as for mp-opt
  --cache=WHERE         where compiled code is kept for later runs: on, which is
                        ~/.cache/mp-opt/code, a folder (DIR/), or off
  --mlir-timing         print where the time of compiling goes
)";

namespace {
struct RunFlags {
  ModelFlags model;
  DataFlags data;
  std::string output;
  std::optional<std::string> check, expected;
  bool json = false;
  Tolerance tolerance;
  std::vector<std::string> files;

  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
};
} // namespace

std::optional<int> RunFlags::parse(Arguments arguments,
                                   mlir::DialectRegistry &registry) {
  Flags flags("mp-run run", help);
  model.addTo(flags);
  data.addTo(flags);
  flags.add("o", output, "a file name");
  flags.add("json", json);
  flags.add("expected", expected, "a file name");
  flags.addOptional("check", check, "RTOL,ATOL");
  if (std::optional<int> code = flags.parse(arguments, files))
    return code;
  if (files.empty() || files.size() > 2)
    return flags.usageError("expected a model and, perhaps, its data, got " +
                            Twine(files.size()) + " files");
  if (check && !tolerance.parse(*check))
    return flags.usageError("--check: expected RTOL,ATOL, got '" + *check +
                            "'");
  if (std::optional<int> code = data.check(flags))
    return code;
  return model.apply(flags, registry);
}

static void print(ArrayRef<NamedTensor> outputs,
                  ArrayRef<OutputDifference> differences, bool asJSON) {
  if (!asJSON) {
    printValues(outputs, outs());
    if (!differences.empty())
      printDifferences(differences, outs());
    return;
  }
  json::OStream json(outs(), 2);
  json.object([&] {
    json.attributeArray("outputs", [&] {
      for (const NamedTensor &named : outputs)
        printJSON(named, json);
    });
    if (!differences.empty())
      json.attributeArray("differences", [&] {
        for (const OutputDifference &difference : differences)
          printJSON(difference, json);
      });
  });
  outs() << "\n";
}

/// The expected outputs, in the order in which they are given.
static Expected<std::vector<OutputDifference>>
check(ArrayRef<NamedTensor> outputs, const DataSet &data,
      const RunFlags &flags) {
  std::vector<NamedTensor> expected = data.expected;
  bool isPositional = data.isPositional;
  if (flags.expected) {
    Expected<DataSet> read = readDataSet(*flags.expected);
    if (!read)
      return read.takeError();
    isPositional = read->isPositional;
    // Names without "out:" are outputs here.
    expected = read->expected.empty() ? std::move(read->inputs)
                                      : std::move(read->expected);
  }
  if (expected.empty())
    return createStringError("there are no expected outputs: DATA has no "
                             "out:NAME and no output_0.pb");
  return compareOutputs(outputs, expected, isPositional, flags.tolerance);
}

static int runProgram(Program &program, ArrayRef<Tensor> inputs,
                      const DataSet &data, const RunFlags &flags) {
  SmallVector<Tensor> results;
  if (Error failed = program.run(inputs, results))
    return reportError(std::move(failed));
  std::vector<NamedTensor> outputs;
  for (auto [value, tensor] : llvm::zip(program.getOutputs(), results))
    outputs.push_back({value.name, tensor});
  std::vector<OutputDifference> differences;
  if (flags.check || flags.expected) {
    auto compared = check(outputs, data, flags);
    if (!compared)
      return reportError(compared.takeError());
    differences = std::move(*compared);
  }
  if (!flags.output.empty())
    if (Error failed = writeDataFile(flags.output, outputs))
      return reportError(std::move(failed));
  print(outputs, differences, flags.json);
  bool isOutside = llvm::any_of(differences, [](const auto &difference) {
    return difference.numbers.outside != 0;
  });
  return finishOutput(isOutside ? exitOutside : exitOk);
}

int runRun(Arguments arguments, mlir::DialectRegistry &registry) {
  RunFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  Model model(registry);
  if (int code = model.read(flags.files[0], flags.model))
    return code;
  if (int code = model.mix(flags.model.getPrecision(), flags.model))
    return code;
  StringRef path = flags.files.size() > 1 ? StringRef(flags.files[1]) : "";
  Expected<DataSet> data = flags.data.read(path);
  if (!data)
    return reportError(data.takeError());
  std::vector<ModelValue> inputs =
      model.getInputs(flags.model.getOptions().dims);
  auto bound = bindInputs(inputs, *data, flags.data);
  if (!bound)
    return reportError(bound.takeError());
  CompileOptions options = flags.model.getOptions();
  addSizes(inputs, *bound, options);
  std::unique_ptr<Program> program = model.compile(options);
  return program ? runProgram(*program, *bound, *data, flags)
                 : int(exitNotSupported);
}

} // namespace mp
