//===- ConvertToLLVM.cpp - Loops on buffers in LLVM's dialect -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mp-opt/Codegen/CPU/RuntimeToLLVM.h"
#include "mp-opt/Codegen/Common/Exponential.h"
#include "mp-opt/Codegen/Target/Target.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTTOLLVM
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

struct ConvertToLLVM : public mp::impl::ConvertToLLVMBase<ConvertToLLVM> {
  using ConvertToLLVMBase::ConvertToLLVMBase;

  void runOnOperation() override;

private:
  LogicalResult expand();
  LogicalResult convert();
};

} // namespace

/// Expands functions that have no form in LLVM, or a slow one.
LogicalResult ConvertToLLVM::expand() {
  RewritePatternSet patterns(&getContext());
  populateBFloat16Patterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorMaskMaterializationPatterns(
      patterns, /*force32BitVectorIndices=*/false);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  Target target = Target::get(getOperation());
  populateExponentialPattern(patterns, target.isa == InstructionSet::AVX512);
  // Polynomials are f32; sines are inaccurate for arguments beyond some
  // thousands.
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return name == math::LogOp::getOperationName() ||
           name == math::TanhOp::getOperationName() ||
           name == math::ErfOp::getOperationName() ||
           name == math::Log1pOp::getOperationName() ||
           name == math::ExpM1Op::getOperationName();
  });
  FrozenRewritePatternSet frozen(std::move(patterns));
  return failableParallelForEach(
      &getContext(), getOperation().getOps<func::FuncOp>(),
      [&](func::FuncOp function) {
        return applyPatternsGreedily(function, frozen);
      });
}

LogicalResult ConvertToLLVM::convert() {
  LowerToLLVMOptions options(&getContext());
  LLVMTypeConverter converter(&getContext(), options);
  RewritePatternSet patterns(&getContext());
  populateRuntimeToLLVMPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  SymbolTableCollection symbols;
  populateFuncToLLVMConversionPatterns(converter, patterns, &symbols);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  // LLVM's intrinsics are preferred, since they are vectorized and inlined;
  // calls of libm are the last resort.
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/false,
                                       /*benefit=*/2);
  populateMathToLibmConversionPatterns(patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(getContext());
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(getOperation(), target, std::move(patterns));
}

/// Marks the pointers that outlining knows to be exclusive: no other pointer
/// reaches their memory.
static void markExclusive(LLVM::LLVMFuncOp function) {
  auto positions = function->getAttrOfType<DenseI64ArrayAttr>(mark::exclusive);
  if (!positions)
    return;
  function->removeAttr(mark::exclusive);
  for (int64_t position : positions.asArrayRef())
    function.setArgAttr(position, LLVM::LLVMDialect::getNoAliasAttrName(),
                        UnitAttr::get(function.getContext()));
}

/// Moves bf16 lanes as integers. If the processor has no registers of the type,
/// LLVM would move them as f32, with conversions that are calls of functions
/// that libraries may lack.
static void moveAsIntegers(Operation *op) {
  if (!isa<LLVM::ExtractElementOp, LLVM::InsertElementOp, LLVM::MaskedLoadOp,
           LLVM::MaskedStoreOp, LLVM::ShuffleVectorOp, LLVM::masked_scatter>(
          op))
    return;
  OpBuilder b(op);
  auto getIntegers = [&](Type type) -> Type {
    if (!getElementTypeOrSelf(type).isBF16())
      return nullptr;
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(b.getI16Type());
    return b.getI16Type();
  };
  for (OpOperand &operand : op->getOpOperands())
    if (Type integers = getIntegers(operand.get().getType()))
      operand.set(
          LLVM::BitcastOp::create(b, op->getLoc(), integers, operand.get()));
  b.setInsertionPointAfter(op);
  for (OpResult result : op->getResults())
    if (Type integers = getIntegers(result.getType())) {
      Type floats = result.getType();
      result.setType(integers);
      auto back = LLVM::BitcastOp::create(b, op->getLoc(), floats, result);
      result.replaceAllUsesExcept(back, back);
    }
}

void ConvertToLLVM::runOnOperation() {
  if (failed(expand()) || failed(convert()))
    return signalPassFailure();
  getOperation()->removeAttr(mark::target);
  getOperation().walk(moveAsIntegers);
  getOperation().walk(markExclusive);
}
