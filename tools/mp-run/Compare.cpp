//===- Compare.cpp - mp-run compare ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Comparison.h"
#include "InnerValues.h"
#include "Model.h"
#include "TensorText.h"

#include "mp-opt/Data/Convert.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral help = R"(mp-run compare: errors against float64

usage: mp-run compare A B [DATA] [options]
       mp-run compare MODEL --precision=bf16 [DATA] [options]

Runs two models, or one as it is and in mixed precision, on the same data, and
the first one with every float as float64. Shown for each output are the
greatest absolute and relative difference from that, the root mean square error
and the cosine; and the nodes that add most to the errors of their operands.

  --precision=bf16|fp16 the second model is the first one in this precision
  --check[=RTOL,ATOL]   exit code 3 if the second one is outside of
                        ATOL + RTOL * |expected| (1e-3, 1e-5)
  --nodes=N             how many nodes are shown (5); 0 saves a second run
  --input=NAME=FILE, --raw=NAME:FILE:TYPE[SIZES], --random[=SEED]
                        inputs, as for mp-run run
  --json                print as JSON

  --dim=NAME=SIZE,... --threads=N --kernels=FORM --schemas=FILE
  --external-data-root=DIR    as for mp-run run
)";

namespace {
struct CompareFlags {
  ModelFlags model;
  DataFlags data;
  std::string precision, dataFile;
  std::optional<std::string> check;
  Tolerance tolerance;
  uint64_t nodes = 5;
  bool json = false;
  std::vector<std::string> models;

  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
};

/// One of the models, float64 included.
struct Candidate {
  std::string title, path, precision;
  bool isWide = false;

  std::vector<InnerValue> values;
  std::vector<NamedTensor> outputs;
  StringMap<Tensor> inner;
  std::vector<OutputDifference> differences;
  std::vector<NodeError> nodes;
};

class Comparer {
public:
  Comparer(const CompareFlags &flags, mlir::DialectRegistry &registry)
      : flags(flags), registry(registry) {}
  int run();

private:
  int load(Model &model, const Candidate &candidate);
  int readInputs();
  int compute(Candidate &candidate, const StringSet<> &exposed);
  int computeInner();
  void print() const;
  void printJSON() const;

  const CompareFlags &flags;
  mlir::DialectRegistry &registry;
  /// What all get, by name; floats as the first model takes them.
  DataSet inputs;
  Candidate reference;
  std::vector<Candidate> candidates;
};
} // namespace

std::optional<int> CompareFlags::parse(Arguments arguments,
                                       mlir::DialectRegistry &registry) {
  Flags flags("mp-run compare", help);
  model.addTo(flags);
  data.addTo(flags);
  flags.add("precision", precision, "bf16 or fp16");
  flags.addOptional("check", check, "RTOL,ATOL");
  flags.add("nodes", nodes);
  flags.add("json", json);
  if (std::optional<int> code = flags.parse(arguments, models))
    return code;
  if (!precision.empty() && precision != "bf16" && precision != "fp16")
    return flags.usageError("--precision: expected bf16 or fp16, got '" +
                            precision + "'");
  if (!model.getPrecision().empty())
    return flags.usageError("--mixed-" + model.getPrecision() +
                            ": --precision=" + model.getPrecision() +
                            " says it here");
  size_t count = precision.empty() ? 2 : 1;
  if (models.size() < count || models.size() > count + 1)
    return flags.usageError(
        precision.empty()
            ? "expected two models, or one and --precision, and their data"
            : "expected one model and its data");
  if (models.size() > count) {
    dataFile = models.back();
    models.pop_back();
  }
  if (check && !tolerance.parse(*check))
    return flags.usageError("--check: expected RTOL,ATOL, got '" + *check +
                            "'");
  if (std::optional<int> code = data.check(flags))
    return code;
  return model.apply(flags, registry);
}

int Comparer::load(Model &model, const Candidate &candidate) {
  if (int code = model.read(candidate.path, flags.model))
    return code;
  if (int code = model.mix(candidate.precision, flags.model))
    return code;
  return candidate.isWide ? model.widen() : int(exitOk);
}

/// Of the first model: data, or random numbers.
int Comparer::readInputs() {
  Model model(registry);
  if (int code = load(model, candidates.front()))
    return code;
  Expected<DataSet> data = flags.data.read(flags.dataFile);
  if (!data)
    return reportError(data.takeError());
  std::vector<ModelValue> takes =
      model.getInputs(flags.model.getOptions().dims);
  auto bound = bindInputs(takes, *data, flags.data);
  if (!bound)
    return reportError(bound.takeError());
  for (auto [input, tensor] : llvm::zip(takes, *bound))
    if (tensor.getData())
      inputs.inputs.push_back({input.name, tensor});
  return exitOk;
}

/// The data with floats of the type that the model takes.
static Expected<DataSet> convertData(const DataSet &data,
                                     ArrayRef<ModelValue> takes) {
  DataSet converted = data;
  for (auto &[name, tensor] : converted.inputs)
    for (const ModelValue &input : takes) {
      if (input.name != name)
        continue;
      Expected<Tensor> fitting = convertFloats(tensor, input.kind);
      if (!fitting)
        return prefixError("input '" + name + "'", fitting.takeError());
      tensor = std::move(*fitting);
    }
  return converted;
}

int Comparer::compute(Candidate &candidate, const StringSet<> &exposed) {
  Model model(registry);
  if (int code = load(model, candidate))
    return code;
  candidate.values = getInnerValues(model.getModule());
  exposeValues(model.getModule(), exposed);
  CompileOptions options = flags.model.getOptions();
  std::vector<ModelValue> takes = model.getInputs(options.dims);
  Expected<DataSet> data = convertData(inputs, takes);
  if (!data)
    return reportError(data.takeError());
  auto bound = bindInputs(takes, *data, flags.data);
  if (!bound)
    return reportError(prefixError(candidate.path, bound.takeError()));
  addSizes(takes, *bound, options);
  std::unique_ptr<Program> program = model.compile(options);
  if (!program)
    return exitNotSupported;
  SmallVector<Tensor> results;
  if (Error failed = program->run(*bound, results))
    return reportError(prefixError(candidate.title, std::move(failed)));
  candidate.inner.clear();
  std::vector<NamedTensor> outputs;
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), results)) {
    candidate.inner[value.name] = tensor;
    outputs.push_back({value.name, tensor});
  }
  // Those of the model itself come first; a second run is for inner ones.
  if (exposed.empty())
    candidate.outputs = std::move(outputs);
  return exitOk;
}

/// Runs everything again with the values of nodes as outputs.
int Comparer::computeInner() {
  for (Candidate &candidate : candidates) {
    StringSet<> names, common;
    for (const InnerValue &value : reference.values)
      names.insert(value.name);
    for (const InnerValue &value : candidate.values)
      if (names.contains(value.name))
        common.insert(value.name);
    if (common.empty())
      continue;
    if (int code = compute(candidate, common))
      return code;
    if (int code = compute(reference, common))
      return code;
    candidate.nodes =
        rankNodes(candidate.values, candidate.inner, reference.inner);
    candidate.nodes.resize(
        std::min<size_t>(candidate.nodes.size(), flags.nodes));
    candidate.inner.clear();
  }
  return exitOk;
}

static Expected<std::vector<OutputDifference>>
compareToWide(const Candidate &candidate, const Candidate &reference,
              const Tolerance &tolerance) {
  std::vector<NamedTensor> wide;
  for (const auto &[name, tensor] : candidate.outputs) {
    Expected<Tensor> converted = convertFloats(tensor, ElementKind::Double);
    if (!converted)
      return prefixError("output '" + name + "'", converted.takeError());
    wide.push_back({name, std::move(*converted)});
  }
  return compareOutputs(wide, reference.outputs, /*isPositional=*/false,
                        tolerance);
}

void Comparer::print() const {
  outs() << "against " << reference.title << "\n";
  for (const Candidate &candidate : candidates) {
    outs() << "\n" << candidate.title << "\n";
    printDifferences(candidate.differences, outs());
    if (candidate.nodes.empty())
      continue;
    size_t width = 0;
    for (const NodeError &node : candidate.nodes)
      width = std::max(width, node.node.size());
    outs() << pad("nodes that add most", width) << padLeft("added", 14)
           << padLeft("error", 14) << "\n";
    for (const NodeError &node : candidate.nodes)
      outs() << pad(node.node, width) << padLeft(formatShort(node.added), 14)
             << padLeft(formatShort(node.error), 14) << "\n";
  }
}

void Comparer::printJSON() const {
  json::OStream json(outs(), 2);
  json.object([&] {
    json.attribute("reference", json::fixUTF8(reference.title));
    json.attributeArray("models", [&] {
      for (const Candidate &candidate : candidates)
        json.object([&] {
          json.attribute("model", json::fixUTF8(candidate.title));
          json.attributeArray("outputs", [&] {
            for (const OutputDifference &difference : candidate.differences)
              mp::printJSON(difference, json);
          });
          json.attributeArray("nodes", [&] {
            for (const NodeError &node : candidate.nodes)
              json.object([&] {
                json.attribute("node", json::fixUTF8(node.node));
                json.attribute("value", json::fixUTF8(node.value));
                json.attribute("error", toJSON(node.error));
                json.attribute("added", toJSON(node.added));
              });
          });
        });
    });
  });
  outs() << "\n";
}

int Comparer::run() {
  const std::string &first = flags.models.front();
  reference.title = first + " in float64";
  reference.path = first;
  reference.isWide = true;
  Candidate plain;
  plain.title = plain.path = first;
  candidates.push_back(plain);
  plain.title = plain.path = flags.models.back();
  plain.precision = flags.precision;
  if (!plain.precision.empty())
    plain.title += " in " + plain.precision;
  candidates.push_back(plain);
  if (int code = readInputs())
    return code;
  if (int code = compute(reference, {}))
    return code;
  for (Candidate &candidate : candidates) {
    if (int code = compute(candidate, {}))
      return code;
    auto compared = compareToWide(candidate, reference, flags.tolerance);
    if (!compared)
      return reportError(prefixError(candidate.title, compared.takeError()));
    candidate.differences = std::move(*compared);
  }
  if (flags.nodes)
    if (int code = computeInner())
      return code;
  if (flags.json)
    printJSON();
  else
    print();
  bool isOutside =
      llvm::any_of(candidates.back().differences, [](const auto &difference) {
        return difference.numbers.outside != 0;
      });
  return finishOutput(flags.check && isOutside ? exitOutside : exitOk);
}

int runCompare(Arguments arguments, mlir::DialectRegistry &registry) {
  CompareFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  return Comparer(flags, registry).run();
}

} // namespace mp
