//===- Sequence.cpp - Sequences and optional values -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences of known length are lists of tensors at compile time, and do not
// exist in the code. Others cannot be compiled.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static FailureOr<KnownList> getSequence(NodeLowering &node, unsigned operand) {
  if (const KnownList *list = node.getList(operand))
    return *list;
  (void)node.fail("a sequence whose length is known at run time only cannot "
                  "be compiled");
  return failure();
}

/// An operand with a position in [0, count); `byDefault` if it is absent.
static FailureOr<int64_t> getPosition(NodeLowering &node, unsigned operand,
                                      int64_t count, int64_t byDefault) {
  if (!node.has(operand))
    return byDefault;
  auto known = node.constantInts(operand);
  if (!known || known->size() != 1) {
    (void)node.fail("a position that is known at run time only cannot be "
                    "compiled");
    return failure();
  }
  int64_t position = known->front();
  if (position < -count || position >= count) {
    (void)node.fail("position " + Twine(position) + " of a sequence of " +
                    Twine(count));
    return failure();
  }
  return position < 0 ? position + count : position;
}

static LogicalResult constructRule(NodeLowering &node) {
  KnownList list;
  list.elements = node.operands();
  if (!llvm::all_of(list.elements, [](TensorValue x) { return bool(x); }))
    return node.fail("an element is not a tensor of numbers");
  node.setList(0, list);
  return success();
}

static LogicalResult emptyRule(NodeLowering &node) {
  node.setList(0, {});
  return success();
}

static LogicalResult atRule(NodeLowering &node) {
  FailureOr<KnownList> list = getSequence(node, 0);
  if (failed(list))
    return failure();
  auto position = getPosition(node, 1, list->elements.size(), 0);
  if (failed(position))
    return failure();
  node.set(list->elements[*position]);
  return success();
}

static LogicalResult lengthRule(NodeLowering &node) {
  FailureOr<KnownList> list = getSequence(node, 0);
  if (failed(list))
    return failure();
  node.setKnown(0, {{node.e.size(list->elements.size())}, {}});
  return success();
}

static LogicalResult insertRule(NodeLowering &node) {
  FailureOr<KnownList> list = getSequence(node, 0);
  if (failed(list))
    return failure();
  int64_t count = list->elements.size();
  // The position after the last element is allowed, too.
  auto position = getPosition(node, 2, count + 1, count);
  if (failed(position))
    return failure();
  if (auto given = node.constantInts(2);
      node.has(2) && given && given->front() < 0)
    --*position;
  if (*position < 0 || !node.in(1))
    return node.fail("a position or an element cannot be compiled");
  list->elements.insert(list->elements.begin() + *position, node.in(1));
  node.setList(0, *list);
  return success();
}

static LogicalResult eraseRule(NodeLowering &node) {
  FailureOr<KnownList> list = getSequence(node, 0);
  if (failed(list))
    return failure();
  int64_t count = list->elements.size();
  auto position = getPosition(node, 1, count, count - 1);
  if (failed(position))
    return failure();
  if (*position < 0)
    return node.fail("nothing can be erased from an empty sequence");
  list->elements.erase(list->elements.begin() + *position);
  node.setList(0, *list);
  return success();
}

//===----------------------------------------------------------------------===//
// Between tensors and sequences
//===----------------------------------------------------------------------===//

/// The lengths of the parts of `extent`.
static FailureOr<Sizes> getPartSizes(NodeLowering &node, Size extent) {
  Emitter &e = node.e;
  std::optional<int64_t> total = Emitter::getConstant(extent);
  constexpr int64_t maxParts = 4096;
  if (!node.has(1) || (node.in(1) && node.in(1).getRank() == 0)) {
    int64_t part = 1;
    if (node.has(1)) {
      auto given = node.constantInts(1);
      part = given && given->size() == 1 ? given->front() : 0;
    }
    if (!total || part < 1 || *total / part > maxParts) {
      (void)node.fail("the number of parts is known at run time only, or more "
                      "than " +
                      Twine(maxParts));
      return failure();
    }
    Sizes parts;
    for (int64_t begin = 0; begin < *total; begin += part)
      parts.push_back(e.size(std::min(part, *total - begin)));
    return parts;
  }
  std::optional<Sizes> parts = node.ints(1);
  if (!parts) {
    (void)node.fail("the number of parts is known at run time only");
    return failure();
  }
  if (failed(checkParts(node, *parts, extent)))
    return failure();
  return *parts;
}

static LogicalResult splitToSequenceRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  auto axis = node.axis(data.getRank());
  if (failed(axis))
    return failure();
  Sizes sizes = e.sizes(data);
  FailureOr<Sizes> lengths = getPartSizes(node, sizes[*axis]);
  if (failed(lengths))
    return failure();
  KnownList list;
  // Only parts of the default size 1 can lose their axis.
  if (!node.has(1) && !node.keepDims())
    for (size_t index = 0; index < lengths->size(); ++index)
      list.elements.push_back(takeAt(e, data, *axis, e.size(index)));
  else
    list.elements = takeParts(e, data, sizes, *axis, *lengths);
  node.setList(0, list);
  return success();
}

static LogicalResult concatFromSequenceRule(NodeLowering &node) {
  Emitter &e = node.e;
  FailureOr<KnownList> list = getSequence(node, 0);
  if (failed(list))
    return failure();
  if (list->elements.empty())
    return node.fail("there is nothing to concatenate");
  bool isNew = node.getFlag("new_axis");
  int64_t rank = list->elements[0].getRank() + (isNew ? 1 : 0);
  auto axis = node.axis(rank);
  if (failed(axis))
    return failure();
  for (TensorValue &element : list->elements) {
    if (!isNew)
      continue;
    Sizes sizes = e.sizes(element);
    if (int64_t(sizes.size()) + 1 != rank)
      return node.fail("elements differ in their numbers of axes");
    sizes.insert(sizes.begin() + *axis, e.size(1));
    element = e.reshape(element, sizes);
  }
  FailureOr<TensorValue> result = concatenate(node, list->elements, *axis);
  if (failed(result))
    return failure();
  node.set(*result);
  return success();
}

/// Applies the body to each element of the first sequence, together with the
/// elements of the other sequences.
static LogicalResult mapRule(NodeLowering &node) {
  Region *body = node.getRegion("body");
  FailureOr<KnownList> first = getSequence(node, 0);
  if (failed(first) || !body)
    return failed(first) ? failure() : node.fail("it has no body");
  SmallVector<KnownList> results(node.getNode()->getNumResults());
  for (unsigned position = 0; position < first->elements.size(); ++position) {
    SmallVector<TensorValue> arguments;
    for (unsigned index = 0; index < node.getNumOperands(); ++index) {
      const KnownList *list = node.getList(index);
      if (list && position >= list->elements.size())
        return node.fail("sequences are not of one length");
      arguments.push_back(list ? list->elements[position] : node.in(index));
      if (!arguments.back())
        return node.fail("an operand cannot be compiled");
    }
    if (arguments.size() != body->getNumArguments())
      return node.fail("its body has " + Twine(body->getNumArguments()) +
                       " inputs, expected " + Twine(arguments.size()));
    auto values = node.inlineBody(*body, arguments);
    if (failed(values))
      return failure();
    if (values->size() != results.size() ||
        !llvm::all_of(*values, [](TensorValue x) { return bool(x); }))
      return node.fail("its outputs are not those of its body");
    for (auto [list, value] : llvm::zip(results, *values))
      list.elements.push_back(value);
  }
  for (auto [index, list] : llvm::enumerate(results))
    node.setList(index, list);
  return success();
}

//===----------------------------------------------------------------------===//
// Optional values
//===----------------------------------------------------------------------===//

static LogicalResult optionalRule(NodeLowering &node) {
  KnownList list;
  list.hasValue = node.getNumOperands() > 0 && node.has(0);
  if (list.hasValue) {
    if (const KnownList *sequence = node.getList(0))
      list.elements = sequence->elements;
    else
      list.elements.push_back(node.in(0));
  }
  node.setList(0, list);
  return success();
}

static LogicalResult hasElementRule(NodeLowering &node) {
  bool hasValue = node.getNumOperands() > 0 && node.has(0);
  if (hasValue) {
    const KnownList *list = node.getList(0);
    if (!list && !node.in(0))
      return node.fail("an optional value that is known at run time only "
                       "cannot be compiled");
    hasValue = !list || list->hasValue;
  }
  node.setKnown(0, {{node.e.size(hasValue)}, {}});
  return success();
}

static LogicalResult getElementRule(NodeLowering &node) {
  const KnownList *list = node.getList(0);
  if (!list) {
    node.forward(0);
    return success();
  }
  if (!list->hasValue)
    return node.fail("there is no value");
  if (getTensorElementType(node.getNode()->getResult(0).getType()) &&
      list->elements.size() == 1)
    node.set(list->elements.front());
  else
    node.setList(0, *list);
  return success();
}

ArrayRef<LoweringRule> getSequenceLowerings() {
  static const LoweringRule rules[] = {
      {"ConcatFromSequence", concatFromSequenceRule},
      {"Optional", optionalRule},
      {"OptionalGetElement", getElementRule},
      {"OptionalHasElement", hasElementRule},
      {"SequenceAt", atRule},
      {"SequenceConstruct", constructRule},
      {"SequenceEmpty", emptyRule},
      {"SequenceErase", eraseRule},
      {"SequenceInsert", insertRule},
      {"SequenceLength", lengthRule},
      {"SequenceMap", mapRule},
      {"SplitToSequence", splitToSequenceRule},
  };
  return rules;
}

} // namespace mp
