//===- PrecisionGraph.cpp - Variables and costs ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionGraph.h"

#include "QuantizedTypes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Patterns/Choices.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

PrecisionGraph::PrecisionGraph(ModuleOp module, Type lowType,
                               std::vector<NodePrecision> &nodes,
                               const AssignmentOptions &options)
    : context(module.getContext()), low(getElementKind(lowType)),
      lowName(getPrecisionName(lowType)), nodes(nodes), options(options),
      functions(module), flow(module), depths(flow), cycles(flow),
      sizes(options.dimensions), range(low), nodeVariables(nodes.size()) {
  // Most nodes have one variable, one result and two operands.
  variables.reserve(nodes.size());
  parents.reserve(nodes.size());
  values.reserve(nodes.size());
  producers.reserve(nodes.size());
  consumers.reserve(2 * nodes.size());
  // Inputs and outputs that the user wants in 16 bit are variables of their
  // own: a reader that is f32 needs a cast, one that is 16 bit needs none.
  InterfaceTypes interface(module);
  auto addInterface = [&] {
    parents.push_back(int(variables.size()));
    Variable &variable = variables.emplace_back();
    variable.kind = Variable::Interface;
    variable.state = Variable::Low;
    variable.reason = getReason("its type is asked for by --io");
    return parents.back();
  };
  for (BlockArgument input : interface.getInputsIn(lowType))
    producers[input] = addInterface();
  for (OpOperand *output : interface.getOutputsIn(lowType))
    consumers[output] = addInterface();
  unsigned nextNode = 0;
  forEachScope(module, [&](Operation *scope) { addScope(scope, nextNode); });
  forEachScope(module, [&](Operation *scope) { joinContainers(scope); });
  forEachScope(module, [&](Operation *scope) { joinChoices(scope); });
  QuantizedTypes(*this).run();
  for (SmallVector<int, 1> &list : nodeVariables)
    for (int &variable : list)
      variable = find(variable);
  forEachScope(module, [&](Operation *scope) { addValues(scope); });
}

void PrecisionGraph::addScope(Operation *scope, unsigned &nextNode) {
  if (auto graph = dyn_cast<GraphOp>(scope)) {
    llvm::DenseSet<Value> parameters = collectParameters(graph);
    derivedFromConstants.insert(parameters.begin(), parameters.end());
    for (auto [argument, initializer] : collectDefaults(graph))
      defaults[argument] = initializer;
  }
  SchemaCache schemas(scope);
  bool canCast = admitsCast(scope, low);
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op))
      addNode(nextNode++, schemas, canCast);
    else if (mp::isConstant(op))
      addConstant(op, std::nullopt);
  });
}

int PrecisionGraph::find(int variable) {
  while (parents[variable] != variable)
    variable = parents[variable] = parents[parents[variable]];
  return variable;
}

/// Merges two variables; f32 wins.
int PrecisionGraph::join(int variable, int other) {
  variable = find(variable);
  other = find(other);
  if (variable == other)
    return variable;
  auto [to, from] = std::minmax(variable, other);
  parents[from] = to;
  variables[to].kind = Variable::Tied;
  variables[to].neverNarrows |= variables[from].neverNarrows;
  if (variables[from].state == Variable::F32 &&
      variables[to].state != Variable::F32) {
    variables[to].state = Variable::F32;
    variables[to].reason = variables[from].reason;
  }
  return to;
}

void PrecisionGraph::addConstant(Operation *op, std::optional<unsigned> node) {
  Value value = op->getResult(0);
  if (!isF32Tensor(value.getType()))
    return;
  bool isDenied = node && nodes[*node].opClass == OpClass::Deny;
  if (node)
    nodes[*node].state = isDenied ? NodePrecision::F32 : NodePrecision::Other;
  if (isDenied)
    return;
  Variable variable;
  variable.node = node;
  variable.kind = Variable::Constant;
  producers[value] = int(variables.size());
  parents.push_back(int(variables.size()));
  variables.push_back(std::move(variable));
  derivedFromConstants.insert(value);
}

/// Settles a node without an f32 variable: nothing is left to decide.
static void settleFixed(NodePrecision &entry,
                        ArrayRef<FloatTypeVariable> typeVariables) {
  Operation *op = entry.node;
  bool is16Bit =
      llvm::any_of(typeVariables, [](const FloatTypeVariable &typeVariable) {
        return typeVariable.kind == ElementKind::Float16 ||
               typeVariable.kind == ElementKind::BFloat16;
      });
  bool hasF32 = llvm::any_of(op->getResultTypes(), holdsF32) ||
                llvm::any_of(op->getOperandTypes(), holdsF32);
  entry.state = hasF32 && !is16Bit ? NodePrecision::F32 : NodePrecision::Other;
  if (!entry.reason || is16Bit)
    entry.reason.text = StringAttr::get(
        op->getContext(), is16Bit ? "16 bit in the source" : "no f32 operand");
}

void PrecisionGraph::addNode(unsigned index, SchemaCache &schemas,
                             bool canCast) {
  NodePrecision &entry = nodes[index];
  Operation *op = entry.node;
  if (mp::isConstant(op))
    return addConstant(op, index);
  const SchemaCache::Entry &schema = schemas.lookup(op);
  FloatTypeVariables typeVariables =
      getFloatTypeVariables(op, schema.schema, functions);
  bool hasFloat =
      llvm::any_of(typeVariables, [](const FloatTypeVariable &typeVariable) {
        return typeVariable.kind == ElementKind::Float;
      });
  if (!hasFloat)
    return settleFixed(entry, typeVariables);
  // The callee may have to cast the values that a call passes, at another
  // opset.
  if (FunctionOp callee = functions.lookup(op))
    canCast &= admitsCast(callee, low);
  bool readsOnlyConstants = true;
  for (const FloatTypeVariable &typeVariable : typeVariables) {
    int variable = int(variables.size());
    variables.emplace_back();
    parents.push_back(variable);
    variables[variable].node = index;
    nodeVariables[index].push_back(variable);
    if (typeVariable.kind != ElementKind::Float) {
      variables[variable].kind = Variable::NoFloat;
      variables[variable].state = Variable::F32;
      continue;
    }
    fixVariable(variables[variable], typeVariable, entry, schema, canCast);
    auto add = [&](auto &map, auto key) {
      auto [it, isNew] = map.try_emplace(key, variable);
      if (!isNew)
        variable = it->second = join(it->second, variable);
    };
    for (OpOperand *read : typeVariable.reads) {
      add(consumers, read);
      readsOnlyConstants &= derivedFromConstants.contains(read->get());
    }
    for (OpOperand *yield : typeVariable.yields)
      add(consumers, yield);
    for (Value write : typeVariable.writes)
      add(producers, write);
    // Operands come first; values of nodes that a list has decided are ordinary
    // values.
    bool passesConstants =
        entry.opClass == OpClass::Promote || entry.opClass == OpClass::Follow;
    if (variables[variable].kind == Variable::Node && readsOnlyConstants &&
        passesConstants && !typeVariable.reads.empty() && !isDequantizer(op))
      derivedFromConstants.insert(typeVariable.writes.begin(),
                                  typeVariable.writes.end());
  }
}

//===----------------------------------------------------------------------===//
// Fixed variables
//===----------------------------------------------------------------------===//

/// Null if the variable may be 16 bit.
DecisionReason
PrecisionGraph::getLegalityReason(const FloatTypeVariable &typeVariable,
                                  const SchemaCache::Entry &schema,
                                  bool canCast) const {
  if (!typeVariable.obstacle.empty())
    return getReason(typeVariable.obstacle);
  if (schema.isExtension)
    return getReason("the op came after the opset in force");
  if (schema.schema && !typeVariable.admits(*schema.schema, low)) {
    int first = typeVariable.getFirstOpset(*schema.schema, *schema.family, low);
    std::string reason =
        (schema.schema->getDisplayName() + " does not admit " + lowName).str();
    if (first)
      reason += ", opset " + std::to_string(first) + " does";
    return getReason(reason);
  }
  return canCast
             ? DecisionReason()
             : getReason("Cast does not admit " + lowName + " at this opset");
}

/// A value derived from constants fits if all constants that it is made of do.
bool PrecisionGraph::fits(Value value) {
  // Visit operands first and each value once: many users ask about the same
  // weights.
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.back();
    bool isDerivedFromConstants =
        isF32Tensor(next.getType()) && derivedFromConstants.contains(next);
    Operation *source = next.getDefiningOp();
    if (!source)
      source = defaults.lookup(next);
    if (fitting.contains(next) || !isDerivedFromConstants || !source ||
        mp::isConstant(source)) {
      if (!fitting.contains(next))
        fitting[next] =
            !isDerivedFromConstants || !source || range.fits(source);
      worklist.pop_back();
      continue;
    }
    bool allKnown = true, allFit = true;
    for (Value operand : source->getOperands()) {
      auto it = fitting.find(operand);
      if (it == fitting.end()) {
        worklist.push_back(operand);
        allKnown = false;
      } else {
        allFit &= it->second;
      }
    }
    if (!allKnown)
      continue;
    fitting[next] = allFit;
    worklist.pop_back();
  }
  return fitting.lookup(value);
}

/// The constant that does not fit and from which `value` is derived. `value`
/// itself is derived from constants and does not fit.
Operation *PrecisionGraph::findUnfit(Value value) const {
  while (true) {
    Operation *source = value.getDefiningOp();
    if (!source)
      source = defaults.lookup(value);
    if (!source || mp::isConstant(source))
      return source;
    auto operand = llvm::find_if(source->getOperands(), [&](Value operand) {
      auto it = fitting.find(operand);
      return it != fitting.end() && !it->second;
    });
    if (operand == source->operand_end())
      return nullptr;
    value = *operand;
  }
}

/// Names an operand that 16 bit does not hold; null if it holds all.
DecisionReason
PrecisionGraph::getWideConstant(const FloatTypeVariable &typeVariable) {
  auto isWide = [&](Value value) {
    if (derivedFromConstants.contains(value))
      return !fits(value);
    // A constant that the user keeps f32 would still be cast.
    Operation *source = value.getDefiningOp();
    return source && mp::isConstant(source) && isF32Tensor(value.getType()) &&
           !range.fits(source);
  };
  for (ArrayRef<OpOperand *> operands :
       {typeVariable.reads, typeVariable.yields})
    for (OpOperand *operand : operands) {
      if (!isWide(operand->get()))
        continue;
      Operation *unfit = findUnfit(operand->get());
      bool isSmall = unfit && range.getFacts(unfit).losesDigits();
      return getReason(isSmall ? "rounding to " + lowName +
                                     " changes constant '{0}' by more than "
                                     "2^-10 of its RMS"
                               : "constant '{0}' is out of range",
                       onnxir::getValueName(operand->get()));
    }
  return {};
}

void PrecisionGraph::fixVariable(Variable &variable,
                                 const FloatTypeVariable &typeVariable,
                                 const NodePrecision &entry,
                                 const SchemaCache::Entry &schema,
                                 bool canCast) {
  Operation *op = entry.node;
  bool isTied = op->getNumRegions() || isa<CustomOp>(op);
  variable.kind = isTied ? Variable::Tied : Variable::Node;
  // The model's own casts read the type that their operand has, and no list
  // makes them round more than before.
  bool isOwnCast = isStandardOp(op, "Cast") &&
                   (entry.isBuiltin || entry.opClass != OpClass::Deny);
  auto fix = [&](Variable::State state, DecisionReason reason) {
    variable.state = state;
    variable.reason = reason;
  };
  if (entry.opClass == OpClass::Deny && !isOwnCast)
    return fix(Variable::F32, entry.reason);
  if (auto reason = op->getAttrOfType<StringAttr>(mark::noKernel))
    return fix(Variable::F32, getReason(reason.getValue()));
  if (DecisionReason reason = getLegalityReason(typeVariable, schema, canCast))
    return fix(Variable::F32, reason);
  if (DecisionReason wide = getWideConstant(typeVariable))
    return fix(Variable::F32, wide);
  if (isTied) {
    if (DecisionReason state = getStateReason(typeVariable))
      fix(Variable::F32, state);
    return;
  }
  variable.isAsked = entry.isOverride;
  // Within an error limit, lists say what may be 16 bit, not what must be.
  bool isFree = options.errorLimit && !entry.isOverride;
  if (entry.opClass == OpClass::Allow && !isOwnCast && !isFree)
    return fix(Variable::Low, entry.reason);
  bool isUsersPromote = entry.opClass == OpClass::Promote && !entry.isBuiltin;
  variable.neverNarrows =
      isOwnCast || isUsersPromote || !getOperatorTraits(op).has(Narrow);
}

/// The reason that iterations accumulate in a value that the variable writes;
/// the variable is that of a Loop, Scan or If, or of a call in one. Null if
/// they do not.
DecisionReason
PrecisionGraph::getStateReason(const FloatTypeVariable &typeVariable) const {
  for (Value write : typeVariable.writes)
    if (Value state = cycles.getState(write))
      return getReason("iterations accumulate in '{0}'",
                       onnxir::getValueName(state));
  return {};
}

/// Nothing casts a sequence: its producers and users must agree.
void PrecisionGraph::joinContainers(Operation *scope) {
  auto visit = [&](Value value) {
    if (!holdsF32(value.getType()) || isF32Tensor(value.getType()))
      return;
    auto producer = producers.find(value);
    bool isFixed = producer == producers.end();
    int variable = isFixed ? -1 : find(producer->second);
    for (OpOperand &use : value.getUses()) {
      auto consumer = consumers.find(&use);
      if (consumer == consumers.end())
        isFixed = true;
      else
        variable = variable < 0 ? find(consumer->second)
                                : join(variable, consumer->second);
    }
    if (!isFixed || variable < 0)
      return;
    Variable &joined = variables[find(variable)];
    if (joined.state == Variable::F32)
      return;
    joined.state = Variable::F32;
    joined.reason = getReason("'{0}' is used where its type cannot change",
                              onnxir::getValueName(value));
  };
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      llvm::for_each(region.getArguments(), visit);
    llvm::for_each(op->getResults(), visit);
  });
}

/// A node that asks which element another node took must read the input of that
/// node and its result with the same precision: if only one side were rounded,
/// the two would never be equal.
void PrecisionGraph::joinChoices(Operation *scope) {
  for (const Choice &choice : findChoices(scope, ChoiceKind::Equality)) {
    auto producer = producers.find(choice.chosen);
    if (producer == producers.end())
      continue;
    int chooser = find(producer->second);
    SmallVector<int, 4> others;
    auto add = [&](const auto &map, auto key) {
      if (auto it = map.find(key); it != map.end())
        others.push_back(it->second);
    };
    add(consumers, &choice.comparison->getOpOperand(0));
    for (Operation *movement : choice.movements)
      add(producers, movement->getResult(0));
    Variable::Kind kind = variables[chooser].kind;
    auto node = variables[chooser].node;
    bool isLow = variables[chooser].state == Variable::Low;
    if (isLow && node && nodes[*node].isBuiltin)
      continue;
    for (int other : others) {
      Variable &variable = variables[find(other)];
      if (!isLow) {
        chooser = join(chooser, other);
      } else if (variable.state == Variable::Free) {
        variable.state = Variable::Low;
        variable.reason = variables[chooser].reason;
      }
    }
    variables[chooser].kind = kind;
    variables[chooser].node = node;
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void PrecisionGraph::addValue(Value value) {
  if (!holdsF32(value.getType()))
    return;
  ValueEntry entry;
  entry.value = value;
  entry.elements = sizes.getElements(value);
  unsigned index = values.size();
  if (auto it = producers.find(value); it != producers.end()) {
    entry.producer = find(it->second);
    variables[entry.producer].writes.push_back(index);
  }
  // Results of f32 nodes are f32, even if they are derived from constants.
  bool isF32 = entry.producer == fixedF32
                   ? !isa<BlockArgument>(value)
                   : variables[entry.producer].state == Variable::F32;
  entry.isDerivedFromConstants = derivedFromConstants.contains(value) && !isF32;
  for (OpOperand &use : value.getUses()) {
    auto it = consumers.find(&use);
    if (it == consumers.end()) {
      entry.hasF32Use = true;
      continue;
    }
    entry.consumers.push_back(find(it->second));
    if (options.errorLimit)
      entry.uses.emplace_back(entry.consumers.back(), &use);
  }
  // Each consumer once, in the order of the nodes.
  llvm::sort(entry.consumers);
  entry.consumers.erase(
      std::unique(entry.consumers.begin(), entry.consumers.end()),
      entry.consumers.end());
  for (int consumer : entry.consumers)
    variables[consumer].reads.push_back(index);
  values.push_back(std::move(entry));
}

void PrecisionGraph::addValues(Operation *scope) {
  sizes.add(scope);
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        addValue(argument);
    for (OpResult result : op->getResults())
      addValue(result);
  });
}

DecisionReason PrecisionGraph::getReason(const llvm::Twine &text,
                                         ArrayRef<int64_t> numbers) const {
  return {StringAttr::get(context, text),
          Builder(context).getI64ArrayAttr(numbers)};
}

DecisionReason PrecisionGraph::getReason(const llvm::Twine &text,
                                         StringRef name) const {
  return {StringAttr::get(context, text),
          Builder(context).getStrArrayAttr(name)};
}

DecisionReason PrecisionGraph::getOperandReason(const ValueEntry &value) const {
  StringRef name = onnxir::getValueName(value.value);
  return name.empty() ? getReason("an operand is f32")
                      : getReason("operand '{0}' is f32", name);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

int64_t PrecisionGraph::getCastBytes(const ValueEntry &value) const {
  bool isCopied = hasBothTypes(value.producer) &&
                  (variables[value.producer].kind == Variable::Dequantized ||
                   getLowBytes(value) <= options.maxWeightCopy);
  return isCopied ? getLowBytes(value) : 3 * getLowBytes(value);
}

int64_t PrecisionGraph::getCost(const ValueEntry &value, Uses uses) const {
  bool anyLow = uses.lowConsumers;
  bool anyF32 = value.hasF32Use || uses.lowConsumers < value.consumers.size();
  bool isStoredLow =
      hasBothTypes(value.producer) ? anyLow && !anyF32 : uses.isProducerLow;
  int64_t bytes = (isStoredLow ? 1 : 2) * getLowBytes(value);
  if (isStoredLow ? anyF32 : anyLow)
    bytes += isStoredLow ? 3 * getLowBytes(value) : getCastBytes(value);
  return bytes;
}

int64_t PrecisionGraph::getCost(const ValueEntry &value) const {
  auto isLow = [&](int variable) {
    return variables[variable].state == Variable::Low;
  };
  Uses uses;
  uses.isProducerLow = value.producer != fixedF32 && isLow(value.producer);
  uses.lowConsumers = llvm::count_if(value.consumers, isLow);
  return getCost(value, uses);
}

int64_t PrecisionGraph::getCost() const {
  int64_t bytes = 0;
  for (const ValueEntry &value : values)
    bytes += getCost(value);
  return bytes;
}

} // namespace mp
