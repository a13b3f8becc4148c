//===- LoopBuilder.h - Builders of index arithmetic and loops ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONTRACT_LOOPBUILDER_H
#define MPOPT_LIB_CODEGEN_CPU_CONTRACT_LOOPBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace mp::kernel {

/// Short names for the ops of loop nests. Values are of type index unless
/// noted.
class LoopBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using Body = llvm::function_ref<void(Value)>;
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value index(int64_t value);
  Value i32(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b) { return mul(a, index(b)); }
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  /// Divide values that are not negative.
  Value div(Value a, Value b);
  Value rem(Value a, Value b);
  Value ceilDiv(Value a, Value b);
  Value ceilDiv(Value a, int64_t b) { return ceilDiv(a, index(b)); }
  Value less(Value a, Value b);
  Value equal(Value a, Value b);
  Value toI32(Value value);

  void loop(Value begin, Value end, int64_t step, Body body);
  void loop(Value end, Body body) { loop(index(0), end, 1, body); }
  void parallel(Value count, Body body);
  /// Prevents LLVM from unrolling a loop.
  void keepRolled(mlir::scf::ForOp loop);
  void ifThen(Value condition, llvm::function_ref<void()> body);
  void ifElse(Value condition, llvm::function_ref<void()> yes,
              llvm::function_ref<void()> no);
  /// A value that depends on a condition.
  Value choose(Value condition, mlir::Type type,
               llvm::function_ref<Value()> yes, llvm::function_ref<Value()> no);

  mlir::VectorType vectorType(mlir::Type element, int64_t lanes);
  Value splat(Value scalar, int64_t lanes);
  Value zeros(mlir::Type element, int64_t lanes);
  /// 0, 1, 2, ... as vector<lanes x type>.
  Value iota(mlir::Type type, int64_t lanes);
  /// The first `count` lanes; none if it is negative.
  Value firstLanes(Value count, int64_t lanes);
  /// The lanes from `begin` to `end` - 1.
  Value lanesBetween(Value begin, Value end, int64_t lanes);
  /// Converts between floats of any widths, scalars or vectors.
  Value castFloat(Value value, mlir::Type element);
  /// The same, rounded to `rounding` on the way unless this is null.
  Value castFloat(Value value, mlir::Type rounding, mlir::Type element) {
    return castFloat(rounding ? castFloat(value, rounding) : value, element);
  }
  Value allocate(Value count, mlir::Type element);
  /// Elements of the running thread's memory (runtime.scratch).
  Value scratch(int buffer, Value count, mlir::Type element);
  Value load(Value memref, Value at);
  /// Elements of a line of memory at `place` plus `offsets`, zeros elsewhere.
  Value gather(Value memref, Value place, Value offsets, Value mask);
  /// Prefetches a line of memory that will be read or written.
  void prefetch(Value memref, Value at, bool write);

private:
  Value gatherNarrow(Value memref, Value place, Value offsets, Value mask);
};

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONTRACT_LOOPBUILDER_H
