//===- TileBuilder.h - Builders of a kernel's arithmetic --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEBUILDER_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mp::kernel::tiling {

/// Short names for the ops of kernels. Indices are of type i32, whatever index
/// becomes, or i64 if operands are so large; known values are folded.
/// Conditions may be null: always true.
class TileBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  TileBuilder(mlir::Location loc, const mlir::OpBuilder &builder, bool isWide)
      : ImplicitLocOpBuilder(loc, builder),
        word(isWide ? getI64Type() : getI32Type()) {}

  Value index(int64_t value);
  /// Convert from and to the type index.
  Value fromIndex(Value value);
  Value toIndex(Value value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  Value sub(Value a, Value b);
  Value mul(Value a, int64_t b);
  /// Divide values that are not negative by constants, with shifts if possible.
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  Value exclusiveOr(Value a, Value b);
  /// True if 0 <= a < b.
  Value isWithin(Value a, Value b);
  Value isWithin(Value a, int64_t b) { return isWithin(a, index(b)); }
  Value both(Value a, Value b);
  Value select(Value condition, Value yes, Value no);
  Value zero(mlir::Type type);

  void ifThen(Value condition, llvm::function_ref<void()> body);
  /// Values that depend on a condition: `body`'s, or zeros.
  llvm::SmallVector<Value>
  ifElseZero(Value condition, mlir::TypeRange types,
             llvm::function_ref<llvm::SmallVector<Value>()> body);
  /// A loop that carries values; `body` returns the next ones.
  using LoopBody = llvm::function_ref<llvm::SmallVector<Value>(
      Value i, mlir::ValueRange carried)>;
  llvm::SmallVector<Value> loop(int64_t end, int64_t step,
                                mlir::ValueRange carried, LoopBody body) {
    return loop(index(0), index(end), step, carried, body);
  }
  llvm::SmallVector<Value> loop(Value begin, Value end, int64_t step,
                                mlir::ValueRange carried, LoopBody body);

  /// `width` elements of a line of memory, at a multiple of `width`; a scalar
  /// for one.
  Value load(Value memory, Value at, int64_t width);
  void store(Value value, Value memory, Value at);
  /// Elements of a scalar or a vector.
  llvm::SmallVector<Value> getElements(Value value);
  /// A scalar, or a vector of several.
  Value fromElements(llvm::ArrayRef<Value> elements);
  /// Converts between floats of any widths, scalars or vectors.
  Value castFloat(Value value, mlir::Type element);
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c);

private:
  mlir::IntegerType word;
};

/// Writes the `result`-th value that a region of arithmetic on scalars yields:
/// clones the ops that it depends on, and constants outside of the region.
/// `getArgument` returns the arguments that it depends on; `known` has results
/// of ops that are not cloned.
mlir::Value applyBody(TileBuilder &e, mlir::Block &body, unsigned result,
                      llvm::function_ref<mlir::Value(unsigned)> getArgument,
                      mlir::IRMapping known = {});

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEBUILDER_H
