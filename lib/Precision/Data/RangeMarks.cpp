//===- RangeMarks.cpp - Ranges in data as marks of a model ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Data/RangeMarks.h"

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static constexpr size_t numbersPerValue = 4;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Prints a node without its position and the elements of constants.
static void printStructure(Operation *op, llvm::raw_ostream &os) {
  os << op->getName();
  bool holdsElements = isConstant(op);
  for (NamedAttribute attribute : op->getAttrs()) {
    Attribute value = attribute.getValue();
    bool isWeight = isa<ElementsAttr>(value) || holdsElements;
    // Passes, and the metadata of tools, do not change the structure.
    if (isWeight || attribute.getName().strref().starts_with("mp.") ||
        attribute.getName() == attr::extra)
      continue;
    os << ' ' << attribute.getName() << '=' << value;
  }
  for (Value operand : op->getOperands())
    os << ' ' << getValueName(operand);
  os << " :";
  for (OpResult result : op->getResults())
    os << ' ' << getValueName(result) << ' ' << result.getType();
  os << '\n';
}

std::string getStructureDigest(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::XXH128_hash_t hash = {0, 0};
  auto flush = [&] {
    os << hash.low64 << hash.high64;
    hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(os.str()));
    text.clear();
  };
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op) && !isConstant(op))
      return;
    printStructure(op, os);
    constexpr size_t enough = 1 << 16;
    if (text.size() > enough)
      flush();
  });
  flush();
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

std::string getRangeKey(Value value) {
  StringRef name = getValueName(value);
  Operation *scope = value.getParentBlock()->getParentOp();
  if (name.empty())
    return "";
  if (auto function = dyn_cast<FunctionOp>(scope))
    return (function.getName() + ":" + name).str();
  return isa<GraphOp>(scope) ? name.str() : "";
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

static void addNumbers(const ObservedRange *range,
                       SmallVectorImpl<double> &numbers) {
  if (range)
    numbers.append({range->max, range->getLostShare(),
                    range->smallest.value_or(-1), range->partial.value_or(-1)});
  else
    numbers.append(numbersPerValue, -1);
}

unsigned markRanges(ModuleOp module, const ObservedRanges &ranges) {
  unsigned found = 0;
  auto find = [&](Value value) -> const ObservedRange * {
    std::string key = getRangeKey(value);
    auto it = key.empty() ? ranges.values.end() : ranges.values.find(key);
    found += it != ranges.values.end();
    return it == ranges.values.end() ? nullptr : &it->second;
  };
  Builder builder(module.getContext());
  for (Operation *scope : getScopes(module)) {
    Block &block = scope->getRegion(0).front();
    for (Operation &op : block) {
      SmallVector<double> numbers;
      unsigned before = found;
      if (!isNode(&op))
        continue;
      for (OpResult result : op.getResults())
        addNumbers(find(result), numbers);
      if (found != before)
        op.setAttr(mark::observed, builder.getDenseF64ArrayAttr(numbers));
    }
    SmallVector<NamedAttribute> inputs;
    for (BlockArgument argument : block.getArguments())
      if (const ObservedRange *range = find(argument)) {
        SmallVector<double> numbers;
        addNumbers(range, numbers);
        inputs.push_back(builder.getNamedAttr(
            getValueName(argument), builder.getDenseF64ArrayAttr(numbers)));
      }
    if (!inputs.empty())
      scope->setAttr(mark::observedInputs, builder.getDictionaryAttr(inputs));
  }
  return found;
}

RangeMarks::RangeMarks(ModuleOp module) : functions(module) {
  for (Operation *scope : getScopes(module)) {
    isMarked |= scope->hasAttr(mark::observedInputs);
    scope->walk([&](Operation *op) {
      isMarked |= op->hasAttr(mark::observed);
      if (FunctionOp function = functions.lookup(op);
          function && isSpecialized(function))
        calls[function] = op;
    });
  }
}

/// The value whose mark is that of `value`: elements that move, and arguments
/// and results of functions, are the same.
Value RangeMarks::getSource(Value value) const {
  // Functions that call each other in a circle have no source.
  constexpr unsigned maxSteps = 1 << 16;
  for (unsigned step = 0; step < maxSteps; ++step) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *call = calls.lookup(argument.getOwner()->getParentOp());
      if (!call || argument.getArgNumber() >= call->getNumOperands())
        return value;
      value = call->getOperand(argument.getArgNumber());
      continue;
    }
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    if (!isNode(op))
      return value;
    if (FunctionOp function = functions.lookup(op)) {
      YieldOp yield = getYield(function.getBody());
      if (!yield || result.getResultNumber() >= yield->getNumOperands())
        return value;
      value = yield->getOperand(result.getResultNumber());
      continue;
    }
    if (op->hasAttr(mark::observed) || op->getNumOperands() == 0 ||
        getOperatorTraits(op).kind != OperatorKind::Movement)
      return value;
    value = op->getOperand(0);
  }
  return value;
}

static std::optional<KnownRange> readMark(DenseF64ArrayAttr mark,
                                          unsigned index) {
  size_t begin = index * numbersPerValue;
  if (!mark || mark.size() < int64_t(begin + numbersPerValue))
    return std::nullopt;
  auto numbers = mark.asArrayRef().slice(begin, numbersPerValue);
  auto get = [&](size_t place) {
    return numbers[place] < 0 ? std::nullopt : std::optional(numbers[place]);
  };
  if (!get(0))
    return std::nullopt;
  return KnownRange{numbers[0], get(1).value_or(0), get(2), get(3)};
}

std::optional<KnownRange> RangeMarks::lookup(Value value) const {
  value = getSource(value);
  if (auto result = dyn_cast<OpResult>(value))
    return readMark(
        result.getOwner()->getAttrOfType<DenseF64ArrayAttr>(mark::observed),
        result.getResultNumber());
  Operation *scope = value.getParentBlock()->getParentOp();
  auto inputs = scope->getAttrOfType<DictionaryAttr>(mark::observedInputs);
  StringRef name = getValueName(value);
  if (!inputs || name.empty())
    return std::nullopt;
  return readMark(inputs.getAs<DenseF64ArrayAttr>(name), 0);
}

} // namespace mp
