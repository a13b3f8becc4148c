//===- PrecisionReport.cpp - Decisions as plain data ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/PrecisionReport.h"

#include "NodeScopes.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/MultiplyAdds.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Assignment/FloatTypeVariables.h"
#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"
#include "mp-opt/Precision/Assignment/SavedValues.h"
#include "mp-opt/Precision/Policy/Policy.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// ModelSize
//===----------------------------------------------------------------------===//

/// True for ops that a model stores; `ConstantOfShape` stores one element.
static bool isStored(Operation *op) {
  return isa<InitializerOp>(op) || isStandardOp(op, "Constant");
}

/// Sizes of the values of the main graph and of all functions.
static ValueSizes getSizes(ModuleOp module, const DimensionSizes &dims) {
  ValueSizes sizes(dims);
  for (Operation &scope : module.getOps())
    if (isa<GraphOp, FunctionOp>(scope))
      sizes.add(&scope);
  return sizes;
}

ModelSize ModelSize::measure(ModuleOp module, const DimensionSizes &dims) {
  return measure(module, getSizes(module, dims));
}

ModelSize ModelSize::measure(ModuleOp module, const ValueSizes &sizes) {
  ModelSize size;
  size.opset = getOpset(module, "").value_or(0);
  if (auto model = module->getAttrOfType<DictionaryAttr>(attr::model))
    if (auto version = model.getAs<IntegerAttr>("ir_version"))
      size.irVersion = version.getInt();
  auto add = [&](uint64_t &total, Value value) {
    ByteCount count = countBytes(value, sizes);
    total = llvm::SaturatingAdd(total, count.bytes);
    return count;
  };
  module.walk([&](Operation *op) {
    if (isStored(op))
      for (Value result : op->getResults())
        add(size.weights, result);
    if (isInsertedCast(op)) {
      add(size.castBytes, op->getOperand(0));
      add(size.castBytes, op->getResult(0));
      ++(isF32Tensor(op->getResult(0).getType()) ? size.castsToF32
                                                 : size.castsToLow);
      return;
    }
    if (!isNode(op) || isConstant(op))
      return;
    for (Value result : op->getResults()) {
      if (isa<NoneType>(result.getType()))
        continue;
      ByteCount count = add(size.activations, result);
      ++size.values;
      size.dynamicValues += count.isDynamic;
      size.unknownValues += count.isUnknown;
    }
  });
  for (auto graph : module.getOps<GraphOp>())
    for (const SavedValue &saved : findSavedValues(graph).values)
      add(size.saved, saved.value);
  return size;
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

namespace {

class Collector {
public:
  Collector(ModuleOp module, PrecisionReport &report, const ValueSizes &sizes)
      : module(module), report(report), functions(module), sizes(sizes) {}

  void run();

private:
  void collectGraph(Operation *graph, SchemaCache &schemas);
  void collectNode(Operation *op, SchemaCache &schemas);
  void collectYield(YieldOp yield);
  void readReason(ReportNode &node, PrecisionAttr precision);
  void readMarks(ReportNode &node);
  void askSchema(ReportNode &node, SchemaCache &schemas);
  bool quotesConstant(const ReportNode &node) const;
  unsigned getScope(const ReportNode &node);
  unsigned addScope(const std::string &path);
  void placeCasts();
  int getValue(Value value);
  void findOperandCauses();
  void findOtherCauses();
  bool isExplained(unsigned node) const {
    const ReportNode &entry = report.nodes[node];
    return entry.state != ReportNode::Other &&
           (!entry.isFree || entry.causeValue != noIndex);
  }
  bool hasPrecision(int value, ReportNode::State state) const;

  ModuleOp module;
  PrecisionReport &report;
  FunctionTable functions;
  const ValueSizes &sizes;
  TrainingPhases phases;
  NodeScopes nodeScopes;
  Type lowType;
  llvm::DenseMap<Value, unsigned> values;
  llvm::DenseMap<Operation *, unsigned> nodes;
  llvm::StringMap<unsigned> scopes;
  /// The operands that decide a node, indexed by node.
  std::vector<SmallVector<unsigned, 4>> voters;
};

} // namespace

/// The value that an op of the mp dialect passes on; null for other values.
static Value getOriginal(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<GradientOp, UnscaleOp, ScaleLossOp, LossSeedOp>(op)
             ? op->getOperand(0)
             : Value();
}

int Collector::getValue(Value value) {
  if (isa<NoneType>(value.getType()))
    return noIndex;
  Value original = values.contains(value) ? Value() : getOriginal(value);
  int originalIndex = original ? getValue(original) : noIndex;
  auto [it, isNew] = values.try_emplace(value, report.values.size());
  if (!isNew)
    return it->second;
  ReportValue entry;
  entry.name = getValueName(value);
  entry.type = value.getType();
  entry.original = originalIndex;
  entry.size = countBytes(value, sizes);
  if (auto argument = dyn_cast<BlockArgument>(value))
    entry.kind = isa<GraphOp>(argument.getOwner()->getParentOp())
                     ? ReportValue::Input
                     : ReportValue::BodyInput;
  else if (isConstant(value.getDefiningOp()))
    entry.kind = ReportValue::Weight;
  report.values.push_back(std::move(entry));
  return it->second;
}

void Collector::readReason(ReportNode &node, PrecisionAttr precision) {
  StringRef text = precision.getReason().getValue();
  node.because = node.group = text;
  ArrayAttr values = precision.getValues();
  if (!values)
    return;
  auto keep = [&](const std::string &made) {
    return StringAttr::get(module.getContext(), made).getValue();
  };
  node.because = keep(describeReason(text, values));
  node.group = keep(describeReasonGroup(text, values));
  if (values.size() == 1)
    if (auto number = dyn_cast<IntegerAttr>(values[0]))
      node.cost = number.getInt();
}

void Collector::readMarks(ReportNode &node) {
  Operation *op = node.op;
  node.isInsertedCast = isInsertedCast(op);
  if (ClassAttr held = getClass(op)) {
    node.opClass = stringifyOpClass(held.getOpClass());
    node.classReason = held.getReason().getValue();
  }
  PrecisionAttr precision = getPrecision(op);
  if (precision)
    readReason(node, precision);
  if (HazardAttr hazard = getHazard(op))
    node.hazard = hazard.getReason().getValue();
  if (CompositeAttr composite = getComposite(op))
    node.composite = composite.getName().getValue();
  node.isShape = op->hasAttr(mark::shapeArithmetic);
  node.error = NodeErrorMark::read(op);
  bool yieldsFloat = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isF32Tensor(type) || is16BitTensor(type);
  });
  if (precision && yieldsFloat && !node.isInsertedCast)
    node.state =
        precision.getType().isF32() ? ReportNode::F32 : ReportNode::Low;
}

/// True if the reason names a constant among the operands; it is then the
/// node's own.
bool Collector::quotesConstant(const ReportNode &node) const {
  size_t open = node.because.find('\'');
  if (open == StringRef::npos)
    return false;
  StringRef quoted = node.because.substr(open);
  return llvm::any_of(node.operands, [&](int index) {
    if (index == noIndex)
      return false;
    const ReportValue &value = report.values[index];
    return value.kind == ReportValue::Weight && !value.name.empty() &&
           quoted.contains(("'" + value.name + "'").str());
  });
}

void Collector::askSchema(ReportNode &node, SchemaCache &schemas) {
  if (!lowType || node.isInsertedCast)
    return;
  const SchemaCache::Entry &entry = schemas.lookup(node.op);
  ElementKind low = onnxir::getElementKind(lowType);
  bool isChosen = false;
  node.isAdmitted = !entry.isExtension;
  for (FloatTypeVariable &variable :
       getFloatTypeVariables(node.op, entry.schema, functions)) {
    if (variable.kind != ElementKind::Float && variable.kind != low)
      continue;
    isChosen = true;
    node.isAdmitted &= variable.obstacle.empty() &&
                       (!entry.schema || variable.admits(*entry.schema, low));
    if (entry.schema && variable.obstacle.empty())
      node.firstOpset =
          std::max(node.firstOpset,
                   variable.getFirstOpset(*entry.schema, *entry.family, low));
    for (OpOperand *read : variable.reads)
      if (read->getOwner() == node.op)
        voters.back().push_back(read->getOperandNumber());
  }
  node.isAdmitted &= isChosen;
  bool isUndecided = node.opClass == stringifyOpClass(OpClass::Follow) ||
                     node.opClass == stringifyOpClass(OpClass::Promote);
  node.isFree = node.state != ReportNode::Other && isUndecided &&
                node.isAdmitted && node.hazard.empty() && !node.isShape &&
                !quotesConstant(node);
  llvm::sort(voters.back());
  if (!node.isFree)
    voters.back().clear();
}

/// The path of a node's name; inside the path of the node whose body it is in.
unsigned Collector::getScope(const ReportNode &node) {
  std::string path;
  if (node.parent != noIndex) {
    const ReportNode &parent = report.nodes[node.parent];
    Operation *owner = parent.op;
    unsigned region = node.op->getParentRegion()->getRegionNumber();
    auto names = owner->getAttrOfType<ArrayAttr>(attr::regions);
    auto name = names && region < names.size()
                    ? dyn_cast<StringAttr>(names[region])
                    : StringAttr();
    std::string display = parent.getDisplayName();
    StringRef own = display;
    path = report.scopes[parent.scope];
    path += (path.empty() ? "" : "/") + own.rsplit('/').second.str();
    if (!own.contains('/'))
      path += own;
    path += ("/" + (name ? name.getValue() : "body")).str();
  } else if (auto function = node.op->getParentOfType<FunctionOp>()) {
    path = "function " + function.getName().str();
  }
  std::string own = nodeScopes.add(node.op, node.getDisplayName());
  // Updates are named after their parameters.
  if (phases.trains() && node.phase == TrainingPhase::Optimizer) {
    auto [parameter, rest] = StringRef(own).split('/');
    own = getScopeOfDotted(parameter) + (rest.empty() ? "" : "/" + rest.str());
  }
  if (!own.empty())
    path += (path.empty() ? "" : "/") + own;
  return addScope(path);
}

unsigned Collector::addScope(const std::string &path) {
  auto [it, isNew] = scopes.try_emplace(path, report.scopes.size());
  if (isNew)
    report.scopes.push_back(path);
  return it->second;
}

void Collector::collectNode(Operation *op, SchemaCache &schemas) {
  unsigned index = report.nodes.size();
  nodes[op] = index;
  ReportNode node;
  node.op = op;
  node.name = getNodeName(op);
  node.domain = getDomain(op);
  node.opType = getOpType(op);
  auto parent = nodes.find(op->getParentOp());
  node.parent = parent == nodes.end() ? noIndex : int(parent->second);
  readMarks(node);
  for (Value operand : op->getOperands()) {
    int value = getValue(operand);
    node.operands.push_back(value);
    if (value != noIndex)
      report.values[value].users.push_back(index);
  }
  for (Value result : op->getResults()) {
    int value = getValue(result);
    if (value == noIndex)
      continue;
    node.results.push_back(value);
    report.values[value].source = index;
    node.bytes =
        llvm::SaturatingAdd(node.bytes, report.values[value].size.bytes);
  }
  voters.emplace_back();
  askSchema(node, schemas);
  node.phase = phases.lookup(op);
  node.multiplyAdds = countMultiplyAdds(op, getOperatorTraits(op), sizes);
  node.scope = getScope(node);
  report.nodes.push_back(std::move(node));
}

void Collector::collectYield(YieldOp yield) {
  auto parent = nodes.find(yield->getParentOp());
  for (Value operand : yield->getOperands()) {
    int value = getValue(operand);
    if (value == noIndex)
      continue;
    if (parent == nodes.end())
      report.values[value].isOutput = true;
    else
      report.values[value].users.push_back(parent->second);
  }
}

void Collector::collectGraph(Operation *graph, SchemaCache &schemas) {
  phases = TrainingPhases();
  if (auto main = dyn_cast<GraphOp>(graph))
    phases = TrainingPhases::compute(main);
  graph->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        getValue(argument);
    if (isNode(op))
      collectNode(op, schemas);
    else if (auto yield = dyn_cast<YieldOp>(op))
      collectYield(yield);
    else if (isa<InitializerOp>(op))
      getValue(op->getResult(0));
  });
}

//===----------------------------------------------------------------------===//
// Causes
//===----------------------------------------------------------------------===//

bool Collector::hasPrecision(int value, ReportNode::State state) const {
  Type type = report.values[value].type;
  return state == ReportNode::F32 ? isF32Tensor(type) : is16BitTensor(type);
}

/// Operands come first, so one forward pass explains all nodes whose precision
/// follows from operands. Constants do not vote.
void Collector::findOperandCauses() {
  for (auto [index, node] : llvm::enumerate(report.nodes)) {
    for (unsigned voter : voters[index]) {
      int value = report.skipCasts(node.operands[voter]);
      if (value == noIndex || !hasPrecision(value, node.state) ||
          report.values[value].kind == ReportValue::Weight)
        continue;
      int source = report.values[value].source;
      if (source != noIndex && !isExplained(source))
        continue;
      node.causeValue = value;
      node.causeNode = source;
      break;
    }
  }
}

/// Explains the other nodes by the nearest explained node, user or operand.
void Collector::findOtherCauses() {
  std::vector<unsigned> queue;
  for (unsigned node = 0; node < report.nodes.size(); ++node)
    if (isExplained(node))
      queue.push_back(node);
  for (size_t next = 0; next < queue.size(); ++next) {
    unsigned from = queue[next];
    auto explain = [&](int node, unsigned value) {
      if (node == noIndex)
        return;
      ReportNode &entry = report.nodes[node];
      if (!entry.isFree || isExplained(node) ||
          entry.state != report.nodes[from].state ||
          !hasPrecision(value, entry.state))
        return;
      entry.causeValue = value;
      entry.causeNode = from;
      queue.push_back(node);
    };
    for (int operand : report.nodes[from].operands)
      if (int value = report.skipCasts(operand); value != noIndex)
        explain(report.values[value].source, value);
    for (unsigned result : report.nodes[from].results)
      for (unsigned user : report.values[result].users)
        explain(user, result);
  }
}

/// Gives a cast the scope of its first user, instead of a scope of its own.
void Collector::placeCasts() {
  for (ReportNode &node : llvm::reverse(report.nodes)) {
    if (!node.isInsertedCast || node.results.empty())
      continue;
    const ReportValue &value = report.values[node.results.front()];
    int user = value.users.empty() ? noIndex : int(value.users.front());
    // A cast that only an output uses gets the scope of its source.
    if (user == noIndex && node.operands.front() != noIndex)
      user = report.values[node.operands.front()].source;
    if (user == noIndex)
      continue;
    node.scope = report.nodes[user].scope;
    node.phase = report.nodes[user].phase;
  }
}

void Collector::run() {
  lowType = getLowType(module);
  addScope("");
  for (Operation *scope : getScopes(module)) {
    SchemaCache schemas(scope);
    collectGraph(scope, schemas);
  }
  placeCasts();
  findOperandCauses();
  findOtherCauses();
}

PrecisionReport PrecisionReport::collect(ModuleOp module, DimensionSizes dims,
                                         bool withNodes) {
  PrecisionReport report;
  report.dims = std::move(dims);
  if (auto summary = module->getAttrOfType<DictionaryAttr>(mark::summary)) {
    auto number = [&](StringRef key) -> int64_t {
      auto value = summary.getAs<IntegerAttr>(key);
      return value ? value.getInt() : 0;
    };
    report.nodesLow = number("nodes_low");
    report.nodesF32 = number("nodes_f32");
    report.nodesOther = number("nodes_other");
    report.castsInserted = number("casts_inserted");
    report.elementsToZero = number("elements_to_zero");
    report.masksClamped = number("masks_clamped");
    report.castsRemoved = number("casts_removed");
    if (auto precision = summary.getAs<StringAttr>("precision"))
      report.precision = precision.str();
  }
  report.isMarked = getPolicy(module) != nullptr;
  report.errors = ErrorTotals::read(module);
  report.recurrentState = findRecurrentState(module);
  ValueSizes sizes = getSizes(module, report.dims);
  report.after = ModelSize::measure(module, sizes);
  if (Type low = getLowType(module))
    report.work = WorkSummary::measure(module, low, sizes);
  if (withNodes)
    Collector(module, report, sizes).run();
  return report;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

std::string ReportNode::getDisplayName() const {
  if (!name.empty() || !op->getNumResults())
    return name.str();
  return getValueName(op->getResult(0)).str();
}

StringRef PrecisionReport::getPrecision(const ReportNode &node) const {
  return node.state == ReportNode::Low   ? StringRef(precision)
         : node.state == ReportNode::F32 ? "f32"
                                         : "";
}

int PrecisionReport::getSource(const ReportValue &value) const {
  const ReportValue *at = &value;
  while (at->original != noIndex)
    at = &values[at->original];
  return at->source;
}

int PrecisionReport::skipCasts(int value) const {
  while (value != noIndex) {
    int source = values[value].source;
    if (source == noIndex || !nodes[source].isInsertedCast)
      break;
    value = nodes[source].operands.front();
  }
  return value;
}

uint64_t PrecisionReport::getMovedBytes(const ReportNode &cast) const {
  uint64_t moved = cast.bytes;
  for (int operand : cast.operands)
    if (operand != noIndex)
      moved = llvm::SaturatingAdd(moved, values[operand].size.bytes);
  return moved;
}

std::string PrecisionReport::getCastReason(const ReportNode &cast) const {
  return cast.results.empty() ? "" : describeCastUsers(cast.op);
}

} // namespace mp
