//===- Fragments.cpp - Registers of mma.sync ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragments.h"

#include "TileCopy.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mp::kernel::tiling {

Value getSharedPlace(TileBuilder &e, const CopyPlan &copy, Value stage,
                     Value line, Value position) {
  position =
      getSwizzled(e, line, position, copy.pitch / copy.chunk, copy.swizzle);
  return e.add(e.mul(stage, copy.getStageSize()),
               e.add(e.mul(line, copy.pitch), e.mul(position, copy.chunk)));
}

Value roundToTF32(TileBuilder &e, Value element) {
  return NVVM::ConvertFloatToTF32Op::create(e, e.getI32Type(), element,
                                            NVVM::FPRoundingMode::RNA);
}

Value toRegister(TileBuilder &e, Value pair) {
  Type element = cast<VectorType>(pair.getType()).getElementType();
  if (element.isF16())
    return pair;
  if (element.isF32())
    return roundToTF32(e, vector::ExtractOp::create(e, pair, 0));
  auto type = VectorType::get({1}, e.getI32Type());
  Value words = vector::BitCastOp::create(e, type, pair);
  return vector::ExtractOp::create(e, words, 0);
}

/// Four matrices of 8 x 8, of tf32 8 x 4, of which this lane names row lane mod
/// 8 of that with the number lane / 8: two by two along K and along M or N,
/// beginning at `k` and `first`.
static SmallVector<Value> loadMatrices(TileBuilder &e, const SharedTile &tile,
                                       Value lane, Value first, Value k,
                                       Value besideK, Value beside) {
  const CopyPlan &copy = tile.copy;
  Value line, position;
  Value inMatrix = e.rem(lane, 8);
  bool linesOfK = copy.linesOfK != tile.isTurned;
  if (linesOfK) {
    line = e.add(e.add(first, e.mul(beside, 8)), inMatrix);
    position = e.add(besideK, e.div(k, copy.chunk));
  } else {
    line = e.add(e.add(e.mul(besideK, 8), inMatrix), k);
    position = e.add(e.div(first, 8), beside);
  }
  Value at = getSharedPlace(e, copy, tile.stage, line, position);
  auto type = VectorType::get({4, copy.chunk / 4}, copy.element);
  // Products require pairs of neighbours along K.
  Value matrices =
      nvgpu::LdMatrixOp::create(e, type, tile.memory, ValueRange{e.toIndex(at)},
                                /*transpose=*/!linesOfK, /*numTiles=*/4u);
  SmallVector<Value> registers;
  for (int64_t i = 0; i < 4; ++i)
    registers.push_back(
        toRegister(e, vector::ExtractOp::create(e, matrices, i)));
  return registers;
}

SmallVector<Value> loadLHSFragment(TileBuilder &e, const SharedTile &tile,
                                   Value lane, Value first, Value k) {
  Value matrix = e.div(lane, 8);
  return loadMatrices(e, tile, lane, first, k, e.div(matrix, 2),
                      e.rem(matrix, 2));
}

SmallVector<Value> loadRHSFragments(TileBuilder &e, const SharedTile &tile,
                                    Value lane, Value first, Value k) {
  Value matrix = e.div(lane, 8);
  return loadMatrices(e, tile, lane, first, k, e.rem(matrix, 2),
                      e.div(matrix, 2));
}

void emitMMA(TileBuilder &e, Type element, ArrayRef<Value> a, ArrayRef<Value> b,
             MutableArrayRef<Value> sums) {
  auto type = LLVM::LLVMStructType::getLiteral(
      e.getContext(), SmallVector<Type>(4, e.getF32Type()));
  int64_t depth = element.isF32() ? 8 : 16;
  NVVM::MMATypes factor = element.isF32()    ? NVVM::MMATypes::tf32
                          : element.isBF16() ? NVVM::MMATypes::bf16
                                             : NVVM::MMATypes::f16;
  Value result = NVVM::MmaOp::create(
      e, type, a, b, ArrayRef<Value>(sums), ArrayRef<int64_t>{16, 8, depth},
      std::nullopt, std::nullopt, std::array{factor, factor},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(e, result, int64_t(i));
}

} // namespace mp::kernel::tiling
