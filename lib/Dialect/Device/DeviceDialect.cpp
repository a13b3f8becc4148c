//===- DeviceDialect.cpp - The device dialect -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Device/DeviceOps.h"

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
  if (threads > maxThreads)
    return emitOpError("found blocks of ")
           << threads << " threads, expected at most " << maxThreads;
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
