//===- AttributeRules.cpp - Values of attributes, sizes of operands -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueChecks.h"

#include "../InferenceGuard.h"

#include "mp-opt/Operators/ValueRules.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include "onnx/onnx_pb.h"

using namespace mlir;
using Node = ::onnx::NodeProto;
using Proto = ::onnx::AttributeProto;

namespace mp {

namespace {

/// Builds a message like a diagnostic.
class Reason {
public:
  explicit Reason(std::string &text) : os(text) {}
  Reason(Reason &&) = delete;

  template <typename T> Reason &operator<<(const T &part) {
    if constexpr (std::is_base_of_v<Type, T>)
      os << "'" << part << "'";
    else
      os << part;
    return *this;
  }
  operator LogicalResult() const { return failure(); }

private:
  llvm::raw_string_ostream os;
};

/// Holds one node against the rows of its operator.
class RuleChecker {
public:
  RuleChecker(const Node &node, const OpSchema &schema,
              ArrayRef<InferenceOperand> operands)
      : node(node), schema(schema), operands(operands) {}

  /// The reason for a failed check.
  std::string reason;

  LogicalResult check(const ValueRule &rule);
  LogicalResult check(const SizeRule &rule);
  /// Checks attributes that count something; see AttributeSchema::isSize.
  LogicalResult checkSizes();

private:
  LogicalResult checkWords(const ValueRule &rule);
  LogicalResult checkNumber(const ValueRule &rule);
  LogicalResult checkAxis(const ValueRule &rule);
  LogicalResult checkAxes(const ValueRule &rule);
  LogicalResult checkLength(int64_t found, int64_t expected, const Twine &what);
  LogicalResult checkElementType();
  LogicalResult checkOneOf(const ValueRule &rule);
  LogicalResult checkDivides(const ValueRule &rule);
  LogicalResult checkKernel(const ValueRule &rule);
  LogicalResult checkEquation();
  LogicalResult checkCount();

  const Proto *find(StringRef name) const;
  /// The schema's default of a list of numbers; null if it has none.
  const Proto *makeDefault(StringRef name);
  bool isDefaultTexts() const;
  std::optional<int64_t> getRank(unsigned operand) const;
  std::optional<int64_t> getSize(unsigned operand, unsigned dim) const;
  Reason nodeError() { return Reason(reason); }
  Reason error() {
    reason = "attribute '" + attribute->name() + "': ";
    return Reason(reason);
  }

  const Node &node;
  const OpSchema &schema;
  ArrayRef<InferenceOperand> operands;
  Proto byDefault;
  /// The attribute of the current rule.
  const Proto *attribute = nullptr;
};

} // namespace

const Proto *RuleChecker::find(StringRef name) const {
  for (const Proto &given : node.attribute())
    if (given.name() == name)
      return &given;
  return nullptr;
}

const Proto *RuleChecker::makeDefault(StringRef name) {
  const AttributeSchema *known = schema.getAttribute(name);
  if (!known || !known->defaultValue)
    return nullptr;
  byDefault.set_name(name.str());
  byDefault.set_type(Proto::INTS);
  SmallVector<StringRef> numbers;
  StringRef(*known->defaultValue).trim("[]").split(numbers, ", ");
  for (StringRef text : numbers)
    if (int64_t number; !text.getAsInteger(10, number))
      byDefault.add_ints(number);
  return &byDefault;
}

/// True if the attribute's texts are those of the schema. onnxruntime writes
/// them out, and those of RNN are for two directions.
bool RuleChecker::isDefaultTexts() const {
  const AttributeSchema *known = schema.getAttribute(attribute->name());
  std::string printed;
  for (const std::string &text : attribute->strings())
    printed += (printed.empty() ? "\"" : ", \"") + text + "\"";
  return known && known->defaultValue == "[" + printed + "]";
}

std::optional<int64_t> RuleChecker::getRank(unsigned operand) const {
  if (operand >= operands.size())
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(operands[operand].type);
  return type ? std::optional(type.getRank()) : std::nullopt;
}

std::optional<int64_t> RuleChecker::getSize(unsigned operand,
                                            unsigned dim) const {
  std::optional<int64_t> rank = getRank(operand);
  if (!rank || dim >= *rank)
    return std::nullopt;
  int64_t size = cast<RankedTensorType>(operands[operand].type).getDimSize(dim);
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

LogicalResult RuleChecker::checkWords(const ValueRule &rule) {
  SmallVector<StringRef> words;
  StringRef(rule.words).split(words, '|');
  SmallVector<StringRef> found;
  if (attribute->has_s())
    found.push_back(attribute->s());
  found.append(attribute->strings().begin(), attribute->strings().end());
  for (StringRef word : found) {
    // An empty text sets nothing, as in runtimes.
    if (word.empty() && llvm::is_contained(words, "NOTSET"))
      continue;
    // Activations are compared without regard to case.
    bool isKnown = llvm::any_of(words, [&](StringRef known) {
      return attribute->strings_size() ? known.equals_insensitive(word)
                                       : known == word;
    });
    if (!isKnown)
      return error() << "expected one of " << llvm::join(words, ", ")
                     << ", found '" << word << "'"
                     << suggestNearest(word, words);
  }
  return success();
}

LogicalResult RuleChecker::checkNumber(const ValueRule &rule) {
  if (attribute->i() >= rule.least && attribute->i() <= rule.most)
    return success();
  if (rule.most == INT_MAX)
    return error() << "expected at least " << rule.least << ", found "
                   << attribute->i();
  return error() << "expected " << rule.least << " to " << rule.most
                 << ", found " << attribute->i();
}

LogicalResult RuleChecker::checkAxis(const ValueRule &rule) {
  std::optional<int64_t> rank = getRank(rule.operand);
  // The axis is not used if there is a single scale for all elements.
  if (!rank || (rule.least && getRank(rule.least).value_or(0) == 0))
    return success();
  int64_t most = *rank - 1 + rule.most;
  // A scalar is treated like a tensor with a single axis.
  if (*rank == 0)
    most = std::max<int64_t>(most, 0);
  int64_t least = std::min<int64_t>(-*rank, *rank ? 0 : -1);
  if (attribute->i() >= least && attribute->i() <= most)
    return success();
  return error() << "expected an axis of input #" << unsigned(rule.operand)
                 << ", " << least << " to " << most << ", found "
                 << attribute->i();
}

LogicalResult RuleChecker::checkAxes(const ValueRule &rule) {
  std::optional<int64_t> rank = getRank(rule.operand);
  if (!rank)
    return success();
  if (rule.kind == ValueRule::Permutation &&
      failed(checkLength(attribute->ints_size(), *rank, "axes of the input")))
    return failure();
  llvm::SmallBitVector seen{unsigned(*rank)};
  for (int64_t axis : attribute->ints()) {
    bool mayBeNegative = rule.kind != ValueRule::Permutation;
    int64_t least = mayBeNegative ? -*rank : 0;
    if (axis < least || axis >= *rank)
      return error() << "expected axes of the input, " << least << " to "
                     << *rank - 1 << ", found " << axis;
    unsigned place = unsigned(axis < 0 ? axis + *rank : axis);
    if (seen.test(place))
      return error() << "expected different axes, found " << axis << " twice";
    seen.set(place);
  }
  return success();
}

LogicalResult RuleChecker::checkLength(int64_t found, int64_t expected,
                                       const Twine &what) {
  if (found == expected)
    return success();
  return error() << "expected " << expected << " values for the " << what
                 << ", found " << found;
}

/// Checks that a result may have the type that the attribute names.
LogicalResult RuleChecker::checkElementType() {
  int64_t number = attribute->i();
  auto kind = ElementKind(number);
  bool isKnown = number > 0 && number <= int64_t(ElementKind::Int2);
  const FormalParameter *output = schema.getOutput(0);
  if (isKnown && output && schema.typesOf(*output).containsTensor(kind))
    return success();
  // Types that this build does not know are not checked.
  if (!isKnown && number > 0 && number <= INT_MAX &&
      ::onnx::TensorProto::DataType_IsValid(int(number)))
    return success();
  // A sequence's type is that of its elements.
  if (isKnown && output &&
      schema.typesOf(*output).contains(TypeShape::Sequence, kind))
    return success();
  Reason diag = error();
  diag << "expected the number of an element type that the result may have, "
          "found "
       << number;
  if (isKnown)
    diag << " (" << getElementKindName(kind) << ")";
  return diag;
}

LogicalResult RuleChecker::checkOneOf(const ValueRule &rule) {
  SmallVector<StringRef> names;
  StringRef(rule.words).split(names, '|');
  SmallVector<StringRef> given;
  for (StringRef name : names)
    if (schema.getAttribute(name) && find(name))
      given.push_back(name);
  if (given.size() == 1)
    return success();
  Reason diag = nodeError();
  diag << "expected one of the attributes ";
  llvm::erase_if(names,
                 [&](StringRef name) { return !schema.getAttribute(name); });
  diag << llvm::join(names, ", ") << ", found ";
  if (given.empty())
    return diag << "none";
  return diag << "'" << given[0] << "' and '" << given[1] << "'";
}

LogicalResult RuleChecker::checkDivides(const ValueRule &rule) {
  std::optional<int64_t> size = getSize(rule.operand, unsigned(rule.least));
  bool isSquared = rule.most == 2;
  // Sizes that are too big to be squared cannot divide anything.
  int64_t divisor = attribute->i();
  if (isSquared && divisor <= UINT16_MAX)
    divisor *= divisor;
  if (!size || *size % divisor == 0)
    return success();
  return error() << "expected a number that divides, "
                 << (isSquared ? "squared, " : "") << *size << ", dimension "
                 << rule.least << " of input #" << unsigned(rule.operand)
                 << ", found " << attribute->i();
}

LogicalResult RuleChecker::checkKernel(const ValueRule &rule) {
  for (auto [index, given] : llvm::enumerate(attribute->ints()))
    if (auto size = getSize(rule.operand, unsigned(index) + 2);
        size && *size != given)
      return error() << "expected " << *size << ", dimension " << index + 2
                     << " of input #" << unsigned(rule.operand) << ", found "
                     << given;
  return success();
}

/// Checks an equation: each letter is one size; size 1 fits every other size.
LogicalResult RuleChecker::checkEquation() {
  std::string dense = attribute->s();
  llvm::erase(dense, ' ');
  SmallVector<StringRef> terms;
  StringRef(dense).split("->").first.split(terms, ',');
  int64_t sizes[256] = {};
  for (auto [operand, term] : llvm::enumerate(terms)) {
    // ONNX's inference checks dimensions covered by an ellipsis.
    if (term.contains('.') || getRank(operand) != int64_t(term.size()))
      continue;
    for (auto [dim, letter] : llvm::enumerate(term)) {
      std::optional<int64_t> size = getSize(operand, unsigned(dim));
      if (!size || *size == 1)
        continue;
      int64_t &known = sizes[uint8_t(letter)];
      if (known && known != *size)
        return error() << "expected one size for '" << letter << "', found "
                       << known << " and " << *size;
      known = *size;
    }
  }
  return success();
}

LogicalResult RuleChecker::checkCount() {
  if (attribute->i() == node.output_size())
    return success();
  return error() << "expected " << node.output_size()
                 << ", the number of outputs, found " << attribute->i();
}

/// The number of directions of a recurrent node.
static int64_t countDirections(const Proto *direction) {
  return direction && direction->s() == "bidirectional" ? 2 : 1;
}

/// True if the attribute has the type that the rule expects. Other types are
/// refused by the verifier, or belong to another version.
static bool isAbout(ValueRule::Kind kind, const Proto &attribute) {
  switch (kind) {
  case ValueRule::Equation:
  case ValueRule::Words:
    return attribute.type() == Proto::STRING ||
           attribute.type() == Proto::STRINGS;
  case ValueRule::PerDirection:
    return attribute.type() == Proto::STRINGS;
  case ValueRule::Axes:
  case ValueRule::Permutation:
  case ValueRule::PerSpatialAxis:
  case ValueRule::AsMany:
  case ValueRule::Kernel:
    return attribute.type() == Proto::INTS;
  default:
    return attribute.type() == Proto::INT;
  }
}

LogicalResult RuleChecker::check(const ValueRule &rule) {
  if (schema.since < rule.since || schema.since > rule.until)
    return success();
  if (rule.kind == ValueRule::OneOf)
    return checkOneOf(rule);
  attribute = find(rule.attribute);
  if (!attribute && rule.kind == ValueRule::Axes)
    attribute = makeDefault(rule.attribute);
  // The value given by the caller of a function is unknown here.
  if (!attribute || attribute->has_ref_attr_name() ||
      !isAbout(rule.kind, *attribute))
    return success();
  switch (rule.kind) {
  case ValueRule::Words:
    return checkWords(rule);
  case ValueRule::Number:
    return checkNumber(rule);
  case ValueRule::Axis:
    return checkAxis(rule);
  case ValueRule::Axes:
  case ValueRule::Permutation:
    return checkAxes(rule);
  case ValueRule::PerSpatialAxis:
    if (std::optional<int64_t> rank = getRank(rule.operand);
        rank && *rank > 2 && attribute->ints_size())
      return checkLength(attribute->ints_size(), rule.least * (*rank - 2),
                         Twine(*rank - 2) + " spatial axes of the input");
    return success();
  case ValueRule::PerDirection:
    if (isDefaultTexts())
      return success();
    return checkLength(attribute->strings_size(),
                       rule.least * countDirections(find("direction")),
                       "directions of the node");
  case ValueRule::AsMany:
    if (const Proto *other = find(rule.words))
      return checkLength(attribute->ints_size(), other->ints_size(),
                         "values of '" + rule.words + "'");
    return success();
  case ValueRule::ElementType:
    return checkElementType();
  case ValueRule::Divides:
    return checkDivides(rule);
  case ValueRule::Kernel:
    return checkKernel(rule);
  case ValueRule::CountsResults:
    return checkCount();
  case ValueRule::Equation:
    return checkEquation();
  case ValueRule::OneOf:
    break;
  }
  return success();
}

LogicalResult RuleChecker::check(const SizeRule &rule) {
  if (schema.since < rule.since)
    return success();
  if (!rule.unless.empty())
    if (const Proto *given = find(rule.unless))
      if (given->has_ref_attr_name() || given->i() != 0)
        return success();
  std::optional<int64_t> size = getSize(rule.operand, rule.dim);
  std::optional<int64_t> other = getSize(rule.other, rule.otherDim);
  if (!size || !other)
    return success();
  int64_t factor = rule.times;
  if (!rule.factor.empty())
    if (const Proto *given = find(rule.factor)) {
      if (given->has_ref_attr_name())
        return success();
      factor = given->i();
    }
  // Division instead of multiplication avoids overflows.
  bool isEqual = factor > 0 && *size % factor == 0 && *size / factor == *other;
  if (isEqual)
    return success();
  Reason diag = nodeError();
  diag << "expected dimension " << unsigned(rule.dim) << " of input #"
       << unsigned(rule.operand) << " to be dimension "
       << unsigned(rule.otherDim) << " of input #" << unsigned(rule.other);
  if (!rule.factor.empty())
    diag << " times '" << rule.factor << "' (" << factor << ")";
  else if (factor != 1)
    diag << " times " << factor;
  return diag << ", found " << *size << " and " << *other;
}

LogicalResult RuleChecker::checkSizes() {
  for (const Proto &given : node.attribute()) {
    const AttributeSchema *known = schema.getAttribute(given.name());
    if (!known || given.has_ref_attr_name())
      continue;
    attribute = &given;
    SmallVector<int64_t> sizes(given.ints().begin(), given.ints().end());
    if (given.has_i())
      sizes.push_back(given.i());
    if (schema.domain.empty() && !mayBeHuge(given.name()))
      for (int64_t size : sizes)
        if (size < -maxParameter || size > maxParameter)
          return error() << "expected " << -maxParameter << " to "
                         << maxParameter << ", found " << size;
    for (int64_t size : known->isSize() ? sizes : SmallVector<int64_t>())
      if (size < 1 || size > INT32_MAX)
        return error() << "expected 1 to " << INT32_MAX << ", found " << size;
  }
  return success();
}

std::string whyValuesRefused(const Node &node, const OpSchema &schema,
                             ArrayRef<InferenceOperand> operands) {
  // Rules only exist for the standard's own operators.
  if (!schema.isONNX())
    return "";
  RuleChecker checker(node, schema, operands);
  if (failed(checker.checkSizes()))
    return checker.reason;
  for (const ValueRule &rule : getValueRules(schema.name))
    if (failed(checker.check(rule)))
      return checker.reason;
  for (const SizeRule &rule : getSizeRules(schema.name))
    if (failed(checker.check(rule)))
      return checker.reason;
  return whyOperandsRefused(node, schema, operands);
}

} // namespace mp
