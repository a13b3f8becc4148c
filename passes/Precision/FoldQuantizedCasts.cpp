//===- FoldQuantizedCasts.cpp - Casts next to quantized values ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/QuantizedPairs.h"

namespace mp {
#define GEN_PASS_DEF_FOLDQUANTIZEDCASTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct FoldQuantizedCasts
    : public mp::impl::FoldQuantizedCastsBase<FoldQuantizedCasts> {
  using FoldQuantizedCastsBase::FoldQuantizedCastsBase;

  void runOnOperation() override;
};

class QuantizedCastFolder {
public:
  explicit QuantizedCastFolder(ModuleOp module)
      : names(module), half(ElementKind::Float16),
        brain(ElementKind::BFloat16) {}

  void fold(Operation *op);

private:
  Value getScale(Operation *op, Type elementType);
  void foldQuantizer(Operation *op);
  void foldDequantizer(Operation *op);
  bool foldConstant(Operation *op, ArrayRef<Operation *> casts);
  bool setResultType(Operation *op, Type elementType, Value scale);

  UniqueNames names;
  QuantizationScales half, brain;
  /// Scales in another type.
  llvm::DenseMap<std::pair<Operation *, Type>, Operation *> scales;
};

} // namespace

/// True if the schema in force lets the parameter be of the type.
static bool admitsType(const OpSchema *schema, const FormalParameter *formal,
                       Type elementType) {
  return schema && formal &&
         schema->typesOf(*formal).containsTensor(getElementKind(elementType));
}

/// The scale of a node as a constant of the type; null if the type does not
/// hold it.
Value QuantizedCastFolder::getScale(Operation *op, Type elementType) {
  Value scale = getQuantizationScale(op);
  if (!scale || getTensorElementType(scale.getType()) == elementType)
    return scale;
  Operation *constant = getFixedConstant(scale);
  QuantizationScales &rules = elementType.isBF16() ? brain : half;
  if (!constant || !isF32Tensor(scale.getType()) ||
      !rules.getObstacle(op).empty())
    return {};
  Operation *&made = scales[{constant, elementType}];
  if (made)
    return made->getResult(0);
  OpBuilder after(constant);
  after.setInsertionPointAfter(constant);
  Operation *copy = after.clone(*constant);
  if (!convertConstant(copy, elementType)) {
    copy->erase();
    return {};
  }
  std::string suffix = ("_" + getPrecisionName(elementType)).str();
  copy->removeAttr(mark::range);
  setValueName(copy->getResult(0),
               names.getValueName(onnxir::getValueName(scale) + suffix));
  if (copy->hasAttr(attr::name))
    copy->setAttr(attr::name, after.getStringAttr(names.getNodeName(
                                  onnxir::getNodeName(constant) + suffix)));
  made = copy;
  return copy->getResult(0);
}

/// QuantizeLinear reads the 16-bit value that a Cast widens for it.
void QuantizedCastFolder::foldQuantizer(Operation *op) {
  Operation *cast = op->getOperand(0).getDefiningOp();
  if (!cast || !isStandardOp(cast, "Cast") ||
      !isF32Tensor(op->getOperand(0).getType()) ||
      !is16BitTensor(cast->getOperand(0).getType()))
    return;
  Value data = cast->getOperand(0);
  Type elementType = getTensorElementType(data.getType());
  const OpSchema *schema = getSchema(op);
  Value scale = getScale(op, elementType);
  if (!schema || !admitsType(schema, schema->getInput(0), elementType) ||
      (!scale && sharesScaleType(op)))
    return;
  op->setOperand(0, data);
  if (scale)
    op->setOperand(1, scale);
  if (cast->use_empty())
    cast->erase();
}

/// Replaces Casts of a dequantized int32 constant by a constant.
bool QuantizedCastFolder::foldConstant(Operation *op,
                                       ArrayRef<Operation *> casts) {
  Type elementType =
      getTensorElementType(casts.front()->getResult(0).getType());
  auto results = dequantizeInt32(op);
  LowLimits limits(getElementKind(elementType));
  bool fits = results && llvm::all_of(*results, [&](float result) {
                return std::fabs(result) < limits.overflow;
              });
  Value constant = fits ? createDequantized(op, names) : Value();
  if (!constant || !convertConstant(constant.getDefiningOp(), elementType))
    return false;
  for (Operation *cast : casts) {
    cast->getResult(0).replaceAllUsesWith(constant);
    cast->erase();
  }
  if (op->use_empty())
    op->erase();
  return true;
}

/// Gives the result of a DequantizeLinear a type, by the scale or by name.
bool QuantizedCastFolder::setResultType(Operation *op, Type elementType,
                                        Value scale) {
  if (scale) {
    op->setOperand(1, scale);
    op->removeAttr("output_dtype");
  } else if (!sharesScaleType(op)) {
    op->setAttr("output_dtype",
                Builder(op->getContext())
                    .getI64IntegerAttr(int64_t(getElementKind(elementType))));
  } else {
    return false;
  }
  Value result = op->getResult(0);
  result.setType(withElementType(result.getType(), elementType));
  return true;
}

/// DequantizeLinear yields the 16-bit values that Casts make of its results.
void QuantizedCastFolder::foldDequantizer(Operation *op) {
  Value result = op->getResult(0);
  const OpSchema *schema = getSchema(op);
  if (!isF32Tensor(result.getType()) || !schema)
    return;
  SmallVector<Operation *> casts;
  for (Operation *user : result.getUsers())
    if (isStandardOp(user, "Cast") && !isInsertedCast(user) &&
        is16BitTensor(user->getResult(0).getType()) &&
        (casts.empty() ||
         user->getResult(0).getType() == casts.front()->getResult(0).getType()))
      casts.push_back(user);
  bool isYielded = llvm::any_of(casts, [](Operation *cast) {
    return llvm::any_of(cast->getUsers(),
                        [](Operation *user) { return isa<YieldOp>(user); });
  });
  // The name of an output stays with its Cast.
  if (casts.empty() || isYielded)
    return;
  if (readsInt32(op)) {
    foldConstant(op, casts);
    return;
  }
  Type elementType =
      getTensorElementType(casts.front()->getResult(0).getType());
  Value scale = getScale(op, elementType);
  if (!admitsType(schema, schema->getOutput(0), elementType) ||
      (!scale && sharesScaleType(op)))
    return;
  bool isShared = size_t(std::distance(result.use_begin(), result.use_end())) !=
                  casts.size();
  Operation *narrow = isShared ? copyInType(op, elementType, names) : op;
  if (!setResultType(narrow, elementType, scale))
    return;
  for (Operation *cast : casts) {
    cast->getResult(0).replaceAllUsesWith(narrow->getResult(0));
    cast->erase();
  }
}

void QuantizedCastFolder::fold(Operation *op) {
  if (isQuantizer(op))
    foldQuantizer(op);
  else
    foldDequantizer(op);
}

void FoldQuantizedCasts::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (isQuantizer(op) || isDequantizer(op))
      found.push_back(op);
  });
  if (found.empty() || keepQuantized)
    return;
  QuantizedCastFolder folder(module);
  for (Operation *op : found)
    if (!hasClass(op, OpClass::Deny))
      folder.fold(op);
}
