//===- FunctionEmulation.cpp - One function of a gpu.module ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionEmulation.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace mp::emulation {

/// Half of a fiber's stack (lib/Emulation).
constexpr int64_t maxLocalBytes = 64 * 1024;

bool isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
         function->hasAttr("gpu.kernel");
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The line, or the node's name; empty if neither is known.
static std::string describe(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    if (auto line = dyn_cast<FileLineColLoc>(part))
      text = (llvm::sys::path::filename(line.getFilename()) + ":" +
              Twine(line.getLine()))
                 .str();
    else if (auto name = dyn_cast<NameLoc>(part))
      text = ("'" + name.getName().getValue() + "'").str();
    return text.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return text;
}

int32_t Places::add(LLVM::LLVMFuncOp function, Operation *op) {
  if (current != function) {
    current = function;
    numbers.clear();
  }
  StringRef name = op->getName().stripDialect();
  texts += (name + " " + Twine(++numbers[name])).str();
  std::string where = describe(op->getLoc());
  if (!where.empty())
    texts += " (" + where + ")";
  texts += '\0';
  return count++;
}

//===----------------------------------------------------------------------===//
// The begin of the function
//===----------------------------------------------------------------------===//

FunctionEmulation::FunctionEmulation(LLVM::LLVMFuncOp function,
                                     const SharedMemoryLayout &layout,
                                     Places &places)
    : function(function), layout(layout), places(places) {}

OpBuilder FunctionEmulation::atBegin() {
  OpBuilder b(function.getContext());
  if (last)
    b.setInsertionPointAfter(last);
  else
    b.setInsertionPointToStart(&function.getBody().front());
  return b;
}

Value FunctionEmulation::keep(Value value) {
  last = value.getDefiningOp();
  return value;
}

static Type getPointer(Operation *op) {
  return LLVM::LLVMPointerType::get(op->getContext());
}

Value makeWord(OpBuilder &b, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                  b.getI32IntegerAttr(value));
}

Value callEmulator(OpBuilder &b, Location loc, Operation *op, StringRef name,
                   ValueRange arguments, Type result) {
  // The outermost module, into which the function will be moved.
  auto module = op->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    // The address spaces will be removed.
    SmallVector<Type> types;
    for (Type type : arguments.getTypes())
      types.push_back(isa<LLVM::LLVMPointerType>(type) ? getPointer(op) : type);
    callee = LLVM::LLVMFuncOp::create(
        b, module.getLoc(), name,
        LLVM::LLVMFunctionType::get(
            result ? result : LLVM::LLVMVoidType::get(op->getContext()),
            types));
    callee.setNoUnwind(true);
  }
  auto call = LLVM::CallOp::create(b, loc, callee, arguments);
  return result ? call.getResult() : Value();
}

Value FunctionEmulation::getThread() {
  if (!thread) {
    OpBuilder b = atBegin();
    thread =
        keep(callEmulator(b, function.getLoc(), function,
                          "mp_emulated_this_thread", {}, getPointer(function)));
  }
  return thread;
}

Value FunctionEmulation::getBlock() {
  if (!block) {
    Value from = getThread();
    OpBuilder b = atBegin();
    block = keep(
        LLVM::LoadOp::create(b, function.getLoc(), getPointer(function), from));
  }
  return block;
}

Value FunctionEmulation::getRegister(bool ofBlock, int32_t word) {
  Value from = ofBlock ? getBlock() : getThread();
  Value &value = registers[{ofBlock, word}];
  if (!value) {
    OpBuilder b = atBegin();
    Value place =
        LLVM::GEPOp::create(b, function.getLoc(), getPointer(function),
                            b.getI32Type(), from, ArrayRef<LLVM::GEPArg>{word});
    value = keep(LLVM::LoadOp::create(b, function.getLoc(), b.getI32Type(),
                                      keep(place)));
  }
  return value;
}

Value FunctionEmulation::getShared() {
  shares = true;
  if (!shared) {
    // mp_emulated_block's `shared`.
    constexpr int32_t word = 5;
    Value from = getBlock();
    OpBuilder b = atBegin();
    Value place =
        LLVM::GEPOp::create(b, function.getLoc(), getPointer(function),
                            b.getI64Type(), from, ArrayRef<LLVM::GEPArg>{word});
    shared = keep(LLVM::LoadOp::create(b, function.getLoc(),
                                       getPointer(function), keep(place)));
  }
  return shared;
}

static Value makeSlot(OpBuilder &b, LLVM::LLVMFuncOp function, int64_t words) {
  Value count = makeWord(b, function.getLoc(), words);
  return LLVM::AllocaOp::create(b, function.getLoc(), getPointer(function),
                                b.getI32Type(), count, /*alignment=*/16);
}

Value FunctionEmulation::getOperandSlot() {
  if (!operands) {
    OpBuilder b = atBegin();
    operands = keep(makeSlot(b, function, 10));
  }
  return operands;
}

Value FunctionEmulation::getResultSlot() {
  if (!result) {
    OpBuilder b = atBegin();
    result = keep(makeSlot(b, function, 4));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmulation::checkLocalMemory() {
  DataLayout data = DataLayout::closest(function);
  int64_t bytes = 0;
  WalkResult result = function.walk([&](LLVM::AllocaOp op) {
    APInt count;
    if (!matchPattern(op.getArraySize(), m_ConstantInt(&count))) {
      op.emitError("found local memory of a size that is not known, in '")
          << function.getName() << "'";
      return WalkResult::interrupt();
    }
    int64_t size = data.getTypeSize(op.getElemType());
    if (count.getActiveBits() > 32 ||
        (bytes += size * count.getSExtValue()) > maxLocalBytes) {
      op.emitError("found more local memory than ")
          << maxLocalBytes << " bytes a thread, in '" << function.getName()
          << "'";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult FunctionEmulation::resolveAddress(LLVM::AddressOfOp op) {
  if (!isShared(op.getType()))
    return success();
  std::optional<int32_t> offset = layout.getOffset(op.getGlobalName());
  if (!offset)
    return op.emitError("found no shared variable '")
           << op.getGlobalName() << "' in the module of '" << function.getName()
           << "'";
  if (!isKernel(function))
    return op.emitError("found shared variable '")
           << op.getGlobalName() << "' in '" << function.getName()
           << "', which is not a kernel";
  OpBuilder b(op);
  Value base = getShared();
  Value place = LLVM::GEPOp::create(b, op.getLoc(), op.getType(), b.getI8Type(),
                                    base, ArrayRef<LLVM::GEPArg>{*offset});
  op.replaceAllUsesWith(place);
  op.erase();
  return success();
}

/// Inserts a call before an op that loads from or stores to shared memory.
void FunctionEmulation::noteAccess(Operation *op) {
  DataLayout data = DataLayout::closest(op);
  OpBuilder b(op);
  auto note = [&](StringRef name, Value address, Type type, Value bytes = {}) {
    if (!isShared(address.getType()))
      return;
    Value place = makeWord(b, op->getLoc(), places.add(function, op));
    if (!bytes)
      bytes =
          LLVM::ConstantOp::create(b, op->getLoc(), b.getI64Type(),
                                   b.getI64IntegerAttr(data.getTypeSize(type)));
    else if (bytes.getType() != b.getI64Type())
      bytes = LLVM::ZExtOp::create(b, op->getLoc(), b.getI64Type(), bytes);
    callEmulator(b, op->getLoc(), op, name,
                 {getThread(), place, address, bytes});
  };
  constexpr StringLiteral read = "mp_emulated_read",
                          write = "mp_emulated_write";
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    note(read, load.getAddr(), load.getType());
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    note(write, store.getAddr(), store.getValue().getType());
  if (auto copy = dyn_cast<LLVM::MemcpyOp>(op)) {
    note(read, copy.getSrc(), {}, copy.getLen());
    note(write, copy.getDst(), {}, copy.getLen());
  }
  if (auto set = dyn_cast<LLVM::MemsetOp>(op))
    note(write, set.getDst(), {}, set.getLen());
}

LogicalResult FunctionEmulation::run(bool checkRaces) {
  if (function.isExternal())
    return success();
  if (failed(checkLocalMemory()))
    return failure();
  SmallVector<Operation *> ops;
  function.getBody().walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    if (checkRaces)
      noteAccess(op);
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      if (failed(resolveAddress(address)))
        return failure();
      continue;
    }
    if (failed(emulate(op)))
      return failure();
  }
  return success();
}

} // namespace mp::emulation
