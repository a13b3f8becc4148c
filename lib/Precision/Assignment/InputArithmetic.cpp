//===- InputArithmetic.cpp - Arithmetic on inputs stays fp32 --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs of a model are already fp32, and the number of digits that a
// difference needs is unknown at compile time. Arithmetic on inputs is
// therefore fp32 up to the first product; a cast after it moves as many bytes
// as one before it. The same holds for sums with inputs (residual connections,
// levels that are added again), for inputs and such sums times a factor
// (coupling layers), and for differences of values that are fp32 anyway. Inputs
// that the caller gives in 16 bit are like other values.
//
//===----------------------------------------------------------------------===//

#include "AssignmentRules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

using Variable = PrecisionGraph::Variable;
using ValueEntry = PrecisionGraph::ValueEntry;

class InputArithmetic {
public:
  explicit InputArithmetic(PrecisionGraph &graph)
      : graph(graph), variables(graph.getVariables()),
        carriers(variables.size()), narrow(variables.size()) {}

  void run();

private:
  bool isFree(unsigned index) const;
  bool computes(unsigned index) const;
  bool isBeforeProducts(unsigned index) const;
  bool isSum(unsigned index) const;
  bool isScaling(unsigned index) const;
  bool scalesInput(unsigned index) const;
  bool isInput(unsigned value) const;
  bool isNarrow(unsigned value) const;
  bool readsOnlyNarrow(unsigned index) const;
  bool isCarrier(unsigned value) const;
  bool carriesInput(unsigned index) const;
  bool readsInput(unsigned index) const;
  bool readsCarrier(unsigned index) const;
  bool readsOnlyF32(unsigned index) const;
  bool isDifference(unsigned index) const;
  void keep(unsigned index, StringRef reason);
  void decide(unsigned index);

  PrecisionGraph &graph;
  std::vector<Variable> &variables;
  /// Variables that have an input as a term or a factor.
  std::vector<bool> carriers;
  /// Variables before the first product whose inputs are all 16 bit.
  std::vector<bool> narrow;
  /// Variables that have been kept fp32.
  std::vector<unsigned> kept;
};

} // namespace

static constexpr StringLiteral beforeProducts =
    "computes with inputs before the first product";

/// True for a node that no list and no analysis has decided, and no rule names.
bool InputArithmetic::isFree(unsigned index) const {
  const Variable &variable = variables[index];
  return variable.state == Variable::Free && variable.kind == Variable::Node &&
         !variable.isAsked;
}

/// True if it does more than move or choose elements, or read sizes.
bool InputArithmetic::computes(unsigned index) const {
  const OperatorTraits &traits = getOperatorTraits(graph.getNode(index));
  bool readsElements = !variables[index].writes.empty() || !traits.has(Narrow);
  return readsElements && !traits.has(Exact);
}

/// True if it reads inputs, and only values that no product has made.
bool InputArithmetic::isBeforeProducts(unsigned index) const {
  const Variable &variable = variables[index];
  // The result of a comparison is not a float.
  auto depth = ProductDepth::Constant;
  for (unsigned value :
       variable.writes.empty() ? variable.reads : variable.writes)
    depth = std::max(depth, graph.getDepth(graph.getValues()[value].value));
  return depth == ProductDepth::Input;
}

/// True if a softmax reads the value, perhaps moved or after further sums.
static bool isScore(Value value) {
  constexpr unsigned maxVisited = 16;
  SmallVector<Value> worklist = {value};
  for (unsigned count = 0; !worklist.empty() && count < maxVisited; ++count)
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (!isNode(user))
        continue;
      const OperatorTraits &traits = getOperatorTraits(user);
      CompositeAttr composite = getComposite(user);
      if (traits.math == OperatorMath::Softmax ||
          (composite && composite.getName().getValue().contains("Softmax")))
        return true;
      if (traits.movesData() || traits.math == OperatorMath::Add ||
          traits.math == OperatorMath::Max ||
          traits.math == OperatorMath::Where)
        llvm::append_range(worklist, user->getResults());
    }
  return false;
}

/// True if it adds or subtracts, except for masks, which are added to scores of
/// a softmax.
bool InputArithmetic::isSum(unsigned index) const {
  Operation *node = graph.getNode(index);
  OperatorMath math = getOperatorTraits(node).math;
  return (math == OperatorMath::Add || math == OperatorMath::Sub) &&
         !isScore(node->getResult(0));
}

/// True if an operand is an input, or was made of one without a product, and is
/// not a bias of fewer dimensions: some models have their parameters as inputs.
bool InputArithmetic::readsInput(unsigned index) const {
  auto getRank = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getRank() : -1;
  };
  Operation *node = graph.getNode(index);
  return llvm::any_of(variables[index].reads, [&](unsigned read) {
    Value operand = graph.getValues()[read].value;
    return graph.getDepth(operand) == ProductDepth::Input && !isNarrow(read) &&
           getRank(operand) == getRank(node->getResult(0));
  });
}

/// True for an input that the caller gives in 16 bit, and for values that are
/// made of such inputs alone.
bool InputArithmetic::isNarrow(unsigned value) const {
  int producer = graph.getValues()[value].producer;
  return producer >= 0 &&
         (variables[producer].kind == Variable::Interface || narrow[producer]);
}

/// True if all inputs that the variable's values are made of are 16 bit.
bool InputArithmetic::readsOnlyNarrow(unsigned index) const {
  bool any = false;
  for (unsigned read : variables[index].reads) {
    if (graph.getValues()[read].isDerivedFromConstants)
      continue;
    if (!isNarrow(read))
      return false;
    any = true;
  }
  return any;
}

bool InputArithmetic::isInput(unsigned value) const {
  const ValueEntry &entry = graph.getValues()[value];
  return isa<BlockArgument>(entry.value) && !entry.isDerivedFromConstants &&
         !isNarrow(value) && graph.getDepth(entry.value) == ProductDepth::Input;
}

bool InputArithmetic::isCarrier(unsigned value) const {
  int producer = graph.getValues()[value].producer;
  return producer >= 0 && carriers[producer];
}

bool InputArithmetic::readsCarrier(unsigned index) const {
  return llvm::any_of(variables[index].reads,
                      [&](unsigned read) { return isCarrier(read); });
}

/// True for sums, multiples and parts of inputs, but not for lookups in them:
/// some models have their tables as inputs.
bool InputArithmetic::carriesInput(unsigned index) const {
  if (computes(index) && !isSum(index) && !isScaling(index))
    return false;
  for (Value operand : graph.getNode(index)->getOperands())
    if (!isFloatTensor(operand.getType()) &&
        graph.getDepth(operand) != ProductDepth::Constant)
      return false;
  return llvm::any_of(variables[index].reads, [&](unsigned read) {
    return isCarrier(read) || isInput(read);
  });
}

bool InputArithmetic::isScaling(unsigned index) const {
  OperatorMath math = getOperatorTraits(graph.getNode(index)).math;
  return math == OperatorMath::Mul || math == OperatorMath::Div;
}

/// True if all values that the variable reads, except constants, are already
/// fp32, and there is one.
bool InputArithmetic::readsOnlyF32(unsigned index) const {
  bool hasF32 = false;
  for (unsigned read : variables[index].reads) {
    const ValueEntry &value = graph.getValues()[read];
    if (value.isDerivedFromConstants || value.producer == int(index))
      continue;
    hasF32 = true;
    if (value.producer >= 0 && variables[value.producer].state != Variable::F32)
      return false;
  }
  return hasF32;
}

bool InputArithmetic::isDifference(unsigned index) const {
  return getOperatorTraits(graph.getNode(index)).math == OperatorMath::Sub;
}

static bool haveSameShape(Value left, Value right) {
  auto first = dyn_cast<RankedTensorType>(left.getType());
  auto second = dyn_cast<RankedTensorType>(right.getType());
  return first && second && first.getShape() == second.getShape();
}

/// True if it multiplies or divides an input, or a sum with one. Masks are
/// inputs, too: they have fewer elements than the result.
bool InputArithmetic::scalesInput(unsigned index) const {
  Operation *node = graph.getNode(index);
  // Operators on the user's promote list follow the widest operand.
  return isScaling(index) && !variables[index].neverNarrows &&
         llvm::any_of(variables[index].reads, [&](auto read) {
           return (isCarrier(read) || isInput(read)) &&
                  haveSameShape(graph.getValues()[read].value,
                                node->getResult(0));
         });
}

void InputArithmetic::keep(unsigned index, StringRef reason) {
  variables[index].state = Variable::F32;
  variables[index].reason = graph.getReason(reason);
  kept.push_back(index);
}

void InputArithmetic::decide(unsigned index) {
  if (!isFree(index))
    return;
  if (isBeforeProducts(index)) {
    narrow[index] = readsOnlyNarrow(index);
    if (narrow[index])
      return;
    if (computes(index))
      keep(index, beforeProducts);
    carriers[index] = carriesInput(index);
  } else if (isSum(index) && (readsInput(index) || readsCarrier(index))) {
    keep(index, "is a sum with an input, which is fp32");
    carriers[index] = true;
  } else if (scalesInput(index)) {
    keep(index, "is an input times a factor, which is fp32");
    carriers[index] = true;
  } else if (!computes(index)) {
    carriers[index] = readsCarrier(index);
  } else if (isDifference(index) && readsOnlyF32(index)) {
    keep(index, "is a difference of fp32 values");
  }
}

void InputArithmetic::run() {
  // Variables are in the order of their nodes, operands before users.
  for (unsigned index = 0; index < variables.size(); ++index)
    decide(index);
  // Operands of such a node are not rounded before it; movement after the last
  // such node stays free.
  while (!kept.empty()) {
    unsigned next = kept.back();
    kept.pop_back();
    for (unsigned read : variables[next].reads)
      if (int producer = graph.getValues()[read].producer;
          producer >= 0 && isFree(producer) &&
          (carriers[producer] || isBeforeProducts(producer)) &&
          !narrow[producer])
        keep(producer, beforeProducts);
  }
}

void keepInputArithmetic(PrecisionGraph &graph) {
  InputArithmetic(graph).run();
}

} // namespace mp
