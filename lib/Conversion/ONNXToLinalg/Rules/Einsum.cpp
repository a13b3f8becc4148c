//===- Einsum.cpp - Sums of products by equations -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are multiplied from left to right, each pair by one contraction,
// whose result keeps the axes that are still needed.
//
//===----------------------------------------------------------------------===//

#include "../Contractions.h"
#include "../Rules.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mp {

namespace {

/// A letter is its character code; axes of an ellipsis are negative, the last
/// one is -1.
using Labels = SmallVector<int>;

struct Term {
  TensorValue tensor;
  Labels labels;
};

struct Equation {
  NodeLowering &node;
  SmallVector<Term> terms;
  Labels result;
  llvm::MapVector<int, Size> sizes;

  LogicalResult read();
  TensorValue emit();

private:
  FailureOr<Labels> readLabels(StringRef text, int ellipsis);
  LogicalResult readSizes();
  Labels getNeeded(unsigned next);
  AffineMap getMap(const Term &term, ArrayRef<int> loops);
  Sizes getSizes(ArrayRef<int> labels);
  TensorValue sum(const Term &term, ArrayRef<int> kept, Type element);
  TensorValue multiply(const Term &x, const Term &y, ArrayRef<int> kept,
                       Type element);
};

} // namespace

/// `ellipsis` is the number of axes that "..." covers.
FailureOr<Labels> Equation::readLabels(StringRef text, int ellipsis) {
  Labels labels;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      for (int axis = -ellipsis; axis < 0; ++axis)
        labels.push_back(axis);
      continue;
    }
    if (!llvm::isAlpha(text.front())) {
      (void)node.fail("'" + Twine(text.front()) + "' in its equation");
      return failure();
    }
    labels.push_back(text.front());
    text = text.drop_front();
  }
  return labels;
}

LogicalResult Equation::read() {
  std::string text;
  for (char letter : node.getString("equation"))
    if (letter != ' ')
      text.push_back(letter);
  auto [left, right] = StringRef(text).split("->");
  bool isExplicit = StringRef(text).contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != node.getNumOperands())
    return node.fail("an equation of " + Twine(parts.size()) + " terms for " +
                     Twine(node.getNumOperands()) + " operands");
  int widest = 0;
  for (auto [index, part] : llvm::enumerate(parts)) {
    TensorValue tensor = node.in(index);
    int named = llvm::count_if(part, llvm::isAlpha);
    int ellipsis = part.contains("...") ? int(tensor.getRank()) - named : 0;
    auto labels = readLabels(part, std::max(ellipsis, 0));
    if (failed(labels))
      return failure();
    if (int64_t(labels->size()) != tensor.getRank())
      return node.fail("term '" + part + "' for an operand of " +
                       Twine(tensor.getRank()) + " axes");
    widest = std::max(widest, ellipsis);
    terms.push_back({tensor, *labels});
  }
  if (failed(readSizes()))
    return failure();
  if (isExplicit) {
    auto labels = readLabels(right, widest);
    if (failed(labels))
      return failure();
    result = *labels;
  } else {
    // An implicit result has the axes of the ellipsis, then the labels that
    // occur once, in alphabetical order.
    llvm::MapVector<int, int> counts;
    for (const Term &term : terms)
      for (int label : term.labels)
        ++counts[label];
    for (auto [label, count] : counts)
      if (label < 0 || count == 1)
        result.push_back(label);
    llvm::sort(result);
  }
  for (auto [index, label] : llvm::enumerate(result))
    if (!sizes.contains(label) ||
        llvm::is_contained(ArrayRef<int>(result).take_front(index), label))
      return node.fail("axes of the result that are no axes of an operand, or "
                       "occur twice");
  return success();
}

LogicalResult Equation::readSizes() {
  Emitter &e = node.e;
  for (const Term &term : terms)
    for (auto [label, extent] : llvm::zip(term.labels, e.sizes(term.tensor))) {
      auto [entry, isNew] = sizes.try_emplace(label, extent);
      Size &known = entry->second;
      if (isNew || known == extent || Emitter::isConstant(extent, 1))
        continue;
      if (Emitter::isConstant(known, 1)) {
        known = extent;
        continue;
      }
      auto have = Emitter::getConstant(extent);
      auto want = Emitter::getConstant(known);
      if (have && want)
        return node.fail("an axis of the sizes " + Twine(*want) + " and " +
                         Twine(*have));
      e.check(node.s.compare(Scalars::EQ, e.index(extent), e.index(known)),
              "an axis of the sizes %1 and %0", extent, known);
      if (have)
        known = extent;
    }
  return success();
}

/// The labels of the result and of the terms from `next` on.
Labels Equation::getNeeded(unsigned next) {
  Labels needed = result;
  for (const Term &term : ArrayRef(terms).drop_front(next))
    llvm::append_range(needed, term.labels);
  return needed;
}

Sizes Equation::getSizes(ArrayRef<int> labels) {
  Sizes found;
  for (int label : labels)
    found.push_back(sizes.find(label)->second);
  return found;
}

AffineMap Equation::getMap(const Term &term, ArrayRef<int> loops) {
  MLIRContext *context = node.e.b.getContext();
  Sizes own = node.e.sizes(term.tensor);
  SmallVector<AffineExpr> exprs;
  for (auto [label, extent] : llvm::zip(term.labels, own)) {
    bool spreads = Emitter::isConstant(extent, 1) &&
                   !Emitter::isConstant(sizes.find(label)->second, 1);
    unsigned dim = llvm::find(loops, label) - loops.begin();
    exprs.push_back(spreads ? getAffineConstantExpr(0, context)
                            : getAffineDimExpr(dim, context));
  }
  return AffineMap::get(loops.size(), 0, exprs, context);
}

/// The first `count` of `dims` loops: the axes of a result.
static AffineMap getFrontMap(MLIRContext *context, unsigned dims,
                             unsigned count) {
  SmallVector<AffineExpr> exprs;
  for (unsigned dim = 0; dim < count; ++dim)
    exprs.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(dims, 0, exprs, context);
}

static void appendNew(Labels &list, ArrayRef<int> labels) {
  for (int label : labels)
    if (!llvm::is_contained(list, label))
      list.push_back(label);
}

/// Reduces one operand: axes that are not kept are summed; an axis that occurs
/// twice is replaced by the diagonal.
TensorValue Equation::sum(const Term &term, ArrayRef<int> kept, Type element) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Labels loops(kept);
  appendNew(loops, term.labels);
  Type type = getComputeType(element);
  Value start = e.full(getSizes(kept), type, 0.0).value;
  SmallVector<utils::IteratorType> iterators(kept.size(),
                                             utils::IteratorType::parallel);
  iterators.resize(loops.size(), utils::IteratorType::reduction);
  AffineMap maps[] = {getMap(term, loops),
                      getFrontMap(e.b.getContext(), loops.size(), kept.size())};
  auto op = linalg::GenericOp::create(
      e.b, e.loc, start.getType(), term.tensor.value, start, maps, iterators,
      [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
        Value value = s.widen(arguments[0], term.tensor.element);
        linalg::YieldOp::create(e.b, e.loc, s.add(arguments[1], value));
      });
  e.noteSizes(op.getResult(0), getSizes(kept));
  return e.cast({op.getResult(0), type}, element);
}

TensorValue Equation::multiply(const Term &x, const Term &y, ArrayRef<int> kept,
                               Type element) {
  Labels loops(kept);
  appendNew(loops, x.labels);
  appendNew(loops, y.labels);
  Sizes extents = getSizes(kept);
  MLIRContext *context = node.e.b.getContext();
  AffineMap map = getFrontMap(context, loops.size(), kept.size());
  return contract(node.e, x.tensor, y.tensor, extents, element,
                  {getMap(x, loops), getMap(y, loops), map});
}

TensorValue Equation::emit() {
  Type element = node.outElement();
  Term current = terms.front();
  if (terms.size() == 1)
    return sum(current, result, element);
  for (unsigned next = 1; next < terms.size(); ++next) {
    bool isLast = next + 1 == terms.size();
    Labels kept = result, needed = getNeeded(next + 1);
    if (!isLast) {
      kept.clear();
      Labels own = current.labels;
      appendNew(own, terms[next].labels);
      for (int label : own)
        if (llvm::is_contained(needed, label))
          appendNew(kept, label);
    }
    // Intermediate sums are not rounded.
    Type type = isLast ? element : getComputeType(element);
    current = {multiply(current, terms[next], kept, type), kept};
  }
  return current.tensor;
}

static LogicalResult einsumRule(NodeLowering &node) {
  Equation equation{node, {}, {}, {}};
  if (failed(equation.read()))
    return failure();
  node.set(equation.emit());
  return success();
}

ArrayRef<LoweringRule> getEinsumLowerings() {
  static const LoweringRule rules[] = {{"Einsum", einsumRule}};
  return rules;
}

} // namespace mp
