//===- KernelFunction.cpp - The function that a group becomes -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"

#include "mp-opt/Codegen/Common/Rematerialize.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace mp {

/// True for memory of `main` that kernels get as an argument.
static bool isArgument(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<runtime::InputOp, runtime::OutputOp, runtime::ConstantOp,
                      device::ControlOp>(op))
    return true;
  auto view = dyn_cast_or_null<memref::ViewOp>(op);
  return view && view.getSource().getDefiningOp<memref::AllocOp>();
}

/// True if a kernel uses so many places in the arena that it gets the whole
/// arena and computes their addresses from offsets.
static bool isManyPlaces(const llvm::SetVector<Value> &used) {
  constexpr int64_t maxPlaces = 64;
  return llvm::count_if(used, [](Value value) {
           return bool(value.getDefiningOp<memref::ViewOp>());
         }) > maxPlaces;
}

KernelFunction::KernelFunction(device::GroupOp group, gpu::GPUModuleOp kernels)
    : group(group), kernels(kernels), b(group.getContext()) {
  b.setInsertionPointToEnd(kernels.getBody());
  function = gpu::GPUFuncOp::create(b, group.getLoc(), "kernel",
                                    b.getFunctionType({}, {}));
  shared.emplace(function);
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(&getBody());
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(group.getBody(), used);
  hasWholeArena = isManyPlaces(used);
  for (Value value : used)
    bring(value);
  // The type is set once for all arguments: a kernel of many parts has
  // hundreds.
  isComplete = true;
  setType();
  for (Operation &op : group.getBody().front())
    b.clone(op, mapping);
  gpu::ReturnOp::create(b, group.getLoc());
}

Value KernelFunction::addOperand(Value value) {
  operands.push_back(value);
  Value argument = getBody().insertArgument(operands.size() - 1,
                                            value.getType(), group.getLoc());
  if (isComplete)
    setType();
  return argument;
}

void KernelFunction::setType() {
  function.setFunctionType(
      b.getFunctionType(TypeRange(ValueRange(operands)), {}));
}

/// Copies a small constant into the kernels' module.
void KernelFunction::bringGlobal(memref::GetGlobalOp op) {
  if (SymbolTable::lookupSymbolIn(kernels, op.getNameAttr()))
    return;
  Operation *global =
      SymbolTable::lookupNearestSymbolFrom(op, op.getNameAttr());
  OpBuilder::atBlockBegin(kernels.getBody()).clone(*global);
}

Value KernelFunction::bring(Value value) {
  rematerialize(b, mapping, value, [&](Value next) -> Value {
    if (hasWholeArena && next.getDefiningOp<memref::ViewOp>())
      return nullptr;
    if (isArgument(next) || next.getDefiningOp<memref::AllocOp>())
      return addOperand(next);
    if (auto global = next.getDefiningOp<memref::GetGlobalOp>())
      bringGlobal(global);
    return nullptr;
  });
  return mapping.lookup(value);
}

StringRef getKernelName(device::Kind kind) {
  using device::Kind;
  switch (kind) {
  case Kind::Elementwise:
    return "map";
  case Kind::Reduce:
    return "reduce";
  case Kind::Contract:
    return "contract";
  case Kind::Attention:
    return "attention";
  case Kind::RowWise:
    return "rows";
  case Kind::SingleBlock:
    return "block";
  case Kind::Scatter:
    return "indexed";
  case Kind::Fused:
    return "parts";
  case Kind::Collective:
    break;
  }
  llvm_unreachable("collectives have no kernels");
}

} // namespace mp
