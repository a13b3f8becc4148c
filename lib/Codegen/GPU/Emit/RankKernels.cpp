//===- RankKernels.cpp - Kernels that ranks reduce with -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Emit/RankKernels.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"
#include "mp-opt/Runtime/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cstddef>

using namespace mlir;

namespace mp {

/// The address space of global memory, for all vendors.
static constexpr unsigned globalSpace = 1;

namespace {
/// The code of one kernel. Integers have 64 bits: addresses are not constants.
class RankKernel {
public:
  RankKernel(gpu::GPUModuleOp kernels, StringRef work, StringRef from,
             StringRef to);

  void emitCopy();
  void emitSum();

private:
  Type getType(StringRef name);
  /// The size of a type, which is its alignment, too.
  static unsigned getBytes(Type type) {
    return type.getIntOrFloatBitWidth() / 8;
  }
  Value makeNumber(int64_t number) {
    return arith::ConstantIntOp::create(b, number, 64);
  }
  Value widen(Value index) {
    return arith::IndexCastUIOp::create(b, b.getI64Type(), index);
  }
  /// A field of a structure of 64-bit numbers at `begin`.
  Value loadField(Value begin, size_t offset);
  Value loadAddress(Value begin, size_t offset) {
    return LLVM::IntToPtrOp::create(b, global, loadField(begin, offset));
  }
  Value getAddress(Type element, Value begin, Value index) {
    return LLVM::GEPOp::create(b, begin.getType(), element, begin,
                               ArrayRef<LLVM::GEPArg>{index});
  }
  Value load(Type type, Value address) {
    return LLVM::LoadOp::create(b, type, address, getBytes(type));
  }
  void store(Value value, Value address) {
    LLVM::StoreOp::create(b, value, address, getBytes(value.getType()));
  }
  Value convert(Value value, Type type);
  /// Emits code for the elements of `count` that this thread has.
  void forElements(Value count, llvm::function_ref<void(Value index)> emit);
  /// The conjunction of two flags, of which the first is 0 or 1.
  Value conjoin(Value all, Value flag);

  ImplicitLocOpBuilder b;
  Type pointer, global, from, to;
  /// The address of one or several structures.
  Value argument;
};
} // namespace

Type RankKernel::getType(StringRef name) {
  return llvm::StringSwitch<Type>(name)
      .Case("bf16", b.getBF16Type())
      .Case("f32", b.getF32Type())
      .Case("f64", b.getF64Type())
      .Case("i8", b.getI8Type());
}

RankKernel::RankKernel(gpu::GPUModuleOp kernels, StringRef work, StringRef from,
                       StringRef to)
    : b(kernels.getLoc(), kernels.getContext()),
      pointer(LLVM::LLVMPointerType::get(kernels.getContext())),
      global(LLVM::LLVMPointerType::get(kernels.getContext(), globalSpace)),
      from(getType(from)), to(getType(to)) {
  b.setInsertionPointToEnd(kernels.getBody());
  auto function =
      gpu::GPUFuncOp::create(b, ("mp_" + work + "_" + from + "_" + to).str(),
                             b.getFunctionType({pointer}, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({MP_RANK_THREADS, 1, 1}));
  argument = function.getArgument(0);
  b.setInsertionPointToStart(&function.getBody().front());
  gpu::ReturnOp::create(b);
  b.setInsertionPointToStart(&function.getBody().front());
}

Value RankKernel::loadField(Value begin, size_t offset) {
  Value address = LLVM::GEPOp::create(b, pointer, b.getI8Type(), begin,
                                      ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  return load(b.getI64Type(), address);
}

Value RankKernel::convert(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (type.getIntOrFloatBitWidth() < value.getType().getIntOrFloatBitWidth())
    return arith::TruncFOp::create(b, type, value);
  return arith::ExtFOp::create(b, type, value);
}

void RankKernel::forElements(Value count,
                             llvm::function_ref<void(Value index)> emit) {
  auto thread = widen(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  auto block = widen(gpu::BlockIdOp::create(b, gpu::Dimension::x));
  auto blocks = widen(gpu::GridDimOp::create(b, gpu::Dimension::x));
  Value threads = makeNumber(MP_RANK_THREADS);
  Value first = arith::AddIOp::create(
      b, arith::MulIOp::create(b, block, threads), thread);
  Value step = arith::MulIOp::create(b, blocks, threads);
  auto loop = scf::ForOp::create(b, first, count, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emit(loop.getInductionVar());
}

void RankKernel::emitCopy() {
  Value row = widen(gpu::BlockIdOp::create(b, gpu::Dimension::y));
  Value bytes =
      arith::MulIOp::create(b, row, makeNumber(sizeof(mp_rank_piece)));
  Value piece = getAddress(b.getI8Type(), argument, bytes);
  Value source = loadAddress(piece, offsetof(mp_rank_piece, from));
  Value target = loadAddress(piece, offsetof(mp_rank_piece, to));
  forElements(loadField(piece, offsetof(mp_rank_piece, count)),
              [&](Value index) {
                Value element = load(from, getAddress(from, source, index));
                store(convert(element, to), getAddress(to, target, index));
              });
}

Value RankKernel::conjoin(Value all, Value flag) {
  Value zero = arith::ConstantIntOp::create(b, 0, 8);
  Value isTrue = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, flag, zero);
  return arith::AndIOp::create(b, all, arith::ExtUIOp::create(b, from, isTrue));
}

void RankKernel::emitSum() {
  // Sums of bf16 are those of a longer type; flags are true or false.
  bool areFlags = from.isInteger(8);
  Type sumType = from.isBF16() ? b.getF32Type() : from;
  Value source = loadAddress(argument, offsetof(mp_rank_parts, from));
  Value target = loadAddress(argument, offsetof(mp_rank_parts, to));
  Value count = loadField(argument, offsetof(mp_rank_parts, count));
  Value stride = loadField(argument, offsetof(mp_rank_parts, stride));
  Value ranks = loadField(argument, offsetof(mp_rank_parts, ranks));
  Value divides = loadField(argument, offsetof(mp_rank_parts, divides));
  Value zero = makeNumber(0), one = makeNumber(1);
  Value isMean =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, divides, zero);
  Value none = arith::ConstantOp::create(
      b, areFlags ? b.getI8IntegerAttr(1)
                  : cast<TypedAttr>(b.getZeroAttr(sumType)));
  forElements(count, [&](Value index) {
    auto loop = scf::ForOp::create(
        b, zero, ranks, one, none,
        [&](OpBuilder &, Location, Value rank, ValueRange sums) {
          Value place = arith::AddIOp::create(
              b, arith::MulIOp::create(b, rank, stride), index);
          Value element = load(from, getAddress(from, source, place));
          Value sum = areFlags ? conjoin(sums[0], element)
                               : Value(arith::AddFOp::create(
                                     b, sums[0], convert(element, sumType)));
          scf::YieldOp::create(b, sum);
        });
    Value sum = loop.getResult(0);
    if (!areFlags) {
      Value mean = arith::DivFOp::create(
          b, sum, arith::UIToFPOp::create(b, sumType, ranks));
      sum = convert(arith::SelectOp::create(b, isMean, mean, sum), to);
    }
    store(sum, getAddress(to, target, index));
  });
}

void addRankKernels(ModuleOp module) {
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(device::kernelsName);
  auto found = module.walk(
      [](runtime::CollectiveStartOp) { return WalkResult::interrupt(); });
  if (!kernels || !found.wasInterrupted())
    return;
  auto add = [&](StringRef work, StringRef from, StringRef to) {
    RankKernel kernel(kernels, work, from, to);
    work == "copy" ? kernel.emitCopy() : kernel.emitSum();
  };
#define MP_RANK_KERNEL(WORK, FROM, TO) add(#WORK, #FROM, #TO);
#include "mp-opt/Runtime/RankKernels.def"
}

} // namespace mp
