//===- Verification.cpp - Running what is about to be written -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Verification.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/API/Run/RangeHazards.h"
#include "mp-opt/API/Run/ReferenceComparison.h"
#include "mp-opt/Graph/ValueSizes.h"

#include <limits>

using namespace mlir;

namespace mp {

static ComparedModel makeModel(StringRef title, ModuleOp module,
                               StringRef name) {
  return {title.str(), [module, name] { return Model::copy(module, name); }};
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

/// The ratio of an error to its bound.
static double getShare(const OutputDifference &output) {
  if (output.numbers.specials)
    return std::numeric_limits<double>::infinity();
  if (output.numbers.isEmpty())
    return -1;
  double error = output.numbers.getError(), allowed = output.bound->get();
  return error == 0 ? 0 : error / allowed;
}

static const OutputDifference &getWorst(ArrayRef<OutputDifference> outputs) {
  return *llvm::max_element(outputs, [](const auto &a, const auto &b) {
    return getShare(a) < getShare(b);
  });
}

/// "bf16", "fp16", or "fp32" if nothing is rounded to 16 bit.
static StringRef getPrecision(const ComparedModel &model) {
  StringRef found = "fp32";
  for (const Rounding &rounding : model.roundings)
    if (rounding.kind == ElementKind::BFloat16)
      return "bf16";
    else
      found = "fp16";
  return found;
}

/// "all 3 outputs are", "output 'y' is", "2 of 3 outputs are".
static std::string countOutputs(ArrayRef<OutputDifference> outputs,
                                size_t count) {
  std::string all = std::to_string(outputs.size());
  if (outputs.size() == 1)
    return "output '" + outputs.front().name + "' is";
  if (count == outputs.size())
    return "all " + all + " outputs are";
  return std::to_string(count) + " of " + all + " outputs " +
         (count == 1 ? "is" : "are");
}

static constexpr double smallestFloat16 = 0x1p-24;

/// Explains why the worst output is refused.
static std::string describeFault(const OutputDifference &output,
                                 const ComparedModel &model, bool isWished) {
  const Difference &numbers = output.numbers;
  std::string integers =
      model.discrete ? "; " + model.discrete->describe() +
                           " than in fp32: keep in fp32 what they are made of "
                           "(--deny-node)"
                     : "";
  if (!output.otherSizes.empty())
    return "it is " + output.otherSizes + integers;
  if (numbers.specials)
    return std::to_string(numbers.specials) + " of " +
           std::to_string(numbers.count) +
           " elements are NaN or infinite where float64 has numbers, or the "
           "reverse";
  std::string text = "off by " + formatPercent(numbers.getError()) + ", " +
                     formatPercent(output.bound->get()) + " allowed";
  if (isWished)
    return text;
  if (output.ownError)
    text += "; fp32 itself is off by " + formatPercent(*output.ownError) +
            ", and the result is not near it";
  if (!integers.empty())
    return text + integers;
  StringRef precision = getPrecision(model);
  if (precision == "fp16" && numbers.maxAbs <= smallestFloat16)
    return text + "; no difference is greater than the least number of fp16, "
                  "6e-08: the values are too small for it, or these data are";
  if (numbers.getError() <= output.bound->explained)
    return text + "; rounding to " + precision.str() +
           " alone does that here: keep in fp32 the nodes that add most "
           "(--deny-node)";
  return text + "; rounding to " + precision.str() +
         " does not explain that: something has been lost";
}

/// Outputs that are not verified, although others are.
static std::string describeRest(ArrayRef<OutputDifference> outputs) {
  std::string text;
  for (const OutputDifference &output : outputs) {
    const Difference &numbers = output.numbers;
    if (std::string empty = output.describeEmpty(); !empty.empty())
      text += "; nothing compared: " + empty;
    else if (numbers.compared < numbers.count)
      text += "; " + std::to_string(numbers.count - numbers.compared) + " of " +
              std::to_string(numbers.count) + " elements of '" + output.name +
              "' are NaN or infinite in both";
  }
  return text;
}

/// The test that all outputs, of which this is the worst, have passed.
static std::string describeSuccess(const OutputDifference &worst,
                                   ArrayRef<OutputDifference> outputs,
                                   StringRef precision, bool isWished) {
  std::string error = formatPercent(worst.numbers.getError()),
              allowed = formatPercent(worst.bound->get());
  std::string text = countOutputs(outputs, outputs.size()) + " within ";
  if (isWished)
    text += allowed;
  else
    text += "what rounding to " + precision.str() + " explains";
  if (worst.isAgainstOwn)
    text += ", compared with fp32, which itself is " +
            formatPercent(*worst.ownError) + " off float64";
  text += outputs.size() == 1 ? " (" : " (worst: '" + worst.name + "' ";
  return text + "off by " + error +
         (isWished ? ")" : ", " + allowed + " allowed)") +
         describeRest(outputs);
}

static Verdict judge(const ComparedModel &model, bool isWished) {
  ArrayRef<OutputDifference> outputs = model.differences;
  if (outputs.empty())
    return {true, "verified: there are no outputs"};
  if (std::string empty = describeEmpty(outputs); !empty.empty())
    return {false, empty};
  StringRef precision = getPrecision(model);
  const OutputDifference &worst = getWorst(outputs);
  size_t outside = llvm::count_if(
      outputs, [](const auto &output) { return output.isOutside(); });
  if (!outside)
    return {true, "verified: " +
                      describeSuccess(worst, outputs, precision, isWished)};
  return {false,
          "NOT verified: " + countOutputs(outputs, outside) +
              " too far from float64" +
              (outputs.size() == 1 ? "" : " (worst: '" + worst.name + "')") +
              ": " + describeFault(worst, model, isWished)};
}

/// Random data do not exercise behavior that depends on the ranges of inputs.
/// The verdict then only says that the result has run.
static void doubtRandomData(Verdict &verdict, const std::string &hazard) {
  StringRef text = verdict.text;
  if (hazard.empty() || (verdict.isVerified && !text.consume_front("verified")))
    return;
  verdict.text = (verdict.isVerified ? "ran" + text : text).str() +
                 "; random data prove little for this model: " + hazard +
                 ", and they have ranges that no real input has; "
                 "--verify=DATA takes real ones";
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Properties of the result that random data do not show.
static llvm::Expected<std::string> findHazard(ModuleOp input, ModuleOp result,
                                              StringRef name) {
  auto inlineIn =
      [&](ModuleOp module) -> llvm::Expected<std::unique_ptr<Model>> {
    std::unique_ptr<Model> copy = Model::copy(module, name);
    if (llvm::Error failed = copy->inlineFunctions())
      return std::move(failed);
    return copy;
  };
  auto before = inlineIn(input), after = inlineIn(result);
  if (!before || !after)
    return llvm::joinErrors(before.takeError(), after.takeError());
  return describeRangeHazard((*before)->getModule(), (*after)->getModule());
}

/// Describes the suspicious value of a node; empty if there is none.
static std::string findDoubt(const ComparedModel &compared, bool isVerified) {
  StringRef unseen = "; outputs do not show it on these data";
  if (compared.discrete && isVerified)
    return (compared.discrete->describe() + " than in fp32" + unseen).str();
  if (!compared.unexplained)
    return "";
  return (compared.unexplained->describe() +
          (isVerified ? unseen : "; it is the first such node"))
      .str();
}

llvm::Expected<Verdict> verifyResult(ModuleOp input, ModuleOp result,
                                     const VerificationOptions &options,
                                     StringRef name, TimingScope &timing,
                                     raw_ostream &table) {
  ReferenceComparisonOptions comparing;
  DataSet data;
  if (options.data.empty()) {
    comparing.binding.seed = 0;
  } else {
    auto read = readDataSet(options.data);
    if (!read)
      return read.takeError();
    data = std::move(*read);
  }
  CodeCache cache(options.cache, options.title);
  comparing.compile.device = options.device;
  comparing.compile.fp32Products = options.fp32Products;
  comparing.compile.excessPrecision = options.excessPrecision;
  comparing.compile.cache = &cache;
  comparing.compile.title = options.title;
  comparing.compile.timing = &timing;
  comparing.binding.onMessage = options.onMessage;
  comparing.relative = options.tolerance;
  if (llvm::Error failed =
          parseDimensions(options.dims, comparing.compile.dims))
    return std::move(failed);
  ReferenceComparison comparison(comparing, makeModel("the input", input, name),
                                 std::move(data));
  comparison.add(makeModel("the result", result, name));
  if (llvm::Error failed = comparison.run())
    return std::move(failed);
  comparison.print(table);
  const ComparedModel &compared = comparison.getModels().front();
  Verdict verdict = judge(compared, options.tolerance.has_value());
  if (options.data.empty()) {
    llvm::Expected<std::string> hazard = findHazard(input, result, name);
    if (!hazard)
      return hazard.takeError();
    doubtRandomData(verdict, *hazard);
  }
  auto report = [&](DiagnosticSeverity severity, const std::string &text) {
    if (options.onMessage && !text.empty())
      options.onMessage(name, severity, text);
  };
  report(DiagnosticSeverity::Warning, findDoubt(compared, verdict.isVerified));
  if (!verdict.isVerified)
    report(DiagnosticSeverity::Error, verdict.text);
  return verdict;
}

} // namespace mp
