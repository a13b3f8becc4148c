//===- InterfaceTypes.cpp - Types of graph inputs and outputs -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/InterfaceTypes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Support/NameRegex.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static constexpr StringLiteral interfaceWords[] = {"fp32", "fp16", "bf16"};

static ElementKind parseInterfaceWord(StringRef word) {
  return llvm::StringSwitch<ElementKind>(word.trim())
      .Cases({"fp32", "f32", "float32", "float"}, ElementKind::Float)
      .Cases({"fp16", "f16", "float16", "half"}, ElementKind::Float16)
      .Cases({"bf16", "bfloat16"}, ElementKind::BFloat16)
      .Default(ElementKind::Undefined);
}

StringRef getInterfaceWord(ElementKind kind) {
  return kind == ElementKind::Float     ? "fp32"
         : kind == ElementKind::Float16 ? "fp16"
                                        : "bf16";
}

std::string InterfaceRule::describe() const {
  return "'" + entry.text + "' " + describePlace(entry.place);
}

llvm::Expected<InterfaceRule> InterfaceRule::parse(const PolicyEntry &entry) {
  StringRef text = entry.text;
  ElementKind kind = parseInterfaceWord(text);
  if (kind != ElementKind::Undefined)
    return InterfaceRule{"", kind, entry};
  auto [pattern, word] = text.rsplit('=');
  bool hasPattern = pattern.size() < text.size();
  kind = hasPattern ? parseInterfaceWord(word) : ElementKind::Undefined;
  if (kind == ElementKind::Undefined || pattern.empty())
    return llvm::createStringError(
        entry.place + ": expected fp32, fp16 or bf16, or a pattern for names " +
        "and one of these, such as 'past.*=fp16', found '" + text + "'" +
        suggestNearest(hasPattern ? word : text, interfaceWords));
  if (llvm::Error failed = NameRegex::compile(pattern).takeError())
    return llvm::createStringError(
        entry.place + ": '" + pattern +
        "' is not a regular expression: " + toString(std::move(failed)));
  return InterfaceRule{pattern.str(), kind, entry};
}

/// True if the text ends with a type, so that the rule ends there.
static bool isWholeRule(StringRef text) {
  return parseInterfaceWord(text) != ElementKind::Undefined ||
         (text.contains('=') && parseInterfaceWord(text.rsplit('=').second) !=
                                    ElementKind::Undefined);
}

llvm::Error addInterfaceRules(StringRef text, StringRef place,
                              std::vector<PolicyEntry> &to) {
  std::string pending;
  bool isOpen = false;
  auto take = [&]() -> llvm::Error {
    PolicyEntry entry = {StringRef(pending).trim().str(), place.str()};
    if (llvm::Error failed = InterfaceRule::parse(entry).takeError())
      return failed;
    to.push_back(std::move(entry));
    isOpen = false;
    pending.clear();
    return llvm::Error::success();
  };
  for (StringRef part : llvm::split(text, ',')) {
    pending += isOpen ? ("," + part).str() : part.str();
    isOpen = true;
    if (!isWholeRule(pending))
      continue;
    if (llvm::Error failed = take())
      return failed;
  }
  return isOpen ? take() : llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Wishes
//===----------------------------------------------------------------------===//

std::string InterfaceWish::describe() const {
  return (isInput ? "input '" : "output '") + name.str() + "'";
}

Type InterfaceWish::getElementType() const {
  return getTensorElementType(value.getType());
}

namespace {

class WishFinder {
public:
  WishFinder(ModuleOp module, ArrayRef<InterfaceRule> rules)
      : module(module), rules(rules) {}

  FailureOr<std::vector<InterfaceWish>> run();

private:
  void collect(GraphOp graph);
  LogicalResult applyToAll();
  LogicalResult applyPattern(const InterfaceRule &rule);
  LogicalResult claim(InterfaceWish &wish, const InterfaceRule &rule);
  std::string explainFixed(const InterfaceWish &wish) const;
  void warnOfDead(const InterfaceRule &rule, ArrayRef<StringRef> names);
  bool hasDefault(const InterfaceWish &wish) const {
    return wish.isInput && defaults.contains(wish.name);
  }

  ModuleOp module;
  ArrayRef<InterfaceRule> rules;
  std::vector<InterfaceWish> wishes;
  llvm::StringSet<> defaults;
};

} // namespace

void WishFinder::collect(GraphOp graph) {
  for (auto initializer : graph.getBody().getOps<InitializerOp>())
    if (initializer.getOverridable())
      defaults.insert(initializer.getName());
  for (BlockArgument argument : graph.getBody().getArguments())
    wishes.push_back({argument, onnxir::getValueName(argument),
                      /*isInput=*/true, argument.getArgNumber()});
  if (YieldOp yield = getYield(graph.getBody()))
    for (OpOperand &operand : yield->getOpOperands())
      wishes.push_back({operand.get(), onnxir::getValueName(operand.get()),
                        /*isInput=*/false, operand.getOperandNumber()});
}

/// The reason why no rule can change the type; empty if one can.
std::string WishFinder::explainFixed(const InterfaceWish &wish) const {
  Type element = wish.getElementType();
  if (!element || !isFloatTensor(wish.value.getType())) {
    std::string text;
    llvm::raw_string_ostream(text)
        << wish.describe() << " has the type " << wish.value.getType()
        << ", expected a float tensor";
    return text;
  }
  return hasDefault(wish)
             ? wish.describe() +
                   " has a default value, an initializer of its name, whose "
                   "type stays"
             : "";
}

LogicalResult WishFinder::claim(InterfaceWish &wish,
                                const InterfaceRule &rule) {
  const InterfaceRule *other = wish.rule;
  if (other && other->isForAll() == rule.isForAll() && other->kind != rule.kind)
    return module.emitError()
           << wish.describe() << ": " << other->describe() << " and "
           << rule.describe() << " contradict each other";
  if (!other || other->isForAll())
    wish.rule = &rule;
  return success();
}

LogicalResult WishFinder::applyToAll() {
  for (const InterfaceRule &rule : rules)
    for (InterfaceWish &wish : wishes)
      if (rule.isForAll() && explainFixed(wish).empty() &&
          !wish.getElementType().isF64() && failed(claim(wish, rule)))
        return failure();
  return success();
}

/// If one of several alternatives matches nothing, it is most likely
/// misspelled.
void WishFinder::warnOfDead(const InterfaceRule &rule,
                            ArrayRef<StringRef> names) {
  std::vector<std::string> parts = splitAlternatives(rule.pattern);
  if (parts.size() < 2)
    return;
  for (const std::string &part : parts) {
    llvm::Expected<NameRegex> regex = NameRegex::compile(part);
    if (!regex)
      llvm::consumeError(regex.takeError());
    else if (!part.empty() && llvm::none_of(names, [&](StringRef name) {
               return regex->matches(name);
             }))
      module.emitWarning() << "'" << part << "', an alternative of "
                           << rule.describe() << ", matches no input or output"
                           << suggestNearest(part, names);
  }
}

LogicalResult WishFinder::applyPattern(const InterfaceRule &rule) {
  NameRegex regex = llvm::cantFail(NameRegex::compile(rule.pattern));
  SmallVector<StringRef> names;
  std::string fixed;
  bool anyMatch = false, anyGranted = false;
  for (InterfaceWish &wish : wishes) {
    names.push_back(wish.name);
    if (!regex.matches(wish.name))
      continue;
    anyMatch = true;
    std::string reason = explainFixed(wish);
    if (fixed.empty())
      fixed = reason;
    if (!reason.empty())
      continue;
    anyGranted = true;
    if (failed(claim(wish, rule)))
      return failure();
  }
  if (!anyMatch)
    return module.emitError()
           << "pattern " << rule.describe() << " matches no input or output"
           << suggestNearest(rule.pattern, names);
  if (!anyGranted)
    return module.emitError() << rule.describe() << ": " << fixed;
  warnOfDead(rule, names);
  return success();
}

FailureOr<std::vector<InterfaceWish>> WishFinder::run() {
  GraphOp graph = getMainGraph(module);
  if (!graph || rules.empty())
    return std::move(wishes);
  collect(graph);
  if (failed(applyToAll()))
    return failure();
  for (const InterfaceRule &rule : rules)
    if (!rule.isForAll() && failed(applyPattern(rule)))
      return failure();
  return std::move(wishes);
}

FailureOr<std::vector<InterfaceWish>>
findInterfaceWishes(ModuleOp module, ArrayRef<InterfaceRule> rules) {
  return WishFinder(module, rules).run();
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

InterfaceTypes::InterfaceTypes(ModuleOp module)
    : graph(getMainGraph(module)),
      inputs(module->getAttrOfType<ArrayAttr>(mark::wantedInputs)),
      outputs(module->getAttrOfType<ArrayAttr>(mark::wantedOutputs)) {}

static Type getWantedType(ArrayAttr types, unsigned index) {
  auto type = types && index < types.size() ? dyn_cast<TypeAttr>(types[index])
                                            : TypeAttr();
  return type && !isa<NoneType>(type.getValue()) ? type.getValue() : Type();
}

Type InterfaceTypes::getInput(unsigned index) const {
  return getWantedType(inputs, index);
}

Type InterfaceTypes::getOutput(unsigned index) const {
  return getWantedType(outputs, index);
}

SmallVector<Type> InterfaceTypes::getTypes() const {
  SmallVector<Type> types;
  for (ArrayAttr list : {inputs, outputs})
    for (unsigned index = 0; list && index < list.size(); ++index)
      if (Type type = getWantedType(list, index);
          type && !llvm::is_contained(types, type))
        types.push_back(type);
  return types;
}

SmallVector<BlockArgument> InterfaceTypes::getInputsIn(Type low) const {
  SmallVector<BlockArgument> found;
  if (GraphOp of = graph; of && inputs)
    for (BlockArgument argument : of.getBody().getArguments())
      if (getInput(argument.getArgNumber()) == low &&
          isF32Tensor(argument.getType()))
        found.push_back(argument);
  return found;
}

SmallVector<OpOperand *> InterfaceTypes::getOutputsIn(Type low) const {
  SmallVector<OpOperand *> found;
  GraphOp of = graph;
  YieldOp yield = of && outputs ? getYield(of.getBody()) : YieldOp();
  if (yield)
    for (OpOperand &operand : yield->getOpOperands())
      if (getOutput(operand.getOperandNumber()) == low &&
          isF32Tensor(operand.get().getType()))
        found.push_back(&operand);
  return found;
}

void InterfaceTypes::write(ModuleOp module, ArrayRef<InterfaceWish> wishes) {
  Builder builder(module.getContext());
  SmallVector<Type> inputs, outputs;
  bool any = false;
  for (const InterfaceWish &wish : wishes) {
    bool changes =
        wish.rule && getElementKind(wish.getElementType()) != wish.rule->kind;
    any |= changes;
    (wish.isInput ? inputs : outputs)
        .push_back(changes ? onnxir::getElementType(builder.getContext(),
                                                    wish.rule->kind)
                           : Type(builder.getNoneType()));
  }
  if (!any)
    return;
  module->setAttr(mark::wantedInputs, builder.getTypeArrayAttr(inputs));
  module->setAttr(mark::wantedOutputs, builder.getTypeArrayAttr(outputs));
}

} // namespace mp
