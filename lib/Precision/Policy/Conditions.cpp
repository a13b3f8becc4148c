//===- Conditions.cpp - Conditions on attributes and shapes ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition compares an attribute, or its default, with the user's value; or
// the rank, the number of elements or a dimension of an operand or result.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/NodeOverrides.h"

#include "mp-opt/Precision/Policy/TorchNames.h"
#include "mp-opt/Support/FlatJSON.h"
#include "mp-opt/Support/Nearest.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {
/// The property that a condition tests, as texts; functions return none if it
/// is unknown.
struct Subject {
  std::vector<std::string> values;
  bool isList = false;
};

/// The parts of "input.0.dim.1".
struct ShapeSubject {
  bool isInput;
  unsigned index;
  /// Constant, Zero and Used are 1 or 0; an operand that is left out is a
  /// constant and zero.
  enum { Rank, Elements, Dim, Constant, Zero, Used } what;
  unsigned dim = 0;
};
} // namespace

static std::optional<ShapeSubject> parseShapeSubject(StringRef text) {
  SmallVector<StringRef, 4> parts;
  text.split(parts, '.');
  ShapeSubject subject{};
  if (parts.size() < 3 || (parts[0] != "input" && parts[0] != "output") ||
      parts[1].getAsInteger(10, subject.index))
    return std::nullopt;
  subject.isInput = parts[0] == "input";
  if (parts.size() == 4 && parts[2] == "dim" &&
      !parts[3].getAsInteger(10, subject.dim))
    subject.what = ShapeSubject::Dim;
  else if (parts.size() == 3 && parts[2] == "rank")
    subject.what = ShapeSubject::Rank;
  else if (parts.size() == 3 && parts[2] == "elements")
    subject.what = ShapeSubject::Elements;
  else if (parts.size() == 3 && parts[2] == "used")
    subject.what = ShapeSubject::Used;
  else if (parts.size() == 3 && subject.isInput && parts[2] == "constant")
    subject.what = ShapeSubject::Constant;
  else if (parts.size() == 3 && subject.isInput && parts[2] == "zero")
    subject.what = ShapeSubject::Zero;
  else
    return std::nullopt;
  return subject;
}

static bool holdsFor(const ShapeSubject &subject, Operation *node) {
  if (subject.what == ShapeSubject::Used)
    return subject.isInput ? hasOperand(node, subject.index)
                           : hasResult(node, subject.index);
  if (!hasOperand(node, subject.index))
    return true;
  Value value = node->getOperand(subject.index);
  Operation *source = value.getDefiningOp();
  return source &&
         (isa<InitializerOp>(source) || isStandardOp(source, "Constant")) &&
         (subject.what == ShapeSubject::Constant || isZeroConstant(value));
}

static std::optional<Subject> getShapeValue(const ShapeSubject &subject,
                                            Operation *node) {
  if (subject.what >= ShapeSubject::Constant)
    return Subject{{holdsFor(subject, node) ? "1" : "0"}, false};
  unsigned count =
      subject.isInput ? node->getNumOperands() : node->getNumResults();
  if (subject.index >= count)
    return std::nullopt;
  Type type = subject.isInput ? node->getOperand(subject.index).getType()
                              : node->getResult(subject.index).getType();
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!shaped)
    return std::nullopt;
  int64_t value = shaped.getRank();
  if (subject.what == ShapeSubject::Elements) {
    if (!shaped.hasStaticShape())
      return std::nullopt;
    value = 1;
    for (int64_t size : shaped.getShape())
      if (llvm::MulOverflow(value, size, value))
        return std::nullopt;
  } else if (subject.what == ShapeSubject::Dim) {
    if (int64_t(subject.dim) >= shaped.getRank() ||
        shaped.isDynamicDim(subject.dim))
      return std::nullopt;
    value = shaped.getDimSize(subject.dim);
  }
  return Subject{{std::to_string(value)}, false};
}

static std::string printNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
  return text;
}

static std::optional<Subject> convertAttribute(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return Subject{{text.str()}, false};
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return Subject{{std::to_string(number.getInt())}, false};
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return Subject{{printNumber(number.getValueAsDouble())}, false};
  Subject list{{}, true};
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    for (int64_t value : array.asArrayRef())
      list.values.push_back(std::to_string(value));
    return list;
  }
  if (auto array = dyn_cast<DenseF32ArrayAttr>(attribute)) {
    for (float value : array.asArrayRef())
      list.values.push_back(printNumber(value));
    return list;
  }
  auto array = dyn_cast<ArrayAttr>(attribute);
  if (!array)
    return std::nullopt;
  for (Attribute element : array) {
    std::optional<Subject> value = convertAttribute(element);
    if (!value || value->isList)
      return std::nullopt;
    list.values.push_back(value->values.front());
  }
  return list;
}

/// A default in its printed form, which is JSON.
static std::optional<Subject> convertDefault(StringRef text) {
  llvm::Expected<llvm::json::Value> value =
      parseFlatJSON(text, /*maxDepth=*/16);
  if (!value) {
    consumeError(value.takeError());
    return Subject{{text.str()}, false};
  }
  auto print = [](const llvm::json::Value &element) -> std::string {
    if (auto string = element.getAsString())
      return string->str();
    std::string printed;
    llvm::raw_string_ostream(printed) << element;
    return printed;
  };
  const llvm::json::Array *array = value->getAsArray();
  if (!array)
    return Subject{{print(*value)}, false};
  Subject list{{}, true};
  for (const llvm::json::Value &element : *array)
    list.values.push_back(print(element));
  return list;
}

static std::optional<Subject> getSubject(StringRef name, Operation *node) {
  if (std::optional<ShapeSubject> shape = parseShapeSubject(name))
    return getShapeValue(*shape, node);
  if (Attribute attribute = node->getAttr(name))
    return convertAttribute(attribute);
  const OpSchema *schema = getSchema(node);
  const AttributeSchema *attribute =
      schema ? schema->getAttribute(name) : nullptr;
  if (!attribute || !attribute->defaultValue)
    return std::nullopt;
  return convertDefault(*attribute->defaultValue);
}

static bool compare(StringRef a, NodeCondition::Comparison comparison,
                    StringRef b) {
  double x, y;
  bool isNumber = !a.getAsDouble(x) && !b.getAsDouble(y);
  switch (comparison) {
  case NodeCondition::Equal:
    return isNumber ? x == y : a == b;
  case NodeCondition::NotEqual:
    return isNumber ? x != y : a != b;
  case NodeCondition::Less:
    return isNumber && x < y;
  case NodeCondition::LessEqual:
    return isNumber && x <= y;
  case NodeCondition::Greater:
    return isNumber && x > y;
  case NodeCondition::GreaterEqual:
    return isNumber && x >= y;
  }
  return false;
}

static bool holdsFor(const NodeCondition &condition, const Subject &subject) {
  if (!condition.isList)
    return llvm::all_of(subject.values, [&](StringRef value) {
      return compare(value, condition.comparison, condition.values.front());
    });
  if (!subject.isList || subject.values.size() != condition.values.size())
    return false;
  for (auto [value, wanted] : llvm::zip_equal(subject.values, condition.values))
    if (!compare(value, NodeCondition::Equal, wanted))
      return false;
  return true;
}

std::optional<bool> holds(const NodeCondition &condition, Operation *node) {
  std::optional<Subject> subject = getSubject(condition.subject, node);
  return subject ? std::optional(holdsFor(condition, *subject)) : std::nullopt;
}

bool holds(const NodeRule &rule, Operation *node) {
  return llvm::all_of(rule.conditions, [&](const NodeCondition &condition) {
    return holds(condition, node).value_or(false);
  });
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// All versions of an operator that a rule may mean.
static SmallVector<const OpFamily *>
findFamilies(StringRef name, const SchemaRegistry &schemas) {
  SmallVector<const OpFamily *> families;
  auto add = [&](StringRef text) {
    for (const OpFamily *family : schemas.getFamilies()) {
      StringRef domain =
          family->domain.empty() ? StringRef("ai.onnx") : family->domain;
      if (text == family->name || text == (domain + "." + family->name).str())
        families.push_back(family);
    }
  };
  if (auto names = getTorchOperators(name))
    llvm::for_each(*names, add);
  else
    add(name);
  return families;
}

LogicalResult checkConditions(const NodeRule &rule, ModuleOp module,
                              const SchemaRegistry &schemas) {
  SmallVector<const OpFamily *> families = findFamilies(rule.text, schemas);
  // The attributes of a custom op are unknown.
  if (families.empty())
    return success();
  std::vector<std::string> known = {"input.0.rank",      "input.0.elements",
                                    "input.0.dim.0",     "output.0.rank",
                                    "output.0.elements", "output.0.dim.0",
                                    "input.0.constant",  "input.0.zero",
                                    "input.0.used",      "output.0.used"};
  for (const OpFamily *family : families)
    for (const auto &version : family->getVersions())
      for (const AttributeSchema &attribute : version->attributes)
        known.push_back(attribute.name);
  for (const NodeCondition &condition : rule.conditions)
    if (!parseShapeSubject(condition.subject) &&
        !llvm::is_contained(known, condition.subject))
      return module.emitError()
             << "operator '" << rule.text << "' has no attribute '"
             << condition.subject << "' " << describePlace(condition.place)
             << suggestNearest(condition.subject, known);
  return success();
}

} // namespace mp
