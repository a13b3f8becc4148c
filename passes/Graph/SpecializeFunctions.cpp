//===- SpecializeFunctions.cpp - Give every call a typed clone ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scopes are walked node by node, and types propagate from operands to results.
// A call opens a new scope, the clone of its callee. That scope is walked to
// its end before the walk of the caller continues. The stack of open scopes is
// explicit, since calls may nest arbitrarily deep.
//
// One clone per call is exponential in the worst case. If all clones below a
// call fit into the rest of the limit, the call gets its own clone; otherwise
// it shares one with all calls of the same signature.
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/InferredTypes.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"
#include "mp-opt/Target/ONNX/NodeTypes.h"

namespace mp {
#define GEN_PASS_DEF_SPECIALIZEFUNCTIONS
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct SpecializeFunctions
    : public mp::impl::SpecializeFunctionsBase<SpecializeFunctions> {
  using SpecializeFunctionsBase::SpecializeFunctionsBase;

  void runOnOperation() override;
};

/// A step of a walk: a node, or the beginning of a node that has subgraphs.
struct Event {
  Operation *op;
  bool isBegin;
};

/// An open scope: a graph, or the clone of `function` for `call`.
struct Scope {
  Operation *op;
  CustomOp call;
  FunctionOp function;
  std::string signature;
  AttributeValues attributes;
  std::vector<Event> events;
  size_t next = 0;
  /// The clones of this scope and of the calls in it begin here.
  size_t firstClone = 0;
};

struct Clone {
  FunctionOp op, original;
  /// The signature of the calls that share it; empty for a clone of one call.
  std::string signature;
};

/// The knowledge about all calls with one signature.
struct Signature {
  /// The clone that they share, or null.
  FunctionOp clone;
  /// The reason why these calls get no clone; empty if they can.
  std::string obstacle;
  /// The result types of the calls, if nothing in them is to be decided.
  std::optional<SmallVector<Type>> results;
};

class Specializer {
public:
  Specializer(ModuleOp module, const FunctionTable &functions,
              const FunctionSizes &sizes, uint64_t limit)
      : table(functions), sizes(sizes), limit(limit),
        handler(module.getContext(),
                [this](Diagnostic &diagnostic) { return listen(diagnostic); }) {
  }

  void run(GraphOp graph);

private:
  LogicalResult listen(Diagnostic &diagnostic);
  void visit(const Event &event);
  void visitCall(CustomOp call);
  void open(CustomOp call, FunctionOp function, const AttributeValues &values,
            const std::string &signature, bool isShared);
  void close();
  void abandon(const std::string &obstacle, bool isKept = true);
  FunctionOp createClone(FunctionOp function);
  void eraseClones(size_t first);
  std::string setResultTypes(CustomOp call, TypeRange results);

  FunctionTable table;
  const FunctionSizes &sizes;
  uint64_t limit;
  /// Nodes in clones for one call, and in shared ones.
  uint64_t ownNodes = 0, sharedNodes = 0;
  NodeTypes types;
  std::vector<Scope> scopes;
  std::vector<Clone> clones;
  llvm::StringMap<Signature> signatures;
  /// For each function, the op after which its next clone is inserted, and the
  /// number of its clones.
  llvm::DenseMap<Operation *, std::pair<Operation *, unsigned>> places;
  /// The types inferred in the main graph.
  InferredTypes inferred;
  /// The verifier's message about new types of a node, which is not an error of
  /// the model.
  std::string complaint;
  ScopedDiagnosticHandler handler;
};

} // namespace

/// Nodes in the order of the walk; nodes with subgraphs occur twice.
static std::vector<Event> collectEvents(Operation *scope) {
  std::vector<Event> events;
  scope->walk([&](Operation *op, const WalkStage &stage) {
    if (!isNode(op))
      return;
    if (stage.isAfterAllRegions())
      events.push_back({op, false});
    else if (stage.isBeforeAllRegions())
      events.push_back({op, true});
  });
  return events;
}

static bool isKnown(Type type) { return !isa<UnknownType, NoneType>(type); }

static void emitRemark(CustomOp call, StringRef obstacle) {
  emitPrecisionRemark(call, RemarkOutcome::Missed, "f32",
                      ("function call: " + obstacle).str());
}

//===----------------------------------------------------------------------===//
// Clones
//===----------------------------------------------------------------------===//

FunctionOp Specializer::createClone(FunctionOp function) {
  auto it = places.try_emplace(function, function, 0).first;
  auto &[place, number] = it->second;
  auto clone = cast<FunctionOp>(function->clone());
  clone->setAttr(mark::specialized, function.getNameAttr());
  do
    clone.setName((function.getName() + "_" + Twine(++number)).str());
  while (!table.insert(clone));
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfter(place);
  builder.insert(clone);
  importModelOpsets(clone, clone->getParentOfType<ModuleOp>());
  place = clone;
  return clone;
}

void Specializer::eraseClones(size_t first) {
  for (; clones.size() > first; clones.pop_back()) {
    Clone &clone = clones.back();
    table.erase(clone.op);
    if (!clone.signature.empty())
      signatures.erase(clone.signature);
    Operation *&place = places.find(clone.original)->second.first;
    if (place == clone.op)
      place = place->getPrevNode();
    clone.op->erase();
  }
}

/// Sets the types of a call's results, or returns why they are impossible.
std::string Specializer::setResultTypes(CustomOp call, TypeRange results) {
  for (auto [index, result] : llvm::enumerate(call.getResults()))
    if (isKnown(result.getType()) && isKnown(results[index]) &&
        withoutShape(result.getType()) != withoutShape(results[index])) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "result #" << index << " is " << result.getType()
          << ", but the function yields " << results[index];
      return text;
    }
  for (auto [index, result] : llvm::enumerate(call.getResults()))
    result.setType(NodeTypes::refine(result.getType(), results[index]));
  inferred.note(call);
  return "";
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The reason why a call cannot be specialized in any form; empty if it can.
static StringRef getObstacle(CustomOp call, FunctionOp function,
                             const FunctionSizes &sizes) {
  YieldOp yield = getYield(function.getBody());
  if (sizes.lookup(function).isRecursive)
    return "the function calls itself";
  if (call->getNumRegions())
    return "it has subgraphs";
  if (call->getNumOperands() > function.getBody().getNumArguments())
    return "it has more inputs than the function";
  if (!yield || call->getNumResults() > yield->getNumOperands())
    return "it has more outputs than the function";
  return {};
}

/// The signature is equal for calls whose clones have values of the same types.
static std::string getSignature(CustomOp call, FunctionOp function,
                                const AttributeValues &values) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << function.getOperation();
  for (Type type : call->getOperandTypes())
    os << ' ' << withoutShape(type).getAsOpaquePointer();
  SmallVector<StringRef> names(values.keys());
  llvm::sort(names);
  for (StringRef name : names)
    os << ' ' << name.size() << ' ' << name << ' '
       << values.lookup(name).getAsOpaquePointer();
  return text;
}

void Specializer::visitCall(CustomOp call) {
  FunctionOp function = table.lookup(call);
  if (call->hasAttr(mark::callee))
    return;
  if (StringRef obstacle = getObstacle(call, function, sizes);
      !obstacle.empty())
    return emitRemark(call, obstacle);
  AttributeValues values =
      NodeTypes::getValues(function, call, scopes.back().attributes);
  std::string signature = getSignature(call, function, values);
  Signature known = signatures.lookup(signature);
  FunctionSizes::Size size = sizes.lookup(function);
  bool isOpen = known.obstacle.empty() && (known.clone || !known.results);
  if (isOpen && ownNodes + size.expanded <= limit)
    return open(call, function, values, signature, /*isShared=*/false);
  if (known.obstacle.empty() && known.results)
    known.obstacle = setResultTypes(call, *known.results);
  if (!known.obstacle.empty())
    return emitRemark(call, known.obstacle);
  if (known.clone)
    call->setAttr(mark::callee, known.clone.getNameAttr());
  if (known.results)
    return;
  if (sharedNodes + size.own <= limit)
    return open(call, function, values, signature, /*isShared=*/true);
  emitRemark(call, "the limit of nodes in functions is reached");
}

void Specializer::open(CustomOp call, FunctionOp function,
                       const AttributeValues &values,
                       const std::string &signature, bool isShared) {
  FunctionOp clone = createClone(function);
  (isShared ? sharedNodes : ownNodes) += sizes.lookup(function).own;
  scopes.push_back({clone, call, function, signature, values,
                    collectEvents(clone), 0, clones.size()});
  clones.push_back({clone, function, isShared ? signature : ""});
  for (BlockArgument argument : clone.getBody().getArguments()) {
    unsigned index = argument.getArgNumber();
    Type type = index < call->getNumOperands()
                    ? call->getOperand(index).getType()
                    : NoneType::get(call->getContext());
    if (isShared)
      type = withoutShape(type);
    if (isKnown(argument.getType()) && isKnown(type) &&
        withoutShape(argument.getType()) != withoutShape(type))
      return abandon("input #" + std::to_string(index) +
                     " has another type in the function");
    if (!isa<UnknownType>(type))
      argument.setType(type);
  }
}

/// True if the function has a value that could be in another float type, or
/// calls such a function.
static bool hasFloats(FunctionOp function) {
  auto isFloat = [](Type type) {
    return isF32Tensor(type) || is16BitTensor(type);
  };
  auto isContainer = [&](Type type) {
    return type
        .walk([&](Type inner) {
          return isFloat(inner) ? WalkResult::interrupt()
                                : WalkResult::advance();
        })
        .wasInterrupted();
  };
  return function
      ->walk([&](Operation *op) {
        bool found = op->hasAttr(mark::callee) ||
                     llvm::any_of(op->getResultTypes(), isContainer) ||
                     llvm::any_of(op->getOperandTypes(), isContainer);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void Specializer::close() {
  Scope &scope = scopes.back();
  if (!scope.call) {
    scopes.pop_back();
    return;
  }
  auto clone = cast<FunctionOp>(scope.op);
  TypeRange results = getYield(clone.getBody())->getOperandTypes();
  if (std::string obstacle = setResultTypes(scope.call, results);
      !obstacle.empty())
    return abandon(obstacle, /*isKept=*/false);
  Clone &entry = clones[scope.firstClone];
  bool isShared = !entry.signature.empty(), isUsed = hasFloats(clone);
  if (isShared || !isUsed) {
    SmallVector<Type> shapeless;
    for (Type type : results)
      shapeless.push_back(withoutShape(type));
    signatures[scope.signature] = {isUsed ? clone : FunctionOp(), "",
                                   shapeless};
  }
  if (isUsed) {
    scope.call->setAttr(mark::callee, clone.getNameAttr());
  } else {
    entry.signature.clear();
    eraseClones(scope.firstClone);
  }
  scopes.pop_back();
}

/// Abandons the innermost scope: its call keeps the original function and, if
/// `isKept`, so do all others with its signature.
void Specializer::abandon(const std::string &obstacle, bool isKept) {
  Scope &scope = scopes.back();
  emitRemark(scope.call, obstacle);
  eraseClones(scope.firstClone);
  if (isKept)
    signatures[scope.signature].obstacle = obstacle;
  scopes.pop_back();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult Specializer::listen(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return failure();
  complaint = diagnostic.str();
  return success();
}

void Specializer::visit(const Event &event) {
  Operation *op = event.op;
  bool isClone = scopes.size() > 1;
  bool isCall = !event.isBegin && table.lookup(op);
  if (!isClone) {
    if (!isCall && !inferred.reach(op))
      return;
    inferred.keep(op);
  }
  if (isCall)
    return visitCall(cast<CustomOp>(op));
  if (event.isBegin)
    types.inferSubgraphInputs(op);
  else
    types.inferResults(op, scopes.back().attributes);
  if (!isClone)
    inferred.note(op);
  else if (!event.isBegin && failed(op->getName().verifyInvariants(op)))
    abandon(complaint);
}

void Specializer::run(GraphOp graph) {
  scopes.push_back({graph, {}, {}, "", {}, collectEvents(graph)});
  while (!scopes.empty()) {
    Scope &scope = scopes.back();
    if (scope.next == scope.events.size())
      close();
    else
      visit(scope.events[scope.next++]);
  }
}

void SpecializeFunctions::runOnOperation() {
  ModuleOp module = getOperation();
  if (module.getOps<FunctionOp>().empty())
    return;
  FunctionTable table(module);
  FunctionSizes sizes(module, table);
  uint64_t most = limit;
  if (!most) {
    uint64_t nodes = 0;
    module.walk([&](Operation *op) { nodes += isNode(op); });
    most = std::max<uint64_t>(20000, 2 * nodes);
  }
  Specializer specializer(module, table, sizes, most);
  for (auto graph : module.getOps<GraphOp>())
    specializer.run(graph);
}
