//===- LinearFactor.cpp - Factors of linear expressions -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearFactor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

#include <cmath>

using namespace mlir;

namespace mp {

Value skipRounding(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static std::optional<double> getNumber(Value value) {
  APFloat number(0.0);
  if (!matchPattern(skipRounding(value), m_ConstantFloat(&number)))
    return std::nullopt;
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

static bool isZero(Value value) {
  auto number = getNumber(value);
  return number && *number == 0;
}

std::optional<LinearFactor> LinearFactor::get(Value value, Value variable) {
  LinearFactor factor;
  while (true) {
    value = skipRounding(value);
    if (value == variable)
      return factor;
    if (auto product = value.getDefiningOp<arith::MulFOp>()) {
      bool isRight = getNumber(product.getRhs()).has_value();
      auto number = getNumber(isRight ? product.getRhs() : product.getLhs());
      if (!number)
        return std::nullopt;
      factor.number *= *number;
      value = isRight ? product.getLhs() : product.getRhs();
    } else if (auto quotient = value.getDefiningOp<arith::DivFOp>()) {
      auto number = getNumber(quotient.getRhs());
      if (!number)
        return std::nullopt;
      factor.number /= *number;
      value = quotient.getLhs();
    } else if (auto choice = value.getDefiningOp<arith::SelectOp>()) {
      bool isKept = isZero(choice.getFalseValue());
      if (!isKept && !isZero(choice.getTrueValue()))
        return std::nullopt;
      factor.conditions.push_back({choice.getCondition(), isKept});
      value = isKept ? choice.getTrueValue() : choice.getFalseValue();
    } else {
      return std::nullopt;
    }
  }
}

/// True if both are computed by equal ops from the same values.
static bool isSameExpression(Value a, Value b) {
  if (a == b)
    return true;
  Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
  return one && other && one->getBlock() == other->getBlock() &&
         one->getNumRegions() == 0 && one->getNumResults() == 1 &&
         OperationEquivalence::isEquivalentTo(
             one, other,
             [](Value x, Value y) { return success(isSameExpression(x, y)); },
             /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

bool LinearFactor::operator==(const LinearFactor &other) const {
  // The rounding of a factor to fp16 or bf16 is at most this.
  constexpr double rounding = 1.0 / 256;
  return std::abs(number - other.number) <= rounding * std::abs(number) &&
         llvm::equal(conditions, other.conditions,
                     [](const auto &one, const auto &another) {
                       return one.second == another.second &&
                              isSameExpression(one.first, another.first);
                     });
}

} // namespace mp
