//===- Verify.cpp - Requirements of contractions on GPUs ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"

#include "TilePlan.h"

using namespace mlir;

namespace mp::kernel {

using tiling::Problem;
using tiling::TilePlan;

static bool isKnown(Type operand) {
  auto type = dyn_cast<MemRefType>(operand);
  return type && tiling::getLayout(type);
}

bool tiling::isKnown(ContractOp op) {
  return llvm::all_of(op.getMappedOperands(),
                      [](Value operand) {
                        return kernel::isKnown(operand.getType());
                      }) &&
         llvm::none_of(getStaticSizes(op), ShapedType::isDynamic);
}

LogicalResult verifyGPUContract(ContractOp op) {
  for (Value operand : op.getMappedOperands())
    if (!isKnown(operand.getType()))
      return op.emitOpError()
             << "expected memory of known sizes, strides and offset, got "
             << operand.getType();
  for (auto [dim, size] : llvm::enumerate(getStaticSizes(op)))
    if (ShapedType::isDynamic(size))
      return op.emitOpError()
             << "expected sizes that are known, got none for d" << dim;
  TileAttr tile = op.getTileAttr();
  if (!tile)
    return success();
  Problem problem = Problem::get(op);
  TilePlan plan = TilePlan::get(problem, tile);
  if (plan.numBlocks > INT32_MAX)
    return op.emitOpError()
           << "expected at most " << INT32_MAX << " blocks of threads, got "
           << plan.numBlocks << " of " << tile;
  const GPUTarget &target = GPUTarget::get(op);
  int64_t most = target.sharedBytes;
  if (plan.sharedBytes > most)
    return op.emitOpError()
           << "expected at most " << most << " bytes of shared memory, got "
           << plan.sharedBytes << " of " << tile;
  Type a = op.getFactorType(0), b = op.getFactorType(1);
  bool is16Bit = a == b && (a.isBF16() || a.isF16());
  if (tile.getBy() == Multiplier::FMA)
    return success();
  if (tile.getBy() != target.multiplier)
    return op.emitOpError()
           << "expected " << stringifyMultiplier(target.multiplier)
           << " or fma, which " << target.chip << " has, got " << tile;
  if (!is16Bit && !isTF32(op))
    return op.emitOpError()
           << "expected factors of bf16 or of f16, or of f32 if device.target "
              "allows tf32, for "
           << tile << ", got " << a << " and " << b;
  return success();
}

} // namespace mp::kernel
