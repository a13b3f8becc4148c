//===- InsertCasts.cpp - Give values the assigned types -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First, all operands that need 16 bit are collected, while every node still
// has the types that it was decided by. Then results are retyped, and each use
// that needs another type than its value has gets the single cast of that
// value. Values of DequantizeLinear are not cast, but dequantized twice; those
// of int32 constants, which are biases, become constants.
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/QuantizedPairs.h"
#include "mp-opt/Precision/Assignment/FloatTypeVariables.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"

#include "llvm/ADT/MapVector.h"

namespace mp {
#define GEN_PASS_DEF_INSERTCASTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct InsertCasts : public mp::impl::InsertCastsBase<InsertCasts> {
  void runOnOperation() override;
};

class CastInserter {
public:
  CastInserter(ModuleOp module, Type lowType)
      : module(module), lowType(lowType), builder(module), functions(module),
        scales(getElementKind(lowType)) {}

  void run();
  int64_t getCount() const { return count; }

private:
  void collect(Operation *op, SchemaCache &schemas);
  void stateType(Operation *op, const FloatTypeVariable &variable,
                 const OpSchema *schema);
  void foldInt32(Operation *scope);
  Value getCast(Value value, Type elementType);
  Value dequantizeAgain(Operation *dequantizer);
  bool wantsLowScale(Operation *op);
  void stateOutputType(Operation *dequantizer);
  void setScaleType(Operation *op);
  void takeOverName(Value value, OpResult cast);
  void renameSources();

  ModuleOp module;
  Type lowType;
  CastBuilder builder;
  FunctionTable functions;
  QuantizationScales scales;
  /// Operands that need 16 bit, and values that become it, in order.
  SmallVector<OpOperand *> lowOperands;
  SmallVector<Value> lowValues;
  llvm::DenseSet<OpOperand *> wanted;
  llvm::DenseMap<std::pair<Value, Type>, Value> casts;
  /// The number of entries of `casts` that are casts.
  int64_t count = 0;
  /// New names of results, by their ops: set together at the end, since an op
  /// keeps the names of all its results in one list.
  llvm::MapVector<Operation *, SmallVector<std::pair<unsigned, StringRef>, 1>>
      newNames;
};

} // namespace

/// Sets the attribute that states the type of a result. A result that becomes
/// 16 bit states that. If a missing attribute means the operand's type, which
/// is about to change, the old type is stated.
void CastInserter::stateType(Operation *op, const FloatTypeVariable &variable,
                             const OpSchema *schema) {
  if (!schema || !schema->getAttribute("dtype") || op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  Type element = getFloatElement(result.getType());
  bool isWritten = llvm::is_contained(variable.writes, result);
  if (!element || (isWritten ? !variable.reads.empty() : op->hasAttr("dtype")))
    return;
  ElementKind kind = getElementKind(isWritten ? lowType : element);
  op->setAttr("dtype",
              Builder(op->getContext()).getI64IntegerAttr(int64_t(kind)));
}

void CastInserter::collect(Operation *op, SchemaCache &schemas) {
  if (!getPrecision(op))
    return;
  const OpSchema *schema = schemas.lookup(op).schema;
  FloatTypeVariables variables = getFloatTypeVariables(op, schema, functions);
  for (auto [index, variable] : llvm::enumerate(variables)) {
    if (getAssignedType(op, index) != lowType ||
        variable.kind != ElementKind::Float)
      continue;
    lowOperands.append(variable.reads.begin(), variable.reads.end());
    lowOperands.append(variable.yields.begin(), variable.yields.end());
    lowValues.append(variable.writes.begin(), variable.writes.end());
    stateType(op, variable, schema);
    if (isQuantizer(op) || isDequantizer(op))
      setScaleType(op);
  }
}

Value CastInserter::getCast(Value value, Type elementType) {
  Value &cast = casts[{value, elementType}];
  if (cast)
    return cast;
  Operation *source = value.getDefiningOp();
  if (elementType == lowType && isDequantized(value) &&
      !hasClass(source, OpClass::Deny)) {
    Value again = dequantizeAgain(source);
    takeOverName(value, mlir::cast<OpResult>(again));
    return casts[{value, elementType}] = again;
  }
  OpResult result = builder.create(value, elementType);
  takeOverName(value, result);
  ++count;
  return cast = result;
}

//===----------------------------------------------------------------------===//
// DequantizeLinear
//===----------------------------------------------------------------------===//

/// Replaces int32 constants of which only 16-bit values are wanted by these.
void CastInserter::foldInt32(Operation *scope) {
  SmallVector<Operation *> found;
  scope->walk([&](Operation *op) {
    if (isDequantizer(op) && readsInt32(op) &&
        getAssignedType(op, 0) == lowType)
      found.push_back(op);
  });
  for (Operation *op : found) {
    Value constant = createDequantized(op, builder.getNames());
    if (!constant)
      continue;
    // An output keeps its name.
    std::string name = onnxir::getValueName(op->getResult(0)).str();
    bool isYielded = llvm::any_of(op->getUsers(), llvm::IsaPred<YieldOp>);
    op->getResult(0).replaceAllUsesWith(constant);
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    if (isYielded)
      setValueName(mlir::cast<OpResult>(constant), name);
    for (Value operand : operands)
      if (Operation *source = operand.getDefiningOp();
          source && isConstant(source) && source->use_empty())
        source->erase();
  }
}

/// The 16-bit form of a value that is dequantized in fp32, and perhaps moved:
/// second nodes.
Value CastInserter::dequantizeAgain(Operation *node) {
  if (Value constant = createDequantized(node, builder.getNames()))
    return getCast(constant, lowType);
  Operation *again = copyInType(node, lowType, builder.getNames());
  auto reason = StringAttr::get(again->getContext(),
                                "a second node for its 16-bit users");
  again->setAttr(mark::precision,
                 PrecisionAttr::get(again->getContext(), lowType, reason));
  if (!isDequantizer(again))
    again->setOperand(0, getCast(again->getOperand(0), lowType));
  else if (wantsLowScale(again))
    again->setOperand(1, getCast(getQuantizationScale(again), lowType));
  else
    stateOutputType(again);
  return again->getResult(0);
}

/// True if the scale of a 16-bit pair node is to be 16 bit, too. From opset 23
/// on, that is a choice: it is if the type holds it, which is known for
/// constants, or if it is dequantized in that type.
bool CastInserter::wantsLowScale(Operation *op) {
  if (sharesScaleType(op))
    return true;
  Value scale = getQuantizationScale(op);
  if (scale && isDequantizer(scale.getDefiningOp()))
    return getPrecisionType(scale.getDefiningOp()) == lowType;
  Operation *constant = scale ? getFixedConstant(scale) : nullptr;
  Type kept = constant ? getPrecisionType(constant) : Type();
  return constant && isF32Tensor(scale.getType()) && !(kept && kept.isF32()) &&
         scales.getObstacle(op).empty();
}

void CastInserter::stateOutputType(Operation *dequantizer) {
  dequantizer->setAttr(
      "output_dtype", Builder(dequantizer->getContext())
                          .getI64IntegerAttr(int64_t(getElementKind(lowType))));
}

/// Gives the scale of a pair node the type of the node's variable. From opset
/// 23 on the scale has a type variable of its own in the schema.
void CastInserter::setScaleType(Operation *op) {
  if (sharesScaleType(op))
    return;
  if (wantsLowScale(op)) {
    lowOperands.push_back(&op->getOpOperand(1));
    if (isDequantizer(op))
      op->removeAttr("output_dtype");
  } else if (isDequantizer(op)) {
    stateOutputType(op);
  }
}

/// A cast that becomes an output of a graph or a function takes over its name.
void CastInserter::takeOverName(Value value, OpResult cast) {
  auto source = dyn_cast<OpResult>(value);
  bool wantsLow = getTensorElementType(cast.getType()) == lowType;
  bool isYielded = llvm::any_of(value.getUses(), [&](OpOperand &use) {
    return isa<YieldOp>(use.getOwner()) &&
           isa<GraphOp, FunctionOp>(use.getOwner()->getParentOp()) &&
           wanted.contains(&use) == wantsLow;
  });
  if (!source || !isYielded)
    return;
  std::string name = onnxir::getValueName(value).str();
  StringRef type = getPrecisionName(getTensorElementType(value.getType()));
  newNames[source.getOwner()].emplace_back(
      source.getResultNumber(),
      builder.getNames().getValueName(name + "_" + type.str()));
  setValueName(cast, name);
}

void CastInserter::renameSources() {
  for (auto &[op, names] : newNames) {
    if (op->getNumResults() == 1) {
      setValueName(op->getResult(0), names.front().second);
      continue;
    }
    Builder attributes(op->getContext());
    auto list = llvm::map_to_vector(op->getResults(), [](OpResult result) {
      return onnxir::getValueName(result);
    });
    for (auto [index, name] : names)
      list[index] = name;
    op->setAttr(attr::results, attributes.getStrArrayAttr(list));
  }
}

void CastInserter::run() {
  for (Operation *scope : getScopes(module)) {
    foldInt32(scope);
    SchemaCache schemas(scope);
    scope->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { collect(op, schemas); });
  }
  InterfaceTypes interface(module);
  llvm::append_range(lowValues, interface.getInputsIn(lowType));
  llvm::append_range(lowOperands, interface.getOutputsIn(lowType));
  for (Value value : lowValues)
    if (holdsF32(value.getType()))
      value.setType(withFloatElement(value.getType(), lowType));
  wanted.reserve(lowOperands.size());
  wanted.insert(lowOperands.begin(), lowOperands.end());
  for (OpOperand *operand : lowOperands)
    if (isF32Tensor(operand->get().getType()))
      operand->set(getCast(operand->get(), lowType));
  for (Value value : lowValues)
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses()))
      if (!wanted.contains(&use) && !isInsertedCast(use.getOwner()) &&
          is16BitTensor(value.getType()))
        use.set(getCast(value, Float32Type::get(value.getContext())));
  renameSources();
}

void InsertCasts::runOnOperation() {
  ModuleOp module = getOperation();
  Type low = getLowType(module);
  if (!low)
    return;
  CastInserter inserter(module, low);
  inserter.run();
  addToCounter(module, mark::castsInserted, inserter.getCount());
}
