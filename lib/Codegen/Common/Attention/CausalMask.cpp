//===- CausalMask.cpp - Keys that no query attends to ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/CausalMask.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace mp::kernel {

namespace {

/// query * m + key * n + constant.
struct IndexForm {
  int64_t query = 0, key = 0, constant = 0;

  IndexForm operator+(const IndexForm &other) const {
    return {query + other.query, key + other.key, constant + other.constant};
  }
  IndexForm operator-() const { return {-query, -key, -constant}; }
};

/// Evaluates the region where a comparison has a known result.
class MaskedScore {
public:
  MaskedScore(Block &body, Value condition, bool result)
      : body(body), condition(condition), result(result) {}

  /// The number that a float is; minus infinity, or a number below -1e30, also
  /// for sums with one that are not known.
  std::optional<double> getFloat(Value value);

private:
  std::optional<bool> getBool(Value value);

  Block &body;
  Value condition;
  bool result;
};

} // namespace

/// The largest score that has no weight next to others.
constexpr double maxMasked = -1e30;

static bool isMasked(std::optional<double> number) {
  return number && *number <= maxMasked;
}

std::optional<bool> MaskedScore::getBool(Value value) {
  if (value == condition)
    return result;
  if (auto comparison = value.getDefiningOp<arith::CmpFOp>()) {
    auto a = getFloat(comparison.getLhs()), b = getFloat(comparison.getRhs());
    if (!a || !b)
      return std::nullopt;
    return arith::applyCmpPredicate(comparison.getPredicate(), APFloat(*a),
                                    APFloat(*b));
  }
  if (auto inverse = value.getDefiningOp<arith::XOrIOp>())
    if (matchPattern(inverse.getRhs(), m_One()))
      if (auto known = getBool(inverse.getLhs()))
        return !*known;
  if (auto comparison = value.getDefiningOp<arith::CmpIOp>();
      comparison && matchPattern(comparison.getRhs(), m_Zero()))
    if (auto widened = comparison.getLhs().getDefiningOp<arith::ExtUIOp>())
      if (auto known = getBool(widened.getIn())) {
        if (comparison.getPredicate() == arith::CmpIPredicate::ne)
          return *known;
        if (comparison.getPredicate() == arith::CmpIPredicate::eq)
          return !*known;
      }
  return std::nullopt;
}

std::optional<double> MaskedScore::getFloat(Value value) {
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number))) {
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.convertToDouble();
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != &body)
    return std::nullopt;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return getFloat(op->getOperand(0));
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    auto known = getBool(choice.getCondition());
    if (!known)
      return std::nullopt;
    return getFloat(*known ? choice.getTrueValue() : choice.getFalseValue());
  }
  if (auto sum = dyn_cast<arith::AddFOp>(op)) {
    auto a = getFloat(sum.getLhs()), b = getFloat(sum.getRhs());
    if (a && b)
      return *a + *b;
    if (isMasked(a) || isMasked(b))
      return isMasked(a) ? a : b;
  }
  return std::nullopt;
}

/// The form of an index, or of an integer that it was cast to.
static std::optional<IndexForm> getForm(Value value, Value query, Value key) {
  if (value == query)
    return IndexForm{1, 0, 0};
  if (value == key)
    return IndexForm{0, 1, 0};
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return IndexForm{0, 0, number.getSExtValue()};
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return getForm(op->getOperand(0), query, key);
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  auto a = getForm(op->getOperand(0), query, key);
  auto b = getForm(op->getOperand(1), query, key);
  if (!a || !b)
    return std::nullopt;
  return *a + (isa<arith::AddIOp>(op) ? *b : -*b);
}

/// The comparison as one of n - m.
static std::optional<CausalMask> getComparison(arith::CmpIOp op, Value query,
                                               Value key) {
  auto lhs = getForm(op.getLhs(), query, key);
  auto rhs = getForm(op.getRhs(), query, key);
  if (!lhs || !rhs)
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  bool isStrict = predicate == Predicate::slt || predicate == Predicate::sgt;
  bool isLess = predicate == Predicate::slt || predicate == Predicate::sle;
  if (!isStrict && !isLess && predicate != Predicate::sge)
    return std::nullopt;
  // n - m + constant is compared with zero.
  IndexForm form = *lhs + -*rhs;
  if (form.key == -1) {
    form = -form;
    isLess = !isLess;
  }
  if (form.key != 1 || form.query != -1)
    return std::nullopt;
  return CausalMask{op, -form.constant - (isLess == isStrict), isLess};
}

/// True if the score depends on extra operands, or on indices in another way
/// than by the comparison: these could mask a row.
static bool dependsOnPlace(Block &body, unsigned firstExtra, Value comparison) {
  SmallVector<Value> worklist{body.getTerminator()->getOperand(0)};
  llvm::DenseSet<Value> seen{comparison};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == &body &&
        argument.getArgNumber() >= firstExtra)
      return true;
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &body)
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

std::optional<CausalMask> getCausalMask(Operation *attention) {
  Block &body = attention->getRegion(0).front();
  unsigned firstExtra = isa<AttentionGradientOp>(attention)
                            ? AttentionGradientOp::NumArguments
                            : AttentionOp::NumArguments;
  Value query = body.getArguments().end()[-2];
  Value key = body.getArguments().end()[-1];
  std::optional<CausalMask> least;
  for (auto op : body.getOps<arith::CmpIOp>()) {
    auto diagonal = getComparison(op, query, key);
    if (!diagonal)
      continue;
    MaskedScore score(body, op, !diagonal->holdsBefore);
    auto masked = score.getFloat(body.getTerminator()->getOperand(0));
    if (!isMasked(masked))
      continue;
    // A row of nothing but finite masks has weights.
    if (!std::isinf(*masked) &&
        (diagonal->last < 0 || dependsOnPlace(body, firstExtra, op)))
      continue;
    if (!least || diagonal->last < least->last)
      least = diagonal;
  }
  return least;
}

} // namespace mp::kernel
