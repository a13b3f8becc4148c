//===- RuntimeKernels.cpp - What a runtime has for a node -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/RuntimeKernels.h"

#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Policy/NodeOverrides.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

llvm::Expected<RuntimeKernels> RuntimeKernels::create(StringRef request) {
  auto profile = RuntimeProfile::create(request);
  if (!profile)
    return profile.takeError();
  RuntimeKernels kernels;
  kernels.profile = *profile;
  if (StringRef name = profile->getTable().getFallback(); !name.empty()) {
    auto fallback = RuntimeProfile::create(name);
    if (!fallback)
      return fallback.takeError();
    kernels.fallback = *fallback;
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static bool holdsFor(const RuntimeKernel::Condition &condition,
                     Operation *node) {
  NodeCondition wanted;
  wanted.subject = condition.subject;
  wanted.comparison =
      llvm::StringSwitch<NodeCondition::Comparison>(condition.comparison)
          .Case("!=", NodeCondition::NotEqual)
          .Case("<", NodeCondition::Less)
          .Case("<=", NodeCondition::LessEqual)
          .Case(">", NodeCondition::Greater)
          .Case(">=", NodeCondition::GreaterEqual)
          .Default(NodeCondition::Equal);
  wanted.values = {condition.value};
  // A property that the node's schema does not have yet prevents nothing.
  return holds(wanted, node).value_or(true);
}

/// The condition of a row that does not hold; null if all hold.
static const RuntimeKernel::Condition *findViolated(const RuntimeKernel &row,
                                                    Operation *node) {
  auto it = llvm::find_if(row.conditions, [&](const auto &condition) {
    return !holdsFor(condition, node);
  });
  return it == row.conditions.end() ? nullptr : &*it;
}

static bool takes(const RuntimeKernel &row, ElementKind kind) {
  return row.floats >> unsigned(kind) & 1;
}

static StringRef getKindName(ElementKind kind) {
  switch (kind) {
  case ElementKind::Float16:
    return "fp16";
  case ElementKind::BFloat16:
    return "bf16";
  case ElementKind::Double:
    return "float64";
  default:
    return "fp32";
  }
}

/// The rows of an operator, those of the user's files included.
static SmallVector<const RuntimeKernel *> getRows(const RuntimeProfile &profile,
                                                  Operation *node, StringRef op,
                                                  int since) {
  auto *dialect = cast<ONNXDialect>(node->getDialect());
  return profile.getKernels(
      op, since,
      dialect->getSchemas().getRuntimeRows(profile.getTable().getName()));
}

/// Why a profile has no kernel; empty if it has one.
static std::string findObstacle(const RuntimeProfile &profile, Operation *node,
                                const OpSchema &schema, StringRef variable,
                                ElementKind kind) {
  SmallVector<const RuntimeKernel *> rows =
      getRows(profile, node, getQualifiedName(schema.domain, schema.name),
              schema.since);
  if (rows.empty())
    return profile.str() + " has no kernel for " + schema.getDisplayName();
  bool isNamed = llvm::any_of(rows, [&](const RuntimeKernel *row) {
    return row->variable == variable;
  });
  StringRef name = isNamed ? variable : StringRef("*");
  const RuntimeKernel::Condition *violated = nullptr;
  bool isBound = false;
  for (const RuntimeKernel *row : rows) {
    if (row->variable != name)
      continue;
    isBound = true;
    if (!takes(*row, kind))
      continue;
    const RuntimeKernel::Condition *condition = findViolated(*row, node);
    if (!condition)
      return {};
    violated = condition;
  }
  // A variable without any row is not restricted.
  if (!isBound)
    return {};
  std::string text = profile.str() + " has no " + getKindName(kind).str() +
                     " kernel for " + schema.getDisplayName();
  if (violated)
    text += " unless " + violated->subject + " " + violated->comparison + " " +
            violated->value;
  return text;
}

//===----------------------------------------------------------------------===//
// RuntimeKernels
//===----------------------------------------------------------------------===//

/// Visits the type variable and the element type of each float operand and
/// result, until `visit` returns a text, which is returned.
static std::string findInFloats(
    Operation *node, const OpSchema &schema,
    llvm::function_ref<std::string(const TypeVariable &, ElementKind)> visit) {
  auto check = [&](Type type, const FormalParameter *parameter) {
    if (!parameter || !isFloatTensor(type))
      return std::string();
    return visit(schema.typeVariables[parameter->typeVariable],
                 getElementKind(getTensorElementType(type)));
  };
  for (auto [index, type] : llvm::enumerate(node->getOperandTypes()))
    if (std::string text = check(type, schema.getInput(index)); !text.empty())
      return text;
  for (auto [index, type] : llvm::enumerate(node->getResultTypes()))
    if (std::string text = check(type, schema.getOutput(index)); !text.empty())
      return text;
  return {};
}

std::string RuntimeKernels::getObstacle(Operation *node, const OpSchema &schema,
                                        ElementKind low) const {
  auto check = [&](const RuntimeProfile &asked) {
    return findInFloats(
        node, schema, [&](const TypeVariable &variable, ElementKind kind) {
          bool mayNarrow =
              kind == ElementKind::Float && variable.types.containsTensor(low);
          return findObstacle(asked, node, schema, variable.name,
                              mayNarrow ? low : kind);
        });
  };
  std::string obstacle = check(profile);
  return !obstacle.empty() && profile.has(RuntimeRule::Fallback16Bit)
             ? check(*fallback)
             : obstacle;
}

bool RuntimeKernels::hasKernel(Operation *node, StringRef op, int since) const {
  return !getRows(profile, node, op, since).empty() ||
         (fallback && !getRows(*fallback, node, op, since).empty());
}

std::string RuntimeKernels::getFinalObstacle(Operation *node,
                                             const OpSchema &schema) const {
  auto check = [&](const TypeVariable &variable, ElementKind kind) {
    std::string text = findObstacle(profile, node, schema, variable.name, kind);
    const RuntimeProfile &last = fallback ? *fallback : profile;
    if (!text.empty() && fallback &&
        findObstacle(last, node, schema, variable.name, kind).empty())
      return std::string();
    if (!text.empty() && kind == ElementKind::Float16 &&
        last.has(RuntimeRule::CastsFP16) &&
        findObstacle(last, node, schema, variable.name, ElementKind::Float)
            .empty())
      return std::string();
    return text;
  };
  if (!hasKernel(node, getQualifiedName(schema.domain, schema.name),
                 schema.since))
    return profile.str() + " has no kernel for " + schema.getDisplayName();
  return findInFloats(node, schema, check);
}

bool hasOperandsOfOneType(Operation *node) {
  return getOperatorTraits(node).hasRole(OperandRole::Statistics);
}

} // namespace mp
