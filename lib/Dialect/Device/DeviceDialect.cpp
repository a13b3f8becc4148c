//===- DeviceDialect.cpp - The device dialect -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mp-opt/Runtime/Plan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include "mp-opt/Dialect/Device/DeviceDialect.cpp.inc"
#include "mp-opt/Dialect/Device/DeviceEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/Device/DeviceAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/Device/DeviceOps.cpp.inc"

using namespace mlir;

void mp::device::DeviceDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "mp-opt/Dialect/Device/DeviceOps.cpp.inc"
      >();
  registerAttributes();
}

void mp::device::DeviceDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mp-opt/Dialect/Device/DeviceAttributes.cpp.inc"
      >();
}

LogicalResult
mp::device::DeviceDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != targetName)
    return success();
  if (!isa<ModuleOp>(op))
    return op->emitOpError() << "'" << targetName << "' belongs to a module";
  if (!isa<TargetAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'" << targetName << "': expected #device.target, found "
           << attribute.getValue();
  return success();
}

std::string mp::device::getNodeName(Location location) {
  std::string name;
  location->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named)
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  return name;
}

LogicalResult mp::device::refuse(Operation *op, const Twine &why) {
  std::string node = getNodeName(op->getLoc());
  return op->emitError(node)
         << (node.empty() ? "" : ": ") << "has no code for devices: " << why
         << "; --device=cpu runs it";
}

LogicalResult
mp::device::StrategyAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Sharing, int64_t blocks, int64_t threads) {
  if (blocks < 0 || blocks > INT32_MAX)
    return emitError() << "found " << blocks << " blocks, expected 0 to "
                       << INT32_MAX;
  if (threads < 1 || threads > MP_PLAN_MAX_THREADS || threads % 32 != 0)
    return emitError() << "found blocks of " << threads
                       << " threads, expected a multiple of 32 up to "
                       << MP_PLAN_MAX_THREADS;
  return success();
}

/// True if the work of a group of this kind can be divided so.
static bool canShare(mp::device::Kind kind, mp::device::Sharing by) {
  using mp::device::Kind;
  using mp::device::Sharing;
  switch (kind) {
  case Kind::Elementwise:
    return by == Sharing::Threads;
  case Kind::Reduce:
    return by != Sharing::Tiles;
  case Kind::Contract:
    return by == Sharing::Threads || by == Sharing::Tiles;
  case Kind::RowWise:
    return by == Sharing::Threads || by == Sharing::Blocks;
  case Kind::SingleBlock:
  case Kind::Scatter:
  case Kind::Fused:
    return by == Sharing::Blocks;
  case Kind::Attention:
    return by == Sharing::Tiles;
  case Kind::Collective:
    return false;
  }
}

/// Each part of a fused group has blocks of its own, of as many threads.
static LogicalResult verifyParts(mp::device::GroupOp group) {
  int64_t blocks = 0;
  mp::device::StrategyAttr strategy = group.getStrategyAttr();
  for (Operation &op : group.getBody().front()) {
    auto part = dyn_cast<mp::device::GroupOp>(op);
    if (!part)
      return op.emitOpError("is not a group, as each part of a fused one is");
    mp::device::StrategyAttr own = part.getStrategyAttr();
    if (strategy && (!own || own.getThreads() != strategy.getThreads()))
      return part.emitOpError("expected a strategy of ")
             << strategy.getThreads() << " threads, as the fused group has";
    blocks += own ? own.getBlocks() : 0;
  }
  if (strategy && strategy.getBlocks() != blocks)
    return group.emitOpError("found ")
           << strategy.getBlocks() << " blocks, but its parts have " << blocks;
  return success();
}

LogicalResult mp::device::GroupOp::verify() {
  if (StrategyAttr strategy = getStrategyAttr()) {
    if (!canShare(getKind(), strategy.getBy()))
      return emitOpError("of the kind '")
             << stringifyKind(getKind()) << "' cannot be divided by "
             << stringifySharing(strategy.getBy());
    if (getKind() == Kind::SingleBlock && strategy.getBlocks() != 1)
      return emitOpError("found ")
             << strategy.getBlocks() << " blocks, expected one";
  }
  return getKind() == Kind::Fused ? verifyParts(*this) : success();
}

LogicalResult mp::device::LaunchOp::verify() {
  auto isSize = [](ArrayRef<int32_t> sizes) {
    return sizes.size() == 3 &&
           llvm::all_of(sizes, [](int32_t size) { return size > 0; });
  };
  if (!isSize(getGrid()) || !isSize(getBlock()))
    return emitOpError("expected three positive sizes of grid and block");
  int64_t threads = 1;
  for (int32_t size : getBlock())
    threads *= size;
  if (threads > MP_PLAN_MAX_THREADS)
    return emitOpError("found blocks of ")
           << threads << " threads, expected at most " << MP_PLAN_MAX_THREADS;
  if (getShared() < 0)
    return emitOpError("expected no negative size of shared memory");
  for (Type type : getOperandTypes())
    if (!cast<MemRefType>(type).hasStaticShape())
      return emitOpError("found an operand of ")
             << type << ", expected known sizes";
  return success();
}

LogicalResult
mp::device::LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *found = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  // Kernels that are emulated on the host have been moved out of their module.
  if (!found)
    found = symbols.lookupNearestSymbolFrom(
        *this, FlatSymbolRefAttr::get(getKernelAttr().getLeafReference()));
  auto kernel = dyn_cast_or_null<FunctionOpInterface>(found);
  if (!kernel)
    return emitOpError("found no function '") << getKernel() << "'";
  if (kernel.getNumArguments() != getNumOperands())
    return emitOpError("found ")
           << getNumOperands() << " operands, but '" << getKernel()
           << "' takes " << kernel.getNumArguments();
  return success();
}
