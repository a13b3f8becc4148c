//===- SetIOTypes.cpp - Decide the types of inputs and outputs ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule for all inputs and outputs is a wish for fewer casts: a value that 16
// bit would spoil keeps its type. A pattern is a demand: it is obeyed, and a
// warning says what is rounded.
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Precision/Analysis/RangeAnalysis.h"
#include "mp-opt/Precision/Assignment/TrainingPhases.h"
#include "mp-opt/Precision/Data/RangeMarks.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"

#include "llvm/Support/Regex.h"

namespace mp {
#define GEN_PASS_DEF_SETIOTYPES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct SetIOTypes : public mp::impl::SetIOTypesBase<SetIOTypes> {
  using SetIOTypesBase::SetIOTypesBase;

  void runOnOperation() override;

private:
  LogicalResult decide();
  FailureOr<std::vector<InterfaceRule>> readRules();
};

/// Finds what 16 bit would spoil.
class InterfaceJudge {
public:
  InterfaceJudge(ModuleOp module, GraphOp graph)
      : module(module), graph(graph), observed(module),
        constants(ElementKind::Float16), ranges(constants) {}

  /// Takes the rule away from a wish that is not granted. Fails if the wish
  /// contradicts what the user states.
  LogicalResult visit(InterfaceWish &wish);

private:
  bool exceedsStatedRange(const InterfaceWish &wish) const;
  std::string findOverflow(const InterfaceWish &wish);
  StringRef findReader(const InterfaceWish &wish) const;

  ModuleOp module;
  GraphOp graph;
  RangeMarks observed;
  ConstantRange constants;
  RangeAnalysis ranges;
};

} // namespace

static constexpr double maxFloat16 = 65504;

bool InterfaceJudge::exceedsStatedRange(const InterfaceWish &wish) const {
  GraphOp of = graph;
  auto stated = of->getAttrOfType<DictionaryAttr>(mark::inputRanges);
  auto range = stated && wish.isInput
                   ? stated.getAs<DenseF64ArrayAttr>(wish.name)
                   : DenseF64ArrayAttr();
  return range && llvm::any_of(range.asArrayRef(), [](double bound) {
           return std::fabs(bound) > maxFloat16;
         });
}

/// The reason why elements become infinite in fp16; empty if none is known.
std::string InterfaceJudge::findOverflow(const InterfaceWish &wish) {
  if (wish.rule->kind != ElementKind::Float16)
    return "";
  std::string reached;
  if (exceedsStatedRange(wish))
    reached = "its range, as stated by --input-range, ends";
  else if (auto known = observed.lookup(wish.value);
           known && known->max > maxFloat16)
    reached = "its elements reach " + formatNumber(known->max) + " in the data";
  else if (double most = ranges.get(wish.value).getReached();
           !wish.isInput && most > maxFloat16)
    reached = "its elements reach " + formatNumber(most);
  return reached.empty() ? ""
                         : reached + (StringRef(reached).ends_with("ends")
                                          ? " beyond fp16, which ends at 65504"
                                          : ", fp16 ends at 65504");
}

/// The reason why the last digits of an input decide results; empty if none is
/// known.
StringRef InterfaceJudge::findReader(const InterfaceWish &wish) const {
  GraphOp of = graph;
  auto inputs = of->getAttrOfType<DictionaryAttr>(mark::sensitiveInputs);
  auto reason = inputs && wish.isInput ? inputs.getAs<StringAttr>(wish.name)
                                       : StringAttr();
  return reason ? reason.getValue() : StringRef();
}

LogicalResult InterfaceJudge::visit(InterfaceWish &wish) {
  Type element = wish.getElementType();
  bool narrows = wish.rule && wish.rule->kind != ElementKind::Float &&
                 (element.isF32() || element.isF64());
  if (!narrows)
    return success();
  std::string reason = findOverflow(wish);
  if (!reason.empty() && !wish.rule->isForAll() && exceedsStatedRange(wish))
    return module.emitError() << wish.describe() << ": " << reason << ", and "
                              << wish.rule->describe() << " asks for fp16";
  if (reason.empty())
    reason = findReader(wish).str();
  if (reason.empty())
    return success();
  StringRef word = getInterfaceWord(wish.rule->kind);
  if (!wish.rule->isForAll()) {
    module.emitWarning() << wish.describe() << " is rounded to " << word
                         << ", as " << wish.rule->describe()
                         << " asks for: " << reason;
    return success();
  }
  module.emitWarning() << wish.describe() << " stays fp32: " << reason
                       << "; --io='" << llvm::Regex::escape(wish.name) << "="
                       << word << "' converts it all the same";
  wish.rule = nullptr;
  return success();
}

FailureOr<std::vector<InterfaceRule>> SetIOTypes::readRules() {
  ModuleOp module = getOperation();
  std::vector<PolicyEntry> entries;
  for (StringRef text : io) {
    // Braces protect commas in pipelines that are printed.
    if (text.starts_with("{") && text.ends_with("}"))
      text = text.drop_front().drop_back();
    if (llvm::Error failed = addInterfaceRules(text, "--io", entries))
      return module.emitError() << toString(std::move(failed));
  }
  PolicyAttr policy = getPolicy(module);
  auto held = policy ? policy.getOption<ArrayAttr>("io") : ArrayAttr();
  if (held)
    for (auto entry : held.getAsRange<ArrayAttr>())
      entries.push_back(
          {cast<StringAttr>(entry[0]).str(), cast<StringAttr>(entry[1]).str()});
  std::vector<InterfaceRule> rules;
  for (const PolicyEntry &entry : entries) {
    llvm::Expected<InterfaceRule> rule = InterfaceRule::parse(entry);
    if (!rule)
      return module.emitError() << toString(rule.takeError());
    rules.push_back(std::move(*rule));
  }
  return rules;
}

LogicalResult SetIOTypes::decide() {
  ModuleOp module = getOperation();
  auto rules = readRules();
  if (failed(rules))
    return failure();
  GraphOp graph = getMainGraph(module);
  if (!graph || rules->empty())
    return success();
  if (TrainingPhases::compute(graph).trains())
    return module.emitError()
           << rules->front().describe()
           << ": the types of a training step's inputs and outputs stay, its "
              "states are fp32";
  auto wishes = findInterfaceWishes(module, *rules);
  if (failed(wishes))
    return failure();
  InterfaceJudge judge(module, graph);
  llvm::DenseMap<Value, const InterfaceRule *> inputs;
  for (InterfaceWish &wish : *wishes) {
    // An output that is an input has the same name, and the same type.
    if (auto input = inputs.find(wish.value); input != inputs.end()) {
      wish.rule = input->second;
      continue;
    }
    if (failed(judge.visit(wish)))
      return failure();
    if (wish.isInput)
      inputs[wish.value] = wish.rule;
  }
  InterfaceTypes::write(module, *wishes);
  return success();
}

void SetIOTypes::runOnOperation() {
  if (failed(decide()))
    signalPassFailure();
}
