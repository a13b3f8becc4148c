//===- RuntimeDialect.cpp - The runtime dialect ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

#include "mp-opt/Dialect/Runtime/RuntimeDialect.cpp.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/Runtime/RuntimeOps.cpp.inc"

void mp::runtime::RuntimeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "mp-opt/Dialect/Runtime/RuntimeOps.cpp.inc"
      >();
}

bool mp::runtime::isKnown(mlir::Type type) {
  auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
  if (!memref || !memref.hasStaticShape())
    return false;
  llvm::SmallVector<int64_t> strides;
  int64_t offset;
  return mlir::succeeded(memref.getStridesAndOffset(strides, offset)) &&
         !mlir::ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, mlir::ShapedType::isDynamic);
}

mlir::Type mp::runtime::getCapturedType(mlir::Type type) {
  if (!isKnown(type))
    return type;
  auto memref = mlir::cast<mlir::MemRefType>(type);
  return mlir::MemRefType::get({}, memref.getElementType());
}

mlir::LogicalResult
mp::runtime::LaunchOp::verifySymbolUses(mlir::SymbolTableCollection &symbols) {
  using namespace mlir;
  Operation *callee = symbols.lookupNearestSymbolFrom(*this, getCalleeAttr());
  if (isa_and_nonnull<LLVM::LLVMFuncOp>(callee))
    return success();
  auto function = dyn_cast_or_null<func::FuncOp>(callee);
  if (!function)
    return emitOpError("found no function '") << getCallee() << "'";
  SmallVector<Type> expected;
  for (Type type : getCaptures().getTypes())
    expected.push_back(getCapturedType(type));
  expected.append(2, IndexType::get(getContext()));
  if (function.getFunctionType() !=
      FunctionType::get(getContext(), expected, {}))
    return emitOpError("found a callee of type ")
           << function.getFunctionType() << ", expected "
           << FunctionType::get(getContext(), expected, {});
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace mp::runtime {

using namespace mlir;

LogicalResult CollectiveStartOp::verify() {
  if (getMembers().empty())
    return emitOpError("expected at least one member");
  if (getRows() && getMembers().size() > 1)
    return emitOpError("found rows of ")
           << getMembers().size() << " members, expected one member";
  Type first =
      cast<MemRefType>(getMembers().front().getType()).getElementType();
  for (Type type : getMembers().getTypes())
    if (cast<MemRefType>(type).getElementType() != first)
      return emitOpError("found a member of type ")
             << type << ", expected elements of " << first;
  return success();
}

bool AllReduceOp::bufferizesToMemoryRead(OpOperand &,
                                         const bufferization::AnalysisState &) {
  return true;
}

bool AllReduceOp::bufferizesToMemoryWrite(
    OpOperand &operand, const bufferization::AnalysisState &) {
  return operand == getValueMutable();
}

bufferization::AliasingValueList
AllReduceOp::getAliasingValues(OpOperand &operand,
                               const bufferization::AnalysisState &) {
  if (operand != getValueMutable())
    return {};
  return {{getResult(), bufferization::BufferRelation::Equivalent}};
}

LogicalResult
AllReduceOp::bufferize(RewriterBase &rewriter,
                       const bufferization::BufferizationOptions &options,
                       bufferization::BufferizationState &state) {
  FailureOr<Value> buffer =
      bufferization::getBuffer(rewriter, getValue(), options, state);
  if (failed(buffer))
    return failure();
  auto type = cast<MemRefType>(buffer->getType());
  Value line = *buffer;
  bool isLine = type.getLayout().isIdentity();
  // A part of other memory is copied: the copy is one line.
  if (!isLine) {
    auto own = MemRefType::get(type.getShape(), type.getElementType());
    SmallVector<Value> sizes;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.isDynamicDim(axis))
        sizes.push_back(
            memref::DimOp::create(rewriter, getLoc(), *buffer, axis));
    line = memref::AllocOp::create(rewriter, getLoc(), own, sizes);
    memref::CopyOp::create(rewriter, getLoc(), *buffer, line);
  }
  Value rows;
  if (getRows()) {
    FailureOr<Value> found =
        bufferization::getBuffer(rewriter, getRows(), options, state);
    if (failed(found))
      return failure();
    // Without them, all rows are sent.
    if (cast<MemRefType>(found->getType()).getLayout().isIdentity())
      rows = *found;
  }
  CollectiveStartOp::create(rewriter, getLoc(), line, getCondition(), rows,
                            getBucket(), getKind());
  CollectiveWaitOp::create(rewriter, getLoc(), line, getCondition(),
                           getBucket());
  if (!isLine) {
    memref::CopyOp::create(rewriter, getLoc(), line, *buffer);
    memref::DeallocOp::create(rewriter, getLoc(), line);
  }
  bufferization::replaceOpWithBufferizedValues(rewriter, getOperation(),
                                               *buffer);
  return success();
}

} // namespace mp::runtime
