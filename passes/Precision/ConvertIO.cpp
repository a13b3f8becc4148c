//===- ConvertIO.cpp - Cast what inputs and outputs still need ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"

#include "llvm/ADT/MapVector.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTIO
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct ConvertIO : public mp::impl::ConvertIOBase<ConvertIO> {
  void runOnOperation() override;
};

class InterfaceCaster {
public:
  InterfaceCaster(ModuleOp module, GraphOp graph)
      : graph(graph), wanted(module), casts(module) {}

  LogicalResult run();
  int64_t getCount() const { return count; }

private:
  LogicalResult check(Type type) const;
  void convertInput(BlockArgument argument, Type type);
  bool passCast(Operation *cast, BlockArgument argument);
  void convertOutput(OpOperand &output, Type type);
  void eraseUnused();

  GraphOp graph;
  InterfaceTypes wanted;
  CastBuilder casts;
  /// The values that outputs had, with their casts.
  llvm::MapVector<Value, Value> converted;
  int64_t count = 0;
};

} // namespace

/// True for a Cast whose result is an output: it must keep its name.
static bool isYielded(Value value) {
  return llvm::any_of(value.getUsers(), llvm::IsaPred<YieldOp>);
}

LogicalResult InterfaceCaster::check(Type type) const {
  GraphOp graph = this->graph;
  auto *dialect = graph.getContext()->getLoadedDialect<ONNXDialect>();
  const OpFamily *family = dialect->getSchemas().lookup("", "Cast");
  int64_t opset = getOpset(graph, "").value_or(1);
  const OpSchema *schema = family->at(int(opset));
  ElementKind kind = getElementKind(type);
  if (schema && schema->typesOf(schema->outputs[0]).containsTensor(kind))
    return success();
  return graph.emitError() << "inputs and outputs in " << getPrecisionName(type)
                           << " need a Cast that opset " << opset
                           << " does not have, expected opset 13 or later "
                              "(mp-opt raises it unless --raise-opset=false)";
}

/// A Cast of the input reads the new type as well: it gives the same elements,
/// or elements that are rounded once less. Returns false for all other users.
bool InterfaceCaster::passCast(Operation *cast, BlockArgument argument) {
  if (!isStandardOp(cast, "Cast"))
    return false;
  // The type that the Cast was decided to read is gone.
  cast->removeAttr(mark::precision);
  OpResult result = cast->getResult(0);
  if (result.getType() != argument.getType() || isYielded(result))
    return true;
  result.replaceAllUsesWith(argument);
  cast->erase();
  return true;
}

void InterfaceCaster::convertInput(BlockArgument argument, Type type) {
  Type before = getTensorElementType(argument.getType());
  argument.setType(withElementType(argument.getType(), type));
  Value cast;
  for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
    Operation *user = use.getOwner();
    // An output that is this input has its type.
    bool isOutput = isa<YieldOp>(user) && user->getParentOp() == graph;
    if (isOutput || passCast(user, argument))
      continue;
    if (!cast) {
      cast = casts.create(argument, before);
      ++count;
    }
    use.set(cast);
  }
}

/// The 16-bit value that a Cast has widened; null for all other values.
static Value getNarrowSource(Value value) {
  Operation *cast = value.getDefiningOp();
  bool widens = cast && isStandardOp(cast, "Cast") &&
                is16BitTensor(cast->getOperand(0).getType()) &&
                isF32Tensor(value.getType());
  return widens ? cast->getOperand(0) : Value();
}

void InterfaceCaster::convertOutput(OpOperand &output, Type type) {
  Value value = output.get();
  if (Value known = converted.lookup(value))
    return output.set(known);
  auto old = mlir::cast<OpResult>(value);
  std::string name = onnxir::getValueName(value).str();
  StringRef before = getPrecisionName(getTensorElementType(value.getType()));
  Value source = getNarrowSource(value);
  OpResult made = casts.create(source ? source : value, type);
  converted[value] = made;
  ++count;
  output.set(made);
  setValueName(old, casts.getNames().getValueName(name + "_" + before.str()));
  setValueName(made, name);
}

/// Casts that only outputs read have no users now.
void InterfaceCaster::eraseUnused() {
  for (auto [value, cast] : converted) {
    Operation *old = value.getDefiningOp();
    if (!isInsertedCast(old) || !value.use_empty())
      continue;
    old->erase();
    --count;
  }
}

LogicalResult InterfaceCaster::run() {
  YieldOp yield = getYield(graph.getBody());
  for (Type type : wanted.getTypes())
    if (failed(check(type)))
      return failure();
  for (BlockArgument argument : graph.getBody().getArguments())
    if (Type type = wanted.getInput(argument.getArgNumber());
        type && type != getTensorElementType(argument.getType()))
      convertInput(argument, type);
  for (OpOperand &output : yield->getOpOperands())
    if (Type type = wanted.getOutput(output.getOperandNumber());
        type && type != getTensorElementType(output.get().getType()))
      convertOutput(output, type);
  eraseUnused();
  return success();
}

void ConvertIO::runOnOperation() {
  ModuleOp module = getOperation();
  GraphOp graph = getMainGraph(module);
  if (!graph || !getYield(graph.getBody()))
    return;
  if (!InterfaceTypes(module).empty()) {
    InterfaceCaster caster(module, graph);
    if (failed(caster.run()))
      return signalPassFailure();
    addToCounter(module, mark::castsInserted, caster.getCount());
  }
  if (!getPolicy(module))
    stripMarks(module);
}
