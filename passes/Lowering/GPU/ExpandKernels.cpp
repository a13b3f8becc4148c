//===- ExpandKernels.cpp - What devices have no instruction for ----------===//
//===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/Exponential.h"
#include "mp-opt/Codegen/GPU/Emit/MathFunctions.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mp {
#define GEN_PASS_DEF_EXPANDKERNELS
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

struct ExpandKernels : public mp::impl::ExpandKernelsBase<ExpandKernels> {
  using ExpandKernelsBase::ExpandKernelsBase;

  void runOnOperation() override;

private:
  LogicalResult checkMath();
};

/// Computes the same numbers as mp_draw of the runtime library.
struct ExpandDraw : public OpRewritePattern<device::DrawOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(device::DrawOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Type type = b.getI64Type();
    auto number = [&](uint64_t value) {
      return arith::ConstantOp::create(b, loc,
                                       b.getIntegerAttr(type, APInt(64, value)))
          .getResult();
    };
    auto fold = [&](Value z, int64_t shift) {
      Value high = arith::ShRUIOp::create(b, loc, z, number(shift));
      return arith::XOrIOp::create(b, loc, z, high).getResult();
    };
    // SplitMix64.
    auto mix = [&](Value x) {
      Value z = arith::AddIOp::create(b, loc, x, number(0x9E3779B97F4A7C15));
      z = arith::MulIOp::create(b, loc, fold(z, 30),
                                number(0xBF58476D1CE4E5B9));
      z = arith::MulIOp::create(b, loc, fold(z, 27),
                                number(0x94D049BB133111EB));
      return fold(z, 31);
    };
    Value place = arith::ConstantIndexOp::create(b, loc, device::CallNumber);
    Value call = memref::LoadOp::create(b, loc, op.getControl(), place);
    Value seed = number(op.getSeed());
    Value before = number(op.getBefore());
    Value inner = mix(arith::AddIOp::create(b, loc, mix(call), before));
    Value result = mix(arith::XOrIOp::create(b, loc, seed, inner));
    if (op.getBefore() == 0) {
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            call, number(0));
      result = arith::SelectOp::create(b, loc, isFirst, seed, result);
    }
    b.replaceOp(op, result);
    return success();
  }
};

} // namespace

/// LLVM's code generators for GPUs have instructions for these, or short
/// sequences.
static bool hasInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::RoundOp, math::SqrtOp, math::TruncOp, math::IsNaNOp,
             math::IsInfOp, math::IsFiniteOp, math::IPowIOp>(op);
}

/// Refuses math functions that are left, since polynomials exist for f32 only.
/// An op that several kernels contain is reported once.
LogicalResult ExpandKernels::checkMath() {
  bool isFine = true;
  llvm::DenseSet<std::pair<Location, Type>> said;
  getOperation().walk([&](Operation *op) {
    if (!isa<math::MathDialect>(op->getDialect()) || hasInstruction(op))
      return;
    isFine = false;
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    if (!said.insert({op->getLoc(), element}).second)
      return;
    std::string why;
    llvm::raw_string_ostream(why) << "'" << op->getName() << "' of " << element;
    (void)device::refuse(op, why);
  });
  return success(isFine);
}

/// Uses approximate instructions where their error is not seen. They replace
/// whole expressions, before any function in these is expanded.
static LogicalResult approximateRounded(gpu::GPUModuleOp kernels) {
  if (GPUTarget::get(kernels).multiplier != kernel::Multiplier::MMA)
    return success();
  RewritePatternSet patterns(kernels.getContext());
  populateRoundedFunctionPatterns(patterns);
  return applyPatternsGreedily(kernels, std::move(patterns));
}

void ExpandKernels::runOnOperation() {
  if (failed(approximateRounded(getOperation())))
    return signalPassFailure();
  RewritePatternSet patterns(&getContext());
  patterns.add<ExpandDraw>(&getContext());
  populateMathFunctionPatterns(patterns);
  populateExponentialPattern(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({"math.expm1", "math.log", "math.log1p",
                               "math.log2", "math.tanh", "math.erf",
                               "math.erfc", "math.asin", "math.acos",
                               "math.atan2", "math.cbrt"},
                              name);
  });
  math::populateExpansionPatterns(patterns,
                                  {"tan", "exp2", "fpowi", "rsqrt", "clampf"});
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))) ||
      failed(checkMath()))
    signalPassFailure();
}
