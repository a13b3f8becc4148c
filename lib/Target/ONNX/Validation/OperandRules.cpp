//===- OperandRules.cpp - Ranks and numbers of operands -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constant operands determine sizes. ONNX's inference only sees numbers whose
// sums and products do not overflow, and does not check all of these. The rows
// of lib/Operators define the valid values of the others.
//
//===----------------------------------------------------------------------===//

#include "ValueChecks.h"

#include "mp-opt/Operators/ValueRules.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include "onnx/onnx_pb.h"

#include <cmath>

using namespace mlir;
using Node = ::onnx::NodeProto;
using Proto = ::onnx::AttributeProto;
using TensorProto = ::onnx::TensorProto;

namespace mp {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

bool hasTooManyElements(ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return false;
  int64_t product = 1;
  for (int64_t size : sizes)
    if (size > 0 && (llvm::MulOverflow(product, size, product) != 0 ||
                     product > maxElements))
      return true;
  return false;
}

/// "2x3x?".
static std::string listSizes(ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + (size < 0 ? "?" : std::to_string(size));
  return text;
}

std::string whySizesRefused(const ::onnx::TypeProto &type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape())
    return "";
  SmallVector<int64_t> sizes;
  for (const auto &dim : type.tensor_type().shape().dim()) {
    sizes.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    if (dim.has_dim_value() && dim.dim_value() < 0)
      return "expected sizes of 0 or more for the output, found " +
             std::to_string(dim.dim_value());
  }
  if (!hasTooManyElements(sizes))
    return "";
  return "expected at most 2^48 elements in the output, found the sizes " +
         listSizes(sizes);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The elements of a constant operand, if they are of type T; absent for
/// others.
template <typename T, typename Typed>
static SmallVector<T> readElements(StringRef raw, const Typed &typed) {
  SmallVector<T> values(typed.begin(), typed.end());
  T element;
  for (; raw.size() >= sizeof(T); raw = raw.drop_front(sizeof(T))) {
    memcpy(&element, raw.data(), sizeof(T));
    values.push_back(element);
  }
  return values;
}

static const TensorProto *getConstant(ArrayRef<InferenceOperand> operands,
                                      unsigned index) {
  const TensorProto *tensor =
      index < operands.size() ? operands[index].value : nullptr;
  return tensor && !tensor->has_segment() ? tensor : nullptr;
}

static std::optional<SmallVector<int64_t>>
readIntegers(ArrayRef<InferenceOperand> operands, unsigned index) {
  const TensorProto *tensor = getConstant(operands, index);
  if (tensor && tensor->data_type() == TensorProto::INT64)
    return readElements<int64_t>(tensor->raw_data(), tensor->int64_data());
  if (!tensor || tensor->data_type() != TensorProto::INT32)
    return std::nullopt;
  auto narrow = readElements<int32_t>(tensor->raw_data(), tensor->int32_data());
  return SmallVector<int64_t>(narrow.begin(), narrow.end());
}

/// Reads floats or integers, as exactly as a double holds them.
static std::optional<SmallVector<double>>
readNumbers(ArrayRef<InferenceOperand> operands, unsigned index) {
  if (auto integers = readIntegers(operands, index))
    return SmallVector<double>(integers->begin(), integers->end());
  const TensorProto *tensor = getConstant(operands, index);
  if (tensor && tensor->data_type() == TensorProto::DOUBLE)
    return readElements<double>(tensor->raw_data(), tensor->double_data());
  if (!tensor || tensor->data_type() != TensorProto::FLOAT)
    return std::nullopt;
  auto narrow = readElements<float>(tensor->raw_data(), tensor->float_data());
  return SmallVector<double>(narrow.begin(), narrow.end());
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

namespace {

/// Checks the operands of one node against the rows of its operator. Each check
/// returns an error text, or an empty one.
class OperandChecker {
public:
  OperandChecker(const Node &node, const OpSchema &schema,
                 ArrayRef<InferenceOperand> operands)
      : node(node), schema(schema), operands(operands) {}

  std::string check(const OperandRule &rule);

private:
  std::string checkRank(const OperandRule &rule);
  std::string checkOneElement();
  std::string checkAxes();
  std::string checkCount();
  std::string checkIntegers(const OperandRule &rule);
  std::string checkShape(const OperandRule &rule);
  std::string checkResult(const OperandRule &rule);
  std::string checkNotZero();
  std::string checkScales();
  std::string checkSteps();

  RankedTensorType getType(unsigned index) const {
    return index < operands.size()
               ? dyn_cast<RankedTensorType>(operands[index].type)
               : RankedTensorType();
  }
  /// Formats an error of operand `operand`: the expected and the found value.
  template <typename T> std::string refuse(const Twine &expected, T found) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "input #" << operand << " ('" << schema.getInput(operand)->name
       << "'): expected " << expected << ", found ";
    if constexpr (std::is_base_of_v<Type, T>)
      os << "'" << found << "'";
    else if constexpr (std::is_floating_point_v<T>)
      os << llvm::format("%g", found);
    else
      os << found;
    return text;
  }

  const Node &node;
  const OpSchema &schema;
  ArrayRef<InferenceOperand> operands;
  /// The operand of the current rule.
  unsigned operand = 0;
};

} // namespace

std::string OperandChecker::checkRank(const OperandRule &rule) {
  RankedTensorType type = getType(operand);
  if (!type || (type.getRank() >= rule.least && type.getRank() <= rule.most))
    return "";
  return refuse(Twine(rule.most == INT_MAX ? "at least " : "") + "rank " +
                    Twine(rule.least),
                Type(type));
}

std::string OperandChecker::checkOneElement() {
  RankedTensorType type = getType(operand);
  for (int64_t size : type ? type.getShape() : ArrayRef<int64_t>())
    if (!ShapedType::isDynamic(size) && size != 1)
      return refuse("one element", Type(type));
  return "";
}

std::string OperandChecker::checkAxes() {
  RankedTensorType type = getType(0);
  auto axes = readIntegers(operands, operand);
  if (!type || !axes)
    return "";
  int64_t rank = type.getRank();
  llvm::SmallBitVector seen{unsigned(rank)};
  for (int64_t axis : *axes) {
    // A scalar is treated like a tensor with a single axis.
    if (rank == 0 && (axis == 0 || axis == -1))
      continue;
    if (axis < -rank || axis >= rank)
      return refuse(
          "axes of input #0, " + Twine(-rank) + " to " + Twine(rank - 1), axis);
    unsigned place = unsigned(axis < 0 ? axis + rank : axis);
    if (seen.test(place))
      return refuse("different axes", std::to_string(axis) + " twice");
    seen.set(place);
  }
  return "";
}

std::string OperandChecker::checkCount() {
  RankedTensorType type = getType(0);
  auto sizes = readIntegers(operands, operand);
  const Proto *keepsZeros = nullptr;
  for (const Proto &given : node.attribute())
    if (given.name() == "allowzero")
      keepsZeros = &given;
  if (!type || !type.hasStaticShape() || !sizes ||
      (keepsZeros && keepsZeros->has_ref_attr_name()))
    return "";
  int64_t count = 1, found = 1;
  auto grow = [](int64_t &product, int64_t size) {
    return llvm::MulOverflow(product, size, product) != 0;
  };
  for (int64_t size : type.getShape())
    if (grow(count, size))
      return "";
  for (auto [index, size] : llvm::enumerate(*sizes)) {
    bool isCopied = size == 0 && !(keepsZeros && keepsZeros->i());
    // Sizes to be inferred are checked by ONNX.
    if (size < 0 || (isCopied && int64_t(index) >= type.getRank()))
      return "";
    if (grow(found, isCopied ? type.getDimSize(unsigned(index)) : size))
      return "";
  }
  if (count == found)
    return "";
  std::string own;
  llvm::raw_string_ostream(own) << "'" << type << "'";
  return refuse("sizes of " + Twine(count) + " elements in all, as " + own +
                    " has",
                found);
}

std::string OperandChecker::checkIntegers(const OperandRule &rule) {
  auto numbers = readIntegers(operands, operand);
  int64_t least = rule.least == INT_MIN ? -maxElements : rule.least;
  for (int64_t number : numbers.value_or(SmallVector<int64_t>()))
    if (number < least || number > maxElements)
      return refuse("numbers from " + Twine(least) + " to 2^48", number);
  return "";
}

std::string OperandChecker::checkShape(const OperandRule &rule) {
  if (std::string wrong = checkIntegers(rule); !wrong.empty())
    return wrong;
  auto sizes = readIntegers(operands, operand);
  if (!sizes || !hasTooManyElements(*sizes))
    return "";
  return refuse("sizes of at most 2^48 elements in all", listSizes(*sizes));
}

/// Checks the sizes that constant operands, together with those of operand 0,
/// give to a result, as ONNX's inference would, which does not see huge
/// numbers.
std::string OperandChecker::checkResult(const OperandRule &rule) {
  if (std::string wrong = checkIntegers(rule); !wrong.empty())
    return wrong;
  RankedTensorType type = getType(0);
  auto numbers = readIntegers(operands, operand);
  size_t rank = type ? size_t(type.getRank()) : 0;
  bool isPad = rule.kind == OperandRule::Pads;
  // Pads for some of the axes have these in a later operand.
  if (!type || !numbers || numbers->size() != (isPad ? 2 * rank : rank))
    return "";
  SmallVector<int64_t> sizes(type.getShape());
  for (auto [axis, size] : llvm::enumerate(sizes)) {
    if (ShapedType::isDynamic(size))
      size = isPad ? -1 : (*numbers)[axis];
    else if (isPad)
      size += (*numbers)[axis] + (*numbers)[axis + rank];
    else
      size = llvm::MulOverflow(size, (*numbers)[axis], size) ? INT64_MAX : size;
    if (isPad && size < 0 && !type.isDynamicDim(axis))
      return refuse("pads that leave sizes of 0 or more", size);
  }
  if (!hasTooManyElements(sizes))
    return "";
  return refuse("numbers that give at most 2^48 elements",
                "the sizes " + listSizes(sizes));
}

std::string OperandChecker::checkNotZero() {
  auto numbers = readNumbers(operands, operand);
  for (double number : numbers.value_or(SmallVector<double>()))
    if (number == 0)
      return refuse("a step other than 0", number);
  return "";
}

std::string OperandChecker::checkScales() {
  // Another version may have another operand at this index.
  if (schema.getInput(operand)->name != "scales")
    return "";
  auto numbers = readNumbers(operands, operand);
  for (double number : numbers.value_or(SmallVector<double>()))
    if (!(number > 0) || std::isinf(number))
      return refuse("finite scales above 0", number);
  RankedTensorType type = getType(0);
  if (!type || !numbers || numbers->size() != size_t(type.getRank()))
    return "";
  double count = 1;
  for (auto [scale, size] : llvm::zip(*numbers, type.getShape()))
    count *= ShapedType::isDynamic(size) ? 1 : std::floor(scale * double(size));
  if (count > double(maxElements))
    return refuse("scales that give at most 2^48 elements", count);
  return "";
}

/// Checks start, limit and step of a sequence.
std::string OperandChecker::checkSteps() {
  auto start = readNumbers(operands, 0), limit = readNumbers(operands, 1),
       step = readNumbers(operands, 2);
  if (step && !step->empty() &&
      (step->front() == 0 || std::isnan(step->front())))
    return refuse("a step other than 0", step->front());
  if (!start || !limit || !step || start->empty() || limit->empty() ||
      step->empty())
    return "";
  double count = std::ceil((limit->front() - start->front()) / step->front());
  if (count <= double(maxElements))
    return "";
  return refuse("a step that gives at most 2^48 elements", step->front());
}

std::string OperandChecker::check(const OperandRule &rule) {
  // An earlier version may have had an attribute instead.
  if (schema.since < rule.since || !schema.getInput(rule.operand))
    return "";
  operand = rule.operand;
  switch (rule.kind) {
  case OperandRule::Rank:
    return checkRank(rule);
  case OperandRule::OneElement:
    return checkOneElement();
  case OperandRule::Axes:
    return checkAxes();
  case OperandRule::Sizes:
    return checkCount();
  case OperandRule::Integers:
    return checkIntegers(rule);
  case OperandRule::Shape:
    return checkShape(rule);
  case OperandRule::Pads:
  case OperandRule::Repeats:
    return checkResult(rule);
  case OperandRule::NotZero:
    return checkNotZero();
  case OperandRule::Scales:
    return checkScales();
  case OperandRule::Steps:
    return checkSteps();
  }
  return "";
}

std::string whyOperandsRefused(const Node &node, const OpSchema &schema,
                               ArrayRef<InferenceOperand> operands) {
  OperandChecker checker(node, schema, operands);
  for (const OperandRule &rule : getOperandRules(schema.name))
    if (std::string wrong = checker.check(rule); !wrong.empty())
      return wrong;
  return "";
}

} // namespace mp
