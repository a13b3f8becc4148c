//===- Compare.cpp - mp-run compare ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "mp-opt/API/Run/ReferenceComparison.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral compareHelp =
    R"(mp-run compare: errors against float64

usage: mp-run compare A B [DATA] [options]
       mp-run compare MODEL --precision=bf16 [DATA] [options]

Runs two models, or one as it is and in mixed precision, on the same data, and
the first one with every float as float64. Prints for each output the greatest
absolute and relative difference from float64, and the root mean square error
with the error that rounding to the model's types explains (as mp-opt --verify
measures it). Prints the nodes that add most: in a 16-bit model those that
change the outputs most if they alone are 16 bit, else those that add to their
operands' errors. Integers that the first model computes from floats are the
same in the reference. If nothing could be compared, the exit code is 3.

  --precision=bf16|fp16 the second model is the first one in this precision
  --check[=RTOL,ATOL]   exit code 3 if the second one is further off than
                        rounding explains; or, with numbers, if an element is
                        outside of ATOL + RTOL * |expected| (ATOL: 1e-5)
  --nodes=N             how many nodes are shown (5); 0 saves the runs for them
  --input=NAME=FILE, --raw=NAME:FILE:TYPE[SIZES], --random[=SEED]
                        inputs, as for mp-run run
  --json                print as JSON

  --dim=NAME=SIZE,... --threads=N --device=NAME --fp32-products=tf32
  --kernels=FORM --excess-precision --schemas=FILE --external-data-root=DIR
  --model-check=strict --cache=WHERE --mlir-timing
                        as for mp-run run; the reference runs on the processor
)";

namespace {
struct CompareFlags {
  ModelFlags model;
  DataFlags data;
  std::string precision, dataFile;
  bool isChecked = false;
  std::optional<Tolerance> tolerance;
  uint64_t nodes = 5;
  bool json = false;
  std::vector<std::string> models;

  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
  ReferenceComparisonOptions getOptions() const;
};
} // namespace

/// True if the name is that of data, not of a model.
static bool isDataName(StringRef name) {
  return getFormatOfName(name) == Format::Auto &&
         (name.ends_with(".npz") || name.ends_with(".npy") ||
          name.ends_with(".safetensors") || sys::fs::is_directory(name));
}

ReferenceComparisonOptions CompareFlags::getOptions() const {
  ReferenceComparisonOptions options;
  options.compile = model.getOptions();
  options.tolerance = tolerance;
  options.nodes = nodes;
  options.binding = {data.seed, sayOfModel};
  return options;
}

std::optional<int> CompareFlags::parse(Arguments arguments,
                                       mlir::DialectRegistry &registry) {
  Flags flags("mp-run compare", compareHelp);
  model.addTo(flags);
  data.addTo(flags);
  flags.beginGroup("Comparison");
  flags.addOptional("check", "exit code 3 if errors exceed these tolerances",
                    "RTOL,ATOL", [this](StringRef text) {
                      isChecked = true;
                      return text.empty() || tolerance.emplace().parse(text);
                    });
  flags.add("nodes", nodes, "how many nodes are shown");
  flags.add("json", json, "print as JSON");
  if (std::optional<int> code = flags.parse(arguments, models))
    return code;
  if (model.bf16 || model.fp16)
    return flags.usageError("--mixed-" + model.getPrecision() +
                            ": --precision=" + model.getPrecision() +
                            " says it here");
  model.showsCompiling = !json;
  precision = std::exchange(model.precision, "");
  size_t count = precision.empty() ? 2 : 1;
  if (models.size() < count || models.size() > count + 1)
    return flags.usageError(
        precision.empty()
            ? "expected two models, or one and --precision, and their data"
            : "expected one model and its data");
  if (precision.empty() && isDataName(models[1]))
    return flags.usageError("'" + models[1] +
                            "' is data: a second model stands before it, or "
                            "--precision=bf16 or fp16 makes one of '" +
                            models[0] + "'");
  if (models.size() > count) {
    dataFile = models.back();
    models.pop_back();
  }
  llvm::Error failed = model.apply(registry, "mp-run");
  return failed ? std::optional(report(flags, std::move(failed)))
                : std::nullopt;
}

/// Reads a model, and converts it if a precision is given.
static ComparedModel makeModel(const std::string &path,
                               const std::string &precision,
                               const CompareFlags &flags,
                               mlir::DialectRegistry &registry,
                               bool isReference = false) {
  return {precision.empty() ? path : path + " in " + precision,
          [=, &flags, &registry] {
            // The inputs are made for the first model; only its dimensions are
            // checked against --dim.
            return flags.model.read(path, registry, precision, sayOfModel,
                                    /*hasDims=*/path == flags.models.front());
          },
          isReference};
}

int runCompare(Arguments arguments, mlir::DialectRegistry &registry) {
  CompareFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  Expected<DataSet> data = flags.data.read(flags.dataFile);
  if (!data)
    return reportError(data.takeError());
  const std::string &first = flags.models.front(),
                    &second = flags.models.back();
  ReferenceComparison comparison(flags.getOptions(),
                                 makeModel(first, "", flags, registry),
                                 std::move(*data));
  comparison.add(makeModel(first, "", flags, registry, /*isReference=*/true));
  comparison.add(makeModel(second, flags.precision, flags, registry));
  if (Error failed = comparison.run())
    return reportError(std::move(failed));
  if (flags.json)
    comparison.printJSON(outs());
  else
    comparison.print(EscapingStream(outs()).get());
  const auto &differences = comparison.getModels().back().differences;
  std::string empty = describeEmpty(differences);
  if (!empty.empty())
    sayOfModel("", mlir::DiagnosticSeverity::Error, empty);
  bool isOutside = flags.isChecked && mp::isOutside(differences);
  return finishOutput(isOutside || !empty.empty() ? exitOutside : exitOk);
}

} // namespace mp
