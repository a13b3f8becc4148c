//===- Einsum.cpp - Gradients of sums of products by equations ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of an operand is the Einsum of the result's gradient with the
// other operands that leaves the operand's letters. Three cases do not fit into
// an equation: letters that only this operand has (its elements were summed, so
// the gradient is copied), sizes of 1 that were broadcast (the gradient is
// summed), and diagonals (the second letter of a pair is renamed, and an
// identity matrix makes both equal).
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace mp {

namespace {

/// A sum of products; "..." is written as one character.
struct Product {
  SmallVector<std::string> terms;
  SmallVector<Value> values;
  std::string result;

  void add(StringRef term, Value value) {
    terms.push_back(term.str());
    values.push_back(value);
  }
  bool hasLetter(char letter) const {
    return llvm::any_of(terms, [&](const std::string &term) {
      return term.find(letter) != std::string::npos;
    });
  }
  /// The type of the result, as far as its sizes are known.
  Type inferType() const;
  Value emit(NodeBuilder &b) const;
};

constexpr char ellipsis = '.';

} // namespace

/// The common size of two that broadcast.
static int64_t combineSizes(int64_t a, int64_t b) {
  if (a == 1 || (a == ShapedType::kDynamic && b > 1))
    return b;
  return b == 1 || a != ShapedType::kDynamic ? a : ShapedType::kDynamic;
}

Type Product::inferType() const {
  std::map<char, int64_t> sizes;
  // Sizes of the axes of the ellipsis, the last one first.
  SmallVector<int64_t> others;
  auto combine = [](int64_t &known, int64_t size) {
    known = combineSizes(known, size);
  };
  for (auto [term, value] : llvm::zip(terms, values)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bool hasEllipsis = term.find(ellipsis) != std::string::npos;
    if (!type || type.getRank() + hasEllipsis < int64_t(term.size()))
      return {};
    int64_t axis = 0, hidden = type.getRank() + hasEllipsis - term.size();
    for (char letter : term) {
      if (letter != ellipsis) {
        combine(sizes.try_emplace(letter, 1).first->second,
                type.getDimSize(axis++));
        continue;
      }
      others.resize(std::max<size_t>(others.size(), hidden), 1);
      axis += hidden;
      for (int64_t index = 0; index < hidden; ++index)
        combine(others[index], type.getDimSize(axis - 1 - index));
    }
  }
  SmallVector<int64_t> shape;
  for (char letter : result) {
    if (letter == ellipsis)
      shape.append(others.rbegin(), others.rend());
    else
      shape.push_back(sizes[letter]);
  }
  return RankedTensorType::get(
      shape, onnxir::getTensorElementType(values.front().getType()));
}

Value Product::emit(NodeBuilder &b) const {
  std::string equation = llvm::join(terms, ",") + "->" + result;
  for (size_t at = 0; (at = equation.find(ellipsis, at)) != std::string::npos;
       at += 3)
    equation.replace(at, 1, "...");
  return b.create("Einsum", values, b.attr("equation", equation), inferType());
}

//===----------------------------------------------------------------------===//
// Reading equations
//===----------------------------------------------------------------------===//

/// True for letters, each once if `isResult`, and at most one ellipsis.
static bool isTerm(StringRef text, bool isResult) {
  return text.count(ellipsis) <= 1 && llvm::all_of(text, [&](char c) {
           return c == ellipsis ||
                  (llvm::isAlpha(c) && (!isResult || text.count(c) == 1));
         });
}

/// Without "->" the result has the letters that occur once, sorted.
static std::string getImplicitResult(ArrayRef<std::string> terms) {
  std::map<char, unsigned> counts;
  for (StringRef term : terms)
    for (char letter : term)
      ++counts[letter];
  std::string result;
  for (auto [letter, count] : counts)
    if (letter == ellipsis || count == 1)
      result += letter;
  return result;
}

/// The equation of `op`; absent if it cannot be read.
static std::optional<Product> parse(NodeAdjoint &op) {
  std::string text;
  for (char c : op.getString("equation"))
    if (c != ' ')
      text += c;
  for (size_t at; (at = text.find("...")) != std::string::npos;)
    text.replace(at, 3, 1, ellipsis);
  auto [left, right] = StringRef(text).split("->");
  Product product;
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != op.getNumOperands())
    return std::nullopt;
  for (auto [term, value] : llvm::zip(terms, op.getNode()->getOperands())) {
    if (!isTerm(term, /*isResult=*/false))
      return std::nullopt;
    product.add(term, value);
  }
  bool isExplicit = StringRef(text).contains("->");
  product.result = isExplicit ? right.str() : getImplicitResult(product.terms);
  if (!isTerm(product.result, /*isResult=*/true))
    return std::nullopt;
  for (char letter : product.result)
    if (!product.hasLetter(letter))
      return std::nullopt;
  return product;
}

//===----------------------------------------------------------------------===//
// The gradient of one operand
//===----------------------------------------------------------------------===//

/// An unused letter; 0 if there is none.
static char getNewLetter(const Product &product, StringRef used) {
  for (char letter : StringRef("abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if (!product.hasLetter(letter) && !used.contains(letter))
      return letter;
  return 0;
}

/// Renames letters that occur again, and adds an identity matrix for each.
/// False if there are no letters left.
static bool splitDiagonals(NodeBuilder &b, std::string &term, Value value,
                           Product &product) {
  for (size_t at = 0; at < term.size(); ++at) {
    size_t first = term.find(term[at]);
    if (first == at)
      continue;
    char letter = getNewLetter(product, term);
    if (!letter)
      return false;
    // Axes after an ellipsis count from the end.
    bool isBehind = term.find(ellipsis) < first;
    int64_t axis = isBehind ? int64_t(first) - int64_t(term.size()) : first;
    Value size = b.dimOf(value, axis);
    Value square = b.expand(b.scalarLike(0, value), b.concat({size, size}, 0));
    product.add(std::string{term[first], letter},
                b.create("EyeLike", {square}));
    term[at] = letter;
  }
  return true;
}

/// Sums or copies `value` to the shape of `like`; the last axes of both are
/// `letters`. Letters that are not in `result` were summed.
static Value fit(NodeBuilder &b, Value value, Value like, StringRef letters,
                 StringRef result) {
  auto from = dyn_cast<RankedTensorType>(value.getType());
  auto to = dyn_cast<RankedTensorType>(like.getType());
  bool copies = false;
  for (auto [index, letter] : llvm::enumerate(letters)) {
    if (result.contains(letter))
      continue;
    int64_t after = letters.size() - index;
    int64_t size =
        to ? to.getDimSize(to.getRank() - after) : ShapedType::kDynamic;
    copies |= !from || size == ShapedType::kDynamic ||
              size != from.getDimSize(from.getRank() - after);
  }
  // Expand leaves axes unchanged that already have more than one element.
  if (copies)
    value = b.create("Expand", {value, b.shapeOf(like)});
  return b.sumTo(value, like);
}

static LogicalResult setGradient(NodeAdjoint &op, const Product &forward,
                                 unsigned index) {
  NodeBuilder &b = op.b;
  std::string term = forward.terms[index];
  size_t hidden = term.find(ellipsis);
  bool hasEllipsis = hidden != std::string::npos;
  if (hasEllipsis && forward.result.find(ellipsis) == std::string::npos)
    return op.fail("its equation sums over an ellipsis");
  Product product;
  product.add(forward.result, op.grad());
  for (unsigned other = 0; other < forward.terms.size(); ++other)
    if (other != index)
      product.add(forward.terms[other], forward.values[other]);
  if (!splitDiagonals(b, term, op.in(index), product))
    return op.fail("its equation leaves no letter for a diagonal");

  // The ellipsis goes first, so that its broadcast axes come first. It stays in
  // the result: not every runtime sums over it.
  std::string letters = term;
  letters.erase(std::remove(letters.begin(), letters.end(), ellipsis),
                letters.end());
  std::string prefix(product.hasLetter(ellipsis) ? 1 : 0, ellipsis);
  SmallVector<int64_t> missing;
  product.result = prefix;
  for (auto [position, letter] : llvm::enumerate(letters)) {
    if (product.hasLetter(letter))
      product.result += letter;
    else
      missing.push_back(int64_t(position) - int64_t(letters.size()));
  }
  Value value = b.unsqueeze(product.emit(b), missing);
  Value like = op.in(index);
  bool moves = hasEllipsis && hidden != 0;
  auto rearrange = [&](Value from, StringRef order, StringRef to) {
    Product move;
    move.add(order, from);
    move.result = to;
    return move.emit(b);
  };
  if (moves)
    like = rearrange(like, term, prefix + letters);
  value = fit(b, value, like, letters, forward.result);
  op.set(index, moves ? rearrange(value, prefix + letters, term) : value);
  return success();
}

/// True if the value has an axis for each letter, or an unknown rank.
static bool fitsTerm(Value value, StringRef term) {
  std::optional<int64_t> rank = NodeBuilder::getRank(value);
  int64_t letters = term.size() - term.count(ellipsis);
  return !rank ||
         (term.contains(ellipsis) ? *rank >= letters : *rank == letters);
}

static LogicalResult einsumRule(NodeAdjoint &op) {
  std::optional<Product> forward = parse(op);
  if (!forward)
    return op.fail("its equation '" + op.getString("equation") +
                   "' cannot be read");
  if (!fitsTerm(op.out(), forward->result) ||
      !llvm::all_of_zip(forward->values, forward->terms, fitsTerm))
    return op.fail("its equation '" + op.getString("equation") +
                   "' does not fit the ranks of its operands and result");
  for (unsigned index = 0; index < forward->terms.size(); ++index)
    if (op.wants(index) && failed(setGradient(op, *forward, index)))
      return failure();
  return success();
}

static constexpr GradientRule einsumGradients[] = {{"Einsum", einsumRule}};

ArrayRef<GradientRule> getEinsumGradients() { return einsumGradients; }

} // namespace mp
