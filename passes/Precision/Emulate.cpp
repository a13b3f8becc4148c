//===- Emulate.cpp - 16-bit values as rounded fp32 values -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are visited in order: every operand becomes fp32 before its users are
// visited. Values that must keep their 16-bit type - outputs of the graph,
// operands of custom ops - are recorded first and cast at the end.
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

namespace mp {
#define GEN_PASS_DEF_EMULATE
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct Emulate : public mp::impl::EmulateBase<Emulate> {
  void runOnOperation() override;
};

class Emulator {
public:
  /// `scope` is the main graph or a specialized function.
  Emulator(Operation *scope, CastBuilder &builder)
      : scope(scope), builder(builder),
        f32(Float32Type::get(scope->getContext())) {}

  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult visitInputs();
  void visit(Operation *op);
  void visitConstant(Operation *op);
  void visitCast(Operation *op);
  void round(OpResult value, std::string &exactName);
  void roundResults(Operation *op);
  void widenUses(Value value);
  void restoreBoundary();
  OpResult createCast(Value value, Type elementType, StringRef name = "");
  void patchAttributes(Operation *op);

  Operation *scope;
  CastBuilder &builder;
  Type f32;
  std::vector<Operation *> nodes;
  /// Uses that keep the 16-bit type they have in the source.
  std::vector<std::pair<OpOperand *, Type>> boundary;
  llvm::DenseMap<std::pair<Value, Type>, Value> boundaryCasts;
  llvm::DenseSet<OpOperand *> isBoundary;
};

} // namespace

/// `type` with fp32 in place of a 16-bit element type, also inside sequences
/// and optionals.
static Type widenType(Type type, Type f32) {
  if (is16BitTensor(type))
    return withElementType(type, f32);
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(type.getContext(),
                             widenType(sequence.getElementType(), f32));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(type.getContext(),
                             widenType(optional.getElementType(), f32));
  return type;
}

OpResult Emulator::createCast(Value value, Type elementType, StringRef name) {
  OpResult result = builder.create(value, elementType);
  result.getOwner()->removeAttr(mark::inserted);
  if (!name.empty())
    setValueName(result, name);
  return result;
}

LogicalResult Emulator::collect() {
  // Only outputs of the main graph keep their types: callers of a function know
  // that it is emulated.
  Operation *yield =
      isa<GraphOp>(scope) ? getYield(scope->getRegion(0)) : YieldOp();
  auto note = [&](Operation *op) -> LogicalResult {
    for (OpOperand &operand : op->getOpOperands()) {
      Type type = operand.get().getType();
      if (is16BitTensor(type)) {
        boundary.emplace_back(&operand, getTensorElementType(type));
        isBoundary.insert(&operand);
      } else if (widenType(type, f32) != type) {
        return op->emitError()
               << describe(op) << ": operand #" << operand.getOperandNumber()
               << " of type " << type << " cannot be emulated";
      }
    }
    return success();
  };
  WalkResult result = scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op) || isa<InitializerOp>(op))
      nodes.push_back(op);
    bool keepsTypes = isa<CustomOp>(op) && !op->hasAttr(mark::callee);
    if ((keepsTypes || op == yield) && failed(note(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Adds a cast back to fp32 after a value that keeps its 16-bit type.
void Emulator::widenUses(Value value) {
  OpResult wide = createCast(value, f32);
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
    if (use.getOwner() != wide.getOwner() && !isBoundary.contains(&use))
      use.set(wide);
  if (wide.use_empty())
    wide.getOwner()->erase();
}

void Emulator::visitConstant(Operation *op) {
  Value value = op->getResult(0);
  bool isYielded = llvm::any_of(value.getUses(), [&](OpOperand &use) {
    return isBoundary.contains(&use);
  });
  if (isYielded || !convertConstant(op, f32))
    widenUses(value);
}

void Emulator::visitCast(Operation *op) {
  OpResult result = op->getResult(0);
  if (is16BitTensor(result.getType()))
    return widenUses(result);
  // The operand was 16 bit, and is fp32 with the same value now.
  if (op->getOperand(0).getType() != result.getType() ||
      !isF32Tensor(result.getType()))
    return;
  bool isYielded = llvm::any_of(
      result.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
  if (isYielded)
    return;
  result.replaceAllUsesWith(op->getOperand(0));
  op->erase();
}

/// Changes types in attributes, which the element types of values do not cover.
void Emulator::patchAttributes(Operation *op) {
  // Cast-1 spells its type.
  if (auto to = op->getAttrOfType<StringAttr>("to");
      to && to.getValue() == "FLOAT16" && isStandardOp(op, "Cast"))
    op->setAttr("to", StringAttr::get(op->getContext(), "FLOAT"));
  for (StringRef name :
       {"dtype", "output_datatype", "output_dtype", "output_type", "to"}) {
    auto kind = op->getAttrOfType<IntegerAttr>(name);
    if (kind && (kind.getInt() == int64_t(ElementKind::Float16) ||
                 kind.getInt() == int64_t(ElementKind::BFloat16)))
      op->setAttr(
          name, IntegerAttr::get(kind.getType(), int64_t(ElementKind::Float)));
  }
}

/// Turns a 16-bit result into an fp32 result and rounds it. The rounded value
/// takes over its name; `exactName` is set to the new name of the result
/// itself.
void Emulator::round(OpResult value, std::string &exactName) {
  Type low = getTensorElementType(value.getType());
  std::string name = exactName;
  UniqueNames &names = builder.getNames();
  bool isOutput = llvm::any_of(value.getUses(), [&](OpOperand &use) {
    return isBoundary.contains(&use) && isa<YieldOp>(use.getOwner());
  });
  std::string lowName = getPrecisionName(low).str();
  exactName = names.getValueName(name + "_exact");
  value.setType(withElementType(value.getType(), f32));
  OpResult narrow = createCast(
      value, low, isOutput ? name : names.getValueName(name + "_" + lowName));
  OpResult wide = createCast(
      narrow, f32, isOutput ? names.getValueName(name + "_f32") : name);
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
    if (use.getOwner() != narrow.getOwner())
      use.set(isBoundary.contains(&use) ? narrow : wide);
  if (wide.use_empty())
    wide.getOwner()->erase();
}

/// Rounds all 16-bit results; their names are changed together, since there may
/// be many.
void Emulator::roundResults(Operation *op) {
  std::vector<std::string> names;
  for (OpResult result : op->getResults()) {
    names.push_back(onnxir::getValueName(result).str());
    if (is16BitTensor(result.getType()))
      round(result, names.back());
  }
  Builder attributes(op->getContext());
  op->setAttr(attr::results,
              attributes.getStrArrayAttr(llvm::to_vector_of<StringRef>(names)));
}

void Emulator::visit(Operation *op) {
  if (isConstant(op)) {
    if (is16BitTensor(op->getResult(0).getType()) &&
        !(isa<InitializerOp>(op) && cast<InitializerOp>(op).getOverridable()))
      visitConstant(op);
    return;
  }
  // An op whose domain is not imported has not been verified.
  if (isStandardOp(op, "Cast") && op->getNumOperands() == 1 &&
      op->getNumResults() == 1)
    return visitCast(op);
  // Ops without a schema or function keep their types.
  if (isa<CustomOp>(op) && !op->hasAttr(mark::callee)) {
    for (OpResult result : op->getResults())
      if (is16BitTensor(result.getType()))
        widenUses(result);
    return;
  }
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      argument.setType(widenType(argument.getType(), f32));
  bool is16Bit = llvm::any_of(op->getResultTypes(), [&](Type type) {
    return widenType(type, f32) != type;
  });
  if (!is16Bit)
    return;
  // The results of control flow and functions were rounded inside them.
  if (!op->getNumRegions() && !isa<CustomOp>(op))
    roundResults(op);
  for (OpResult result : op->getResults())
    result.setType(widenType(result.getType(), f32));
  patchAttributes(op);
}

void Emulator::restoreBoundary() {
  for (auto [operand, type] : boundary) {
    Value value = operand->get();
    if (getTensorElementType(value.getType()) == type)
      continue;
    Value &cast = boundaryCasts[{value, type}];
    if (!cast) {
      OpResult result = createCast(value, type);
      // The graph's output keeps its name.
      auto source = dyn_cast<OpResult>(value);
      if (source && isa<YieldOp>(operand->getOwner())) {
        std::string name = onnxir::getValueName(value).str();
        setValueName(source, builder.getNames().getValueName(name + "_f32"));
        setValueName(result, name);
      }
      cast = result;
    }
    operand->set(cast);
  }
}

LogicalResult Emulator::visitInputs() {
  for (BlockArgument argument : scope->getRegion(0).getArguments()) {
    Type wide = widenType(argument.getType(), f32);
    if (isa<FunctionOp>(scope))
      argument.setType(wide);
    else if (is16BitTensor(argument.getType()))
      widenUses(argument);
    else if (wide != argument.getType())
      return scope->emitError()
             << "graph input '" << onnxir::getValueName(argument)
             << "' of type " << argument.getType() << " cannot be emulated";
  }
  return success();
}

LogicalResult Emulator::run() {
  if (failed(collect()) || failed(visitInputs()))
    return failure();
  for (Operation *node : nodes)
    visit(node);
  restoreBoundary();
  return success();
}

void Emulate::runOnOperation() {
  CastBuilder builder(getOperation());
  for (Operation *scope : getScopes(getOperation()))
    if (failed(Emulator(scope, builder).run()))
      return signalPassFailure();
}
