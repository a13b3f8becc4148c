//===- Iteration.cpp - Loops over the body of a node ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Iteration.h"

#include "Movement.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// From this depth on, no sizes of states are assumed: each failed assumption
/// causes all bodies inside to be emitted again.
static constexpr unsigned maxAssumingDepth = 4;

Iteration::Iteration(NodeLowering &node, Region &body)
    : node(node), e(node.e), s(node.s), body(body) {}

static RankedTensorType getAssumedType(Emitter &e, ArrayRef<Size> sizes,
                                       Type element) {
  SmallVector<int64_t> shape;
  for (Size extent : sizes)
    shape.push_back(
        extent ? Emitter::getConstant(extent).value_or(ShapedType::kDynamic)
               : ShapedType::kDynamic);
  return RankedTensorType::get(shape, getStorageType(element));
}

/// Adds the arguments of the block; returns those of the body.
FailureOr<SmallVector<TensorValue>> Iteration::getArguments(Code &code) {
  Block &block = code.region->front();
  Value i = block.addArgument(e.b.getIndexType(), e.loc);
  // The iteration number and the condition are known values, not tensors.
  SmallVector<TensorValue> arguments(hasCondition ? 2 : 0);
  for (auto [state, sizes] : llvm::zip(states, assumed)) {
    Value value =
        block.addArgument(getAssumedType(e, sizes, state.element), e.loc);
    Sizes extents(sizes);
    for (auto [axis, extent] : llvm::enumerate(extents))
      if (!extent)
        extent = tensor::DimOp::create(e.b, e.loc, value, axis).getResult();
    e.noteSizes(value, extents);
    arguments.push_back({value, state.element});
  }
  if (elements)
    llvm::append_range(arguments, elements(i));
  if (arguments.size() != body.getNumArguments()) {
    (void)node.fail("its body has " + Twine(body.getNumArguments()) +
                    " inputs, expected " + Twine(arguments.size()));
    return failure();
  }
  // The body runs only where the condition holds.
  if (hasCondition) {
    node.bindKnown(body.getArgument(0), {{Size(i)}, {}});
    node.bindKnown(body.getArgument(1), {{e.size(1)}, {}});
  }
  return arguments;
}

/// Splits the results of the body into the condition, the states and the
/// outputs.
LogicalResult Iteration::sortResults(Code &code,
                                     ArrayRef<TensorValue> results) {
  if (!llvm::all_of(results, [](TensorValue x) { return bool(x); }))
    return node.fail("its body gives a value that is not a tensor of numbers");
  if (results.size() < states.size() + (hasCondition ? 1 : 0))
    return node.fail("its body has too few outputs");
  if (hasCondition) {
    const ShapeValue *known = node.getKnownValue(getYield(body).getOperand(0));
    bool always = known && known->values.size() == 1 &&
                  Emitter::getConstant(known->values[0]) == 1;
    if (!always) {
      FailureOr<Value> goesOn = loadOne(node, results.front(), "the condition");
      if (failed(goesOn))
        return failure();
      code.condition = *goesOn;
    }
    results = results.drop_front();
  }
  llvm::append_range(code.states, results.take_front(states.size()));
  llvm::append_range(code.outputs, results.drop_front(states.size()));
  return success();
}

FailureOr<Iteration::Code> Iteration::emitBody() {
  Code code;
  code.region = std::make_unique<Region>();
  OpBuilder::InsertionGuard guard(e.b);
  e.b.createBlock(code.region.get());
  auto arguments = getArguments(code);
  FailureOr<SmallVector<TensorValue>> results = failure();
  if (succeeded(arguments))
    results = node.inlineBody(body, *arguments);
  if (failed(results) || failed(sortResults(code, *results))) {
    node.discard(std::move(code.region));
    return failure();
  }
  return code;
}

FailureOr<bool> Iteration::weaken(Code &code) {
  bool changed = false;
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToEnd(&code.region->front());
  for (auto [index, state] : llvm::enumerate(code.states)) {
    Sizes &sizes = assumed[index];
    if (state.getRank() != int64_t(sizes.size())) {
      (void)node.fail("state " + Twine(index) + " has " + Twine(sizes.size()) +
                      " axes at first and then " + Twine(state.getRank()));
      return failure();
    }
    if (state.element != states[index].element) {
      (void)node.fail("the element type of state " + Twine(index) + " changes");
      return failure();
    }
    if (keepsSizes)
      continue;
    for (auto [extent, next] : llvm::zip(sizes, e.sizes(state)))
      if (extent && extent != next) {
        extent = Size();
        changed = true;
      }
  }
  return changed;
}

/// Casts the states that the body yields to the types of its arguments. States
/// that keep their sizes are written over their old values, others are new
/// memory.
LogicalResult Iteration::castStates(Code &code) {
  for (auto [index, state] : llvm::enumerate(code.states)) {
    Value argument = code.region->getArgument(index + 1);
    if (keepsSizes)
      for (auto [next, extent] : llvm::zip(e.sizes(state), assumed[index]))
        if (failed(checkEqual(node, next, extent,
                              "a state's size is %0, it was %1 at first")))
          return failure();
    bool isFixed =
        llvm::all_of(assumed[index], [](Size extent) { return bool(extent); });
    if (isFixed && state.value != argument)
      state.value =
          insertSlice(e, state, argument, Sizes(state.getRank(), e.size(0)));
    else
      state.value = castTo(e, state.value, argument.getType());
  }
  return success();
}

bool Iteration::isKnownOutside(ArrayRef<Size> sizes, Region &region) {
  return llvm::all_of(sizes, [&](Size extent) {
    auto value = dyn_cast<Value>(extent);
    return !value || !region.isAncestor(value.getParentRegion());
  });
}

/// A buffer with room for the output of iteration `i`: itself, or one of twice
/// the length with the same beginning.
Value Iteration::makeRoom(Value buffer, TensorValue element, Value i) {
  TensorValue old = {buffer, element.element};
  Sizes extents = e.sizes(old), outputs = e.sizes(element);
  Value isFull = s.compare(Scalars::GE, i, e.index(extents[0]));
  Type type = buffer.getType();
  return e.ifElse(
      isFull, type,
      [&]() -> SmallVector<Value> {
        Sizes wanted(outputs);
        Size length = e.max(e.mul(e.size(2), extents[0]), e.size(4));
        if (limit)
          length = e.min(length, e.max(*limit, e.size(1)));
        wanted.insert(wanted.begin(), length);
        Value bigger = castTo(e, e.empty(wanted, element.element), type);
        Sizes offsets(extents.size(), e.size(0));
        Sizes strides(extents.size(), e.size(1));
        Sizes filled(extents);
        filled[0] = Size(i);
        TensorValue part = e.slice(old, offsets, filled, strides);
        return {insertSlice(e, part, bigger, offsets)};
      },
      [&]() -> SmallVector<Value> { return {buffer}; })[0];
}

/// Adds a buffer for the outputs `element` of all iterations as an argument of
/// the block, and inserts the output of this iteration.
Iteration::Output Iteration::addOutput(Code &code, unsigned index) {
  Block &block = code.region->front();
  Value i = block.getArgument(0);
  TensorValue element = code.outputs[index];
  Sizes outputs = e.sizes(element), offsets(outputs.size() + 1, e.size(0));
  Output output;
  output.isWhole =
      limit && !code.condition && isKnownOutside(outputs, *code.region);
  output.element = element.element;
  Size place = Size(i);
  if (output.isWhole) {
    outputs.insert(outputs.begin(), *limit);
    output.sizes = outputs;
    Value buffer =
        block.addArgument(getAssumedType(e, outputs, element.element), e.loc);
    if (isReversed(index))
      place = e.sub(e.sub(*limit, e.size(1)), place);
    offsets[0] = place;
    output.next = insertSlice(e, element, buffer, offsets);
    return output;
  }
  Sizes shape;
  for (int64_t extent : element.getType().getShape())
    shape.push_back(ShapedType::isDynamic(extent) ? Size() : e.size(extent));
  shape.insert(shape.begin(), Size());
  output.sizes = shape;
  Value buffer =
      block.addArgument(getAssumedType(e, shape, element.element), e.loc);
  buffer = makeRoom(buffer, element, i);
  Sizes have = e.sizes({buffer, element.element});
  for (auto [extent, first] :
       llvm::zip(outputs, ArrayRef<Size>(have).drop_front()))
    if (extent != first)
      e.check(s.compare(Scalars::EQ, e.index(extent), e.index(first)),
              "an output's size is %0, it was %1 at first", extent, first);
  offsets[0] = place;
  output.next = insertSlice(e, element, buffer, offsets);
  return output;
}

Value Iteration::getStart(const Output &output) {
  Sizes sizes(output.sizes);
  for (Size &extent : sizes)
    if (!extent)
      extent = e.size(0);
  return castTo(e, e.empty(sizes, output.element),
                getAssumedType(e, output.sizes, output.element));
}

SmallVector<Value> Iteration::emitFor(Code &code, ArrayRef<Value> starts,
                                      ArrayRef<Value> next) {
  auto op = scf::ForOp::create(e.b, e.loc, s.index(0), e.index(*limit),
                               s.index(1), starts);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToEnd(&code.region->front());
  scf::YieldOp::create(e.b, e.loc, next);
  op.getRegion().takeBody(*code.region);
  return op.getResults();
}

SmallVector<Value> Iteration::emitWhile(Code &code, ArrayRef<Value> starts,
                                        ArrayRef<Value> next) {
  Value start = startCondition ? startCondition : s.integer(e.b.getI1Type(), 1);
  SmallVector<Value> operands = {s.index(0), start};
  llvm::append_range(operands, starts);
  SmallVector<Type> types = {e.b.getIndexType()};
  llvm::append_range(types, ValueRange(starts).getTypes());
  auto op = scf::WhileOp::create(e.b, e.loc, types, operands, nullptr, nullptr);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToEnd(&code.region->front());
  Value i = code.region->getArgument(0);
  SmallVector<Value> yields = {s.add(i, s.index(1)), code.condition};
  llvm::append_range(yields, next);
  scf::YieldOp::create(e.b, e.loc, yields);
  op.getAfter().takeBody(*code.region);
  Block *before = op.getBeforeBody();
  e.b.setInsertionPointToEnd(before);
  Value goesOn = before->getArgument(1);
  if (limit) {
    Value isInside =
        s.compare(Scalars::LT, before->getArgument(0), e.index(*limit));
    goesOn = arith::AndIOp::create(e.b, e.loc, goesOn, isInside);
  }
  SmallVector<Value> forwarded(before->getArguments());
  forwarded.erase(forwarded.begin() + 1);
  scf::ConditionOp::create(e.b, e.loc, goesOn, forwarded);
  return op.getResults();
}

FailureOr<Iteration::Code> Iteration::emitResolvedBody() {
  for (TensorValue state : states)
    assumed.push_back(e.sizes(state));
  constexpr unsigned maxTries = 3;
  for (unsigned tries = 0;; ++tries) {
    if (!keepsSizes &&
        (tries == maxTries || node.getDepth() > maxAssumingDepth))
      for (Sizes &sizes : assumed)
        llvm::fill(sizes, Size());
    FailureOr<Code> code = emitBody();
    if (failed(code))
      return failure();
    FailureOr<bool> changed = weaken(*code);
    if (failed(changed))
      return failure();
    if (!*changed)
      return code;
    node.discard(std::move(code->region));
  }
}

FailureOr<SmallVector<TensorValue>> Iteration::run() {
  FailureOr<Code> code = emitResolvedBody();
  if (failed(code))
    return failure();
  if (!limit && !code->condition)
    return node.fail("nothing ends its iterations");
  SmallVector<Value> starts, next;
  SmallVector<Output> outputs;
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToEnd(&code->region->front());
    if (failed(castStates(*code)))
      return failure();
    for (unsigned index = 0; index < code->outputs.size(); ++index)
      outputs.push_back(addOutput(*code, index));
  }
  for (auto [index, state] : llvm::enumerate(states)) {
    starts.push_back(
        castTo(e, state.value, code->region->getArgument(index + 1).getType()));
    next.push_back(code->states[index].value);
  }
  for (const Output &output : outputs) {
    starts.push_back(getStart(output));
    next.push_back(output.next);
  }
  bool isCounted = limit && !code->condition;
  SmallVector<Value> results =
      isCounted ? emitFor(*code, starts, next) : emitWhile(*code, starts, next);
  Size count = isCounted ? *limit : Size(results.front());
  ArrayRef<Value> values =
      ArrayRef<Value>(results).drop_front(isCounted ? 0 : 1);
  SmallVector<TensorValue> final;
  for (auto [index, state] : llvm::enumerate(states)) {
    TensorValue result = {values[index], state.element};
    Sizes extents = e.sizes(result);
    for (auto [extent, known] : llvm::zip(extents, assumed[index]))
      if (known)
        extent = known;
    e.noteSizes(result.value, extents);
    final.push_back(result);
  }
  for (auto [index, output] : llvm::enumerate(outputs))
    final.push_back(finish(output,
                           {values[states.size() + index], output.element},
                           count, isReversed(index)));
  return final;
}

TensorValue Iteration::finish(const Output &output, TensorValue buffer,
                              Size count, bool reverses) {
  if (output.isWhole) {
    e.noteSizes(buffer.value, output.sizes);
    return buffer;
  }
  TensorValue filled = takeFirst(e, buffer, count);
  if (!reverses)
    return filled;
  Sizes sizes = e.sizes(filled);
  Sizes offsets(sizes.size(), e.size(0)), strides(sizes.size(), e.size(1));
  offsets[0] = e.sub(count, e.size(1));
  strides[0] = e.size(-1);
  return e.slice(filled, offsets, sizes, strides);
}

} // namespace mp
