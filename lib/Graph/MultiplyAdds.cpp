//===- MultiplyAdds.cpp - Multiply-adds of nodes --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/MultiplyAdds.h"

#include "mp-opt/Operators/NodeView.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

using Count = std::optional<uint64_t>;
using Dims = SmallVector<int64_t>;

class ProductCounter {
public:
  ProductCounter(Operation *op, const ValueSizes &sizes)
      : node(op), op(op), sizes(sizes) {}

  Count count(ProductCount rule);

private:
  std::optional<Dims> dims(unsigned operand) const;
  Count elements(unsigned operand) const;
  /// The size of the largest result: a gradient may be absent.
  Count resultElements() const;
  Count columns() const;
  Count product() const;
  Count filter(unsigned operand) const;
  Count keys() const;
  Count recurrence() const;
  Count equation() const;
  Count attention() const;
  Count gradients(unsigned swept) const;

  NodeView node;
  Operation *op;
  const ValueSizes &sizes;
};

} // namespace

static Count multiply(Count lhs, Count rhs) {
  return lhs && rhs ? Count(llvm::SaturatingMultiply(*lhs, *rhs))
                    : std::nullopt;
}

static Count add(Count lhs, Count rhs) {
  return lhs && rhs ? Count(llvm::SaturatingAdd(*lhs, *rhs)) : std::nullopt;
}

std::optional<Dims> ProductCounter::dims(unsigned operand) const {
  return node.has(operand) ? sizes.getShape(op->getOperand(operand))
                           : std::nullopt;
}

Count ProductCounter::elements(unsigned operand) const {
  return dims(operand)
             ? Count(uint64_t(sizes.getElements(op->getOperand(operand))))
             : std::nullopt;
}

Count ProductCounter::resultElements() const {
  if (!hasResult(op, 0) || !sizes.getShape(op->getResult(0)))
    return std::nullopt;
  return uint64_t(sizes.getElements(op->getResult(0)));
}

Count ProductCounter::columns() const {
  std::optional<Dims> shape = dims(0);
  if (!shape || shape->empty())
    return std::nullopt;
  bool isTransposed = node.getFlag("transA") && shape->size() > 1;
  return uint64_t(*(shape->end() - (isTransposed ? 2 : 1)));
}

/// With one matrix, each element of operand 0 is multiplied with a row of it.
/// This does not depend on a guess for the result's sizes.
Count ProductCounter::product() const {
  std::optional<Dims> matrix = dims(1);
  if (matrix && matrix->size() == 2 && dims(0))
    return multiply(elements(0),
                    uint64_t((*matrix)[node.getFlag("transB") ? 0 : 1]));
  return multiply(resultElements(), columns());
}

/// The elements of one filter.
Count ProductCounter::filter(unsigned operand) const {
  std::optional<Dims> shape = dims(operand);
  if (!shape || shape->empty())
    return std::nullopt;
  Count count = 1;
  for (int64_t dim : llvm::drop_begin(*shape))
    count = multiply(count, uint64_t(dim));
  return count;
}

Count ProductCounter::recurrence() const {
  std::optional<Dims> shape = dims(0);
  if (!shape || shape->size() != 3)
    return std::nullopt;
  Count steps = multiply(uint64_t((*shape)[0]), uint64_t((*shape)[1]));
  return multiply(steps, add(elements(1), elements(2)));
}

/// The number of keys that each query meets, including past ones. Without keys
/// there are as many as queries.
Count ProductCounter::keys() const {
  std::optional<Dims> shape = dims(node.has(1) ? 1 : 0);
  if (!shape || shape->size() < 3)
    return std::nullopt;
  Count count = uint64_t(*(shape->end() - 2));
  const OpSchema *schema = node.getSchema();
  for (auto [index, input] : llvm::enumerate(
           schema ? ArrayRef(schema->inputs) : ArrayRef<FormalParameter>()))
    if (input.name == "past_key" && node.has(index))
      if (auto past = dims(index); past && past->size() == 4)
        count = add(count, uint64_t((*past)[2]));
  return count;
}

Count ProductCounter::attention() const {
  // A packed operand has queries, keys and values; the result's size is theirs.
  Count queries = node.has(1) ? elements(0) : resultElements();
  return multiply(add(queries, resultElements()), keys());
}

/// The work of one sweep for each of the two gradients that is requested.
Count ProductCounter::gradients(unsigned swept) const {
  Count sweep = multiply(elements(swept), filter(2));
  Count count = 0;
  for (unsigned result : {0, 1})
    if (hasResult(op, result))
      count = add(count, sweep);
  return count;
}

/// The product of the sizes of all labels; operands are multiplied one by one.
Count ProductCounter::equation() const {
  std::string equation = node.getString("equation").str();
  llvm::erase(equation, ' ');
  SmallVector<StringRef> terms;
  StringRef(equation).split("->").first.split(terms, ',');
  if (terms.size() != op->getNumOperands())
    return std::nullopt;
  // Sizes of labels and, after these, of the dimensions of ellipses, from the
  // right.
  std::map<int, int64_t> spans;
  for (auto [index, term] : llvm::enumerate(terms)) {
    std::optional<Dims> shape = dims(index);
    auto [front, back] = term.split("...");
    bool hasEllipsis = term.contains("...");
    if (!shape || shape->size() < front.size() + back.size() ||
        (!hasEllipsis && shape->size() != term.size()))
      return std::nullopt;
    size_t rest = shape->size() - back.size();
    for (auto [place, dim] : llvm::enumerate(*shape)) {
      int label = place < front.size() ? front[place]
                  : place >= rest      ? back[place - rest]
                                       : int(256 + rest - place);
      spans[label] = std::max(spans[label], dim);
    }
  }
  Count count = std::max<uint64_t>(1, terms.size() - 1);
  for (auto [label, dim] : spans)
    count = multiply(count, uint64_t(dim));
  return count;
}

Count ProductCounter::count(ProductCount rule) {
  switch (rule) {
  case ProductCount::None:
    return std::nullopt;
  case ProductCount::Columns:
    return product();
  case ProductCount::Inner:
    return multiply(resultElements(), uint64_t(node.getInt("K")));
  case ProductCount::Filter:
    return multiply(resultElements(), filter(1));
  case ProductCount::TransposedFilter:
    return multiply(elements(0), filter(1));
  case ProductCount::FilterGradients:
    return gradients(0);
  case ProductCount::TransposedFilterGradients:
    return gradients(1);
  case ProductCount::Equation:
    return equation();
  case ProductCount::Recurrence:
    return recurrence();
  case ProductCount::Attention:
    return attention();
  case ProductCount::ProjectedAttention: {
    std::optional<Dims> weights = dims(1), input = dims(0);
    if (!weights || weights->size() != 2 || !input || input->size() != 3)
      return std::nullopt;
    Count projection = multiply(elements(0), uint64_t((*weights)[1]));
    return add(projection,
               multiply(multiply(resultElements(), 2), uint64_t((*input)[1])));
  }
  }
  return std::nullopt;
}

Count countMultiplyAdds(Operation *node, const OperatorTraits &traits,
                        const ValueSizes &sizes) {
  if (!traits.contracts())
    return 0;
  return ProductCounter(node, sizes).count(traits.products);
}

} // namespace mp
