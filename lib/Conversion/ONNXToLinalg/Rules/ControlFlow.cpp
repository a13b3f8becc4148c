//===- ControlFlow.cpp - Branches and iterations --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If becomes scf.if, or the taken branch if that is known. Loop and Scan become
// scf.for, or scf.while if a condition can end them.
//
//===----------------------------------------------------------------------===//

#include "../Iteration.h"
#include "../Movement.h"
#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Replaces the node by the branch.
static LogicalResult takeBranch(NodeLowering &node, Region &branch) {
  if (failed(node.inlineBody(branch, {})))
    return failure();
  for (auto [index, value] : llvm::enumerate(getYield(branch).getOperands()))
    node.alias(index, value);
  return success();
}

/// The common type of both: sizes that differ are dynamic. Null if the ranks or
/// element types differ.
static RankedTensorType getCommonType(RankedTensorType x, RankedTensorType y) {
  if (x.getRank() != y.getRank() || x.getElementType() != y.getElementType())
    return {};
  SmallVector<int64_t> shape;
  for (auto [left, right] : llvm::zip(x.getShape(), y.getShape()))
    shape.push_back(left == right ? left : ShapedType::kDynamic);
  return RankedTensorType::get(shape, x.getElementType());
}

/// Emits the branch's nodes in their own block.
static FailureOr<SmallVector<TensorValue>>
emitBranch(NodeLowering &node, Region &branch, Region &code) {
  Emitter &e = node.e;
  OpBuilder::InsertionGuard guard(e.b);
  e.b.createBlock(&code);
  auto results = node.inlineBody(branch, {});
  if (failed(results))
    return failure();
  if (!llvm::all_of(*results, [](TensorValue x) { return bool(x); })) {
    (void)node.fail("a branch gives a value that is not a tensor of numbers");
    return failure();
  }
  return results;
}

namespace {

/// One side of an If.
struct Branch {
  std::unique_ptr<Region> code = std::make_unique<Region>();
  FailureOr<SmallVector<TensorValue>> results = failure();
  /// The errors, if it has no code.
  std::vector<Diagnostic> errors;
};

} // namespace

/// Keeps the errors of a branch: they only matter if the branch is taken.
static Branch tryBranch(NodeLowering &node, Region &body) {
  Branch branch;
  {
    ScopedDiagnosticHandler listen(
        node.getNode()->getContext(), [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          branch.errors.push_back(std::move(diagnostic));
          return success();
        });
    branch.results = emitBranch(node, body, *branch.code);
  }
  if (failed(branch.results))
    node.discard(std::move(branch.code));
  return branch;
}

/// Makes the code of a branch that fails: an error at run time, and empty
/// results of the other branch's types.
static void failInBranch(NodeLowering &node, Branch &branch,
                         ArrayRef<TensorValue> others, StringRef name) {
  Emitter &e = node.e;
  std::string why = branch.errors.front().str();
  node.getNode()->emitWarning(describe(node.getNode()))
      << ": ends the run where its " << name << " is taken: " << why;
  branch.code = std::make_unique<Region>();
  OpBuilder::InsertionGuard guard(e.b);
  e.b.createBlock(branch.code.get());
  e.check(node.s.integer(e.b.getI1Type(), 0), why, e.size(0), e.size(0));
  branch.results.emplace();
  for (TensorValue other : others) {
    Sizes sizes;
    for (int64_t extent : other.getType().getShape())
      sizes.push_back(e.size(ShapedType::isDynamic(extent) ? 0 : extent));
    Value nothing = castTo(e, e.empty(sizes, other.element), other.getType());
    branch.results->push_back({nothing, other.element});
  }
}

/// The common types of both branches' results; a failure if there are none.
static FailureOr<SmallVector<Type>>
getResultTypes(NodeLowering &node, const Branch &yes, const Branch &no) {
  SmallVector<Type> types;
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(*yes.results, *no.results))) {
    auto [left, right] = pair;
    RankedTensorType type = getCommonType(left.getType(), right.getType());
    if (!type || left.element != right.element) {
      (void)node.fail("output " + Twine(index) +
                      " has another number of axes or type in each branch");
      return failure();
    }
    types.push_back(type);
  }
  return types;
}

static LogicalResult emitIf(NodeLowering &node, ArrayRef<Region *> bodies) {
  Emitter &e = node.e;
  FailureOr<Value> condition = loadScalar(node, 0);
  if (failed(condition))
    return failure();
  Branch sides[2] = {tryBranch(node, *bodies[0]), tryBranch(node, *bodies[1])};
  for (unsigned side : {0, 1}) {
    Branch &other = sides[1 - side];
    if (succeeded(sides[side].results))
      continue;
    if (failed(other.results) || sides[side].errors.empty()) {
      for (Diagnostic &error : sides[side].errors)
        node.getNode()->getContext()->getDiagEngine().emit(std::move(error));
      if (succeeded(other.results))
        node.discard(std::move(other.code));
      return failure();
    }
    failInBranch(node, sides[side], *other.results,
                 side == 0 ? "then_branch" : "else_branch");
  }
  auto types = getResultTypes(node, sides[0], sides[1]);
  if (failed(types)) {
    for (Branch &branch : sides)
      node.discard(std::move(branch.code));
    return failure();
  }
  auto op = scf::IfOp::create(e.b, e.loc, *types, *condition, true);
  for (unsigned side : {0, 1}) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToEnd(&sides[side].code->front());
    SmallVector<Value> values;
    for (auto [result, type] : llvm::zip(*sides[side].results, *types))
      values.push_back(castTo(e, result.value, type));
    scf::YieldOp::create(e.b, e.loc, values);
    op->getRegion(side).takeBody(*sides[side].code);
  }
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    node.set(index, {result, (*sides[0].results)[index].element});
  return success();
}

static LogicalResult ifRule(NodeLowering &node) {
  Region *branches[] = {node.getRegion("then_branch"),
                        node.getRegion("else_branch")};
  for (Region *branch : branches) {
    YieldOp yield = branch ? getYield(*branch) : YieldOp();
    if (!yield || yield.getNumOperands() != node.getNode()->getNumResults())
      return node.fail("its outputs are not those of its branches");
  }
  if (auto known = node.constantInts(0); known && known->size() == 1)
    return takeBranch(node, *branches[known->front() ? 0 : 1]);
  return emitIf(node, branches);
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

static LogicalResult setResults(NodeLowering &node, Iteration &iteration) {
  FailureOr<SmallVector<TensorValue>> results = iteration.run();
  if (failed(results))
    return failure();
  if (results->size() != node.getNode()->getNumResults())
    return node.fail("its outputs are not those of its body");
  for (auto [index, result] : llvm::enumerate(*results))
    node.set(index, result);
  return success();
}

/// A known integer or boolean; absent if it is not known.
static std::optional<int64_t> getKnownNumber(const LoweredValue &value) {
  if (!value.ints || value.ints->values.size() != 1)
    return std::nullopt;
  return Emitter::getConstant(value.ints->values.front());
}

/// Stacks the results of the iterations, except for the states, along a new
/// first axis.
static LogicalResult stackOutputs(NodeLowering &node, unsigned first,
                                  ArrayRef<SmallVector<TensorValue>> outputs) {
  Emitter &e = node.e;
  for (auto [index, parts] : llvm::enumerate(outputs)) {
    if (parts.empty())
      return node.fail("output " + Twine(first + index) +
                       " is of no iteration: its sizes are not known");
    SmallVector<TensorValue> rows;
    for (TensorValue part : parts) {
      Sizes sizes = e.sizes(part);
      sizes.insert(sizes.begin(), e.size(1));
      rows.push_back(e.reshape(part, sizes));
    }
    FailureOr<TensorValue> whole = concatenate(node, rows, 0);
    if (failed(whole))
      return failure();
    node.set(first + index, *whole);
  }
  return success();
}

/// Sequences do not exist in the code: if a state is one, the body is emitted
/// once per iteration. The number of iterations must be known.
static LogicalResult repeatLoop(NodeLowering &node, Region &body) {
  Emitter &e = node.e;
  auto known = [&](unsigned operand) {
    return getKnownNumber(node.read(operand));
  };
  int64_t limit = std::numeric_limits<int64_t>::max();
  if ((node.has(0) && !known(0)) || (node.has(1) && !known(1)))
    return node.fail("a sequence is its state: expected a number of "
                     "iterations that is known while compiling, or "
                     "iterations that only append to the sequence and ask "
                     "for its length, each as many elements");
  if (node.has(0))
    limit = *known(0);
  if (node.has(1) && !*known(1))
    limit = 0;
  SmallVector<LoweredValue> states;
  for (unsigned index = 2; index < node.getNumOperands(); ++index)
    states.push_back(node.read(index));
  unsigned results = node.getNode()->getNumResults();
  if (body.getNumArguments() != states.size() + 2 || results < states.size())
    return node.fail("its inputs are not those of its body");
  SmallVector<SmallVector<TensorValue>> outputs(results - states.size());
  for (int64_t i = 0; i < limit; ++i) {
    SmallVector<LoweredValue> arguments(2);
    arguments[0].ints = ShapeValue{{e.size(i)}, {}};
    arguments[1].ints = ShapeValue{{e.size(1)}, {}};
    llvm::append_range(arguments, states);
    auto values = node.repeatBody(body, arguments);
    if (failed(values))
      return failure();
    if (values->size() != results + 1)
      return node.fail("its outputs are not those of its body");
    std::optional<int64_t> goesOn = getKnownNumber(values->front());
    if (!goesOn)
      return node.fail("a sequence is its state: expected a condition that "
                       "is known while compiling");
    ArrayRef<LoweredValue> rest = ArrayRef(*values).drop_front();
    states.assign(rest.begin(), rest.begin() + states.size());
    for (auto [output, yielded] : llvm::zip(
             outputs,
             getYield(body).getOperands().drop_front(1 + states.size()))) {
      output.push_back(node.getTensor(yielded));
      if (!output.back())
        return node.fail(
            "its body gives a value that is not a tensor of numbers");
    }
    if (!*goesOn)
      break;
  }
  for (auto [index, state] : llvm::enumerate(states))
    node.bind(index, state);
  return stackOutputs(node, states.size(), outputs);
}

static LogicalResult loopRule(NodeLowering &node) {
  Emitter &e = node.e;
  Region *body = node.getRegion("body");
  if (!body)
    return node.fail("it has no body");
  for (Value operand : node.getNode()->getOperands())
    if (isa<SequenceType, OptionalType>(operand.getType()))
      return repeatLoop(node, *body);
  Iteration iteration(node, *body);
  iteration.hasCondition = true;
  if (node.has(0)) {
    std::optional<Sizes> count = node.ints(0);
    if (!count || count->size() != 1)
      return node.fail("expected one number of iterations");
    iteration.limit = e.max(count->front(), e.size(0));
  }
  if (node.has(1)) {
    auto known = node.constantInts(1);
    if (known && known->size() == 1 && !known->front()) {
      iteration.limit = e.size(0);
    } else if (!known) {
      FailureOr<Value> condition = loadScalar(node, 1);
      if (failed(condition))
        return failure();
      iteration.startCondition = *condition;
    }
  }
  if (iteration.limit && iteration.startCondition)
    iteration.limit =
        e.select(iteration.startCondition, *iteration.limit, e.size(0));
  for (unsigned index = 2; index < node.getNumOperands(); ++index) {
    TensorValue state = node.in(index);
    if (!state)
      return node.fail("operand " + Twine(index) +
                       " is not a tensor of numbers");
    iteration.states.push_back(state);
  }
  return setResults(node, iteration);
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

namespace {

/// An operand that Scan iterates over, one slice per iteration.
struct ScanInput {
  TensorValue tensor;
  int64_t axis;
  bool reverse;
};

} // namespace

/// Entry `index` of a list that may be absent.
static int64_t getEntry(NodeLowering &node, StringRef name, unsigned index) {
  SmallVector<int64_t> list = node.getInts(name);
  return index < list.size() ? list[index] : 0;
}

/// The scanned operands from operand `first` on; their lengths are equal.
static FailureOr<SmallVector<ScanInput>>
getScanInputs(NodeLowering &node, unsigned first, Size &length) {
  Emitter &e = node.e;
  SmallVector<ScanInput> inputs;
  for (unsigned index = first; index < node.getNumOperands(); ++index) {
    unsigned position = index - first;
    ScanInput input = {node.in(index), 0, false};
    auto axis = node.normalizeAxis(getEntry(node, "scan_input_axes", position),
                                   input.tensor.getRank());
    if (failed(axis))
      return failure();
    input.axis = *axis;
    input.reverse = getEntry(node, "scan_input_directions", position);
    Size extent = e.dim(input.tensor, *axis);
    if (position == 0)
      length = extent;
    else if (failed(checkEqual(node, extent, length,
                               "scanned lengths %0 and %1 differ")))
      return failure();
    inputs.push_back(input);
  }
  return inputs;
}

/// An iteration over `inputs`, of which part i has number i or the last one
/// minus i.
static void addElements(Iteration &iteration, Emitter &e,
                        SmallVector<ScanInput> inputs, Size length) {
  iteration.elements = [&e, inputs, length](Value i) {
    SmallVector<TensorValue> elements;
    for (const ScanInput &input : inputs) {
      Size place = Size(i);
      if (input.reverse)
        place = e.sub(e.sub(length, e.size(1)), place);
      elements.push_back(takeAt(e, input.tensor, input.axis, place));
    }
    return elements;
  };
}

/// Moves axis 0 of `tensor` to `axis`.
static FailureOr<TensorValue> moveFirstAxis(NodeLowering &node,
                                            TensorValue tensor, int64_t axis) {
  auto normal = node.normalizeAxis(axis, tensor.getRank());
  if (failed(normal))
    return failure();
  SmallVector<int64_t> permutation;
  for (int64_t other = 1; other < tensor.getRank(); ++other)
    permutation.push_back(other);
  permutation.insert(permutation.begin() + *normal, 0);
  return node.e.transpose(tensor, permutation);
}

/// The numbers of states and scanned inputs among `operands` operands.
static FailureOr<unsigned> getStateCount(NodeLowering &node,
                                         unsigned operands) {
  int64_t scanned = node.getInt("num_scan_inputs");
  if (!llvm::all_of(node.operands(), [&](TensorValue x) { return bool(x); }) &&
      (node.getVersion() >= 9 || node.has(0))) {
    (void)node.fail("an operand is absent");
    return failure();
  }
  if (scanned >= 1 && scanned <= int64_t(operands))
    return operands - scanned;
  (void)node.fail("'num_scan_inputs' is " + Twine(scanned));
  return failure();
}

/// The results of Scan-8 for one batch element. Operands have a batch axis
/// first. Each sequence has its own length, and elements past it are zero.
static FailureOr<SmallVector<TensorValue>>
scanOne(NodeLowering &node, Region &body, unsigned stateCount, int64_t b) {
  Emitter &e = node.e;
  unsigned first = 1 + stateCount;
  Size length = e.dim(node.in(first), 1);
  Iteration iteration(node, body);
  iteration.keepsSizes = true;
  for (unsigned index = 1; index < first; ++index)
    iteration.states.push_back(takeAt(e, node.in(index), 0, e.size(b)));
  Size count = length;
  if (node.has(0)) {
    Value given = node.s.toIndex(e.loadAt(node.in(0), b));
    e.check(node.s.compare(Scalars::LE, given, e.index(length), true),
            "length %0 of a sequence, the tensor has %1", Size(given), length);
    count = Size(given);
  }
  iteration.limit = count;
  SmallVector<ScanInput> inputs;
  for (unsigned index = first; index < node.getNumOperands(); ++index) {
    ScanInput input = {takeAt(e, node.in(index), 0, e.size(b)), 0,
                       getEntry(node, "directions", index - first) != 0};
    if (failed(checkEqual(node, e.dim(input.tensor, 0), length,
                          "scanned lengths %0 and %1 differ")))
      return failure();
    inputs.push_back(input);
  }
  addElements(iteration, e, inputs, count);
  auto results = iteration.run();
  if (failed(results))
    return failure();
  for (auto [index, result] : llvm::enumerate(*results)) {
    Sizes sizes = e.sizes(result);
    if (index >= stateCount && count != length) {
      sizes[0] = length;
      Value padded = e.full(sizes, result.element, 0.0).value;
      padded = insertSlice(e, result, padded, Sizes(sizes.size(), e.size(0)));
      e.noteSizes(padded, sizes);
      result.value = padded;
    }
    sizes.insert(sizes.begin(), e.size(1));
    result = e.reshape(result, sizes);
  }
  return results;
}

static LogicalResult scanBatches(NodeLowering &node, Region &body) {
  Emitter &e = node.e;
  auto stateCount = getStateCount(node, node.getNumOperands() - 1);
  if (failed(stateCount))
    return failure();
  // Each batch element has its own loop.
  constexpr int64_t maxBatches = 64;
  std::optional<int64_t> batch;
  for (unsigned index = 1; index < node.getNumOperands(); ++index) {
    TensorValue operand = node.in(index);
    if (!operand || operand.getRank() < (index > *stateCount ? 2 : 1))
      return node.fail("operand " + Twine(index) +
                       " has no batch or sequence axis");
    auto count = Emitter::getConstant(e.dim(operand, 0));
    if (!count || *count < 1 || *count > maxBatches ||
        (batch && *batch != *count))
      return node.fail("Scan-8 with batches of unknown or different sizes, of "
                       "none or more than " +
                       Twine(maxBatches) + " cannot be compiled");
    batch = count;
  }
  if (node.has(0) &&
      failed(checkEqual(node, e.dim(node.in(0), 0), e.size(*batch),
                        "found %0 lengths, expected %1")))
    return failure();
  SmallVector<SmallVector<TensorValue>> parts(node.getNode()->getNumResults());
  for (int64_t b = 0; b < *batch; ++b) {
    auto results = scanOne(node, body, *stateCount, b);
    if (failed(results))
      return failure();
    if (results->size() != parts.size())
      return node.fail("its outputs are not those of its body");
    for (auto [part, result] : llvm::zip(parts, *results))
      part.push_back(result);
  }
  for (auto [index, part] : llvm::enumerate(parts)) {
    FailureOr<TensorValue> whole = concatenate(node, part, 0);
    if (failed(whole))
      return failure();
    node.set(index, *whole);
  }
  return success();
}

static LogicalResult scanRule(NodeLowering &node) {
  Emitter &e = node.e;
  Region *body = node.getRegion("body");
  if (!body)
    return node.fail("it has no body");
  if (node.getVersion() < 9)
    return scanBatches(node, *body);
  auto stateCount = getStateCount(node, node.getNumOperands());
  if (failed(stateCount))
    return failure();
  Iteration iteration(node, *body);
  iteration.keepsSizes = true;
  for (unsigned index = 0; index < *stateCount; ++index)
    iteration.states.push_back(node.in(index));
  Size length = e.size(0);
  auto inputs = getScanInputs(node, *stateCount, length);
  if (failed(inputs))
    return failure();
  iteration.limit = length;
  addElements(iteration, e, *inputs, length);
  unsigned results = node.getNode()->getNumResults();
  for (unsigned index = 0; index + *stateCount < results; ++index)
    iteration.reversed.push_back(
        getEntry(node, "scan_output_directions", index));
  FailureOr<SmallVector<TensorValue>> values = iteration.run();
  if (failed(values))
    return failure();
  if (values->size() != results)
    return node.fail("its outputs are not those of its body");
  for (auto [index, value] : llvm::enumerate(*values)) {
    if (index >= *stateCount) {
      int64_t axis = getEntry(node, "scan_output_axes", index - *stateCount);
      FailureOr<TensorValue> moved = moveFirstAxis(node, value, axis);
      if (failed(moved))
        return failure();
      value = *moved;
    }
    node.set(index, value);
  }
  return success();
}

ArrayRef<LoweringRule> getControlFlowLowerings() {
  static const LoweringRule rules[] = {
      {"If", ifRule},
      {"Loop", loopRule},
      {"Scan", scanRule},
  };
  return rules;
}

} // namespace mp
