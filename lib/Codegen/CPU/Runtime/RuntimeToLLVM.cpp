//===- RuntimeToLLVM.cpp - Calls of the run-time library ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/RuntimeToLLVM.h"

#include "RuntimePattern.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"
#include "mp-opt/Runtime/Runtime.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace mp {

namespace {

struct LowerFail : public RuntimePattern<runtime::FailOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::FailOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value code = integer(b, loc, b.getI32Type(), MP_BAD_VALUE);
    call(b, op, op.getParallel() ? "mp_report" : "mp_fail",
         {code, getText(b, op), adaptor.getFirst(), adaptor.getSecond()});
    b.eraseOp(op);
    return success();
  }

private:
  /// The address of the text: a global for each text.
  Value getText(ConversionPatternRewriter &b, runtime::FailOp op) const {
    auto module = op->getParentOfType<ModuleOp>();
    std::string text = op.getText().str();
    text.push_back('\0');
    std::string name = ("mp_text_" + Twine(llvm::xxh3_64bits(text))).str();
    auto global = find<LLVM::GlobalOp>(module, name);
    if (!global) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
      global =
          LLVM::GlobalOp::create(b, module.getLoc(), type,
                                 /*isConstant=*/true, LLVM::Linkage::Internal,
                                 name, b.getStringAttr(text));
    }
    return LLVM::AddressOfOp::create(b, op.getLoc(), global);
  }
};

/// Passes sizes and names as tables to the library.
struct LowerCheckInputs : public RuntimePattern<runtime::CheckInputsOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::CheckInputsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    SmallVector<int64_t> sizes;
    for (Type type : op.getTypes().getAsValueRange<TypeAttr>()) {
      auto memref = cast<MemRefType>(type);
      sizes.push_back(memref.getRank());
      for (int64_t size : memref.getShape())
        sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
    }
    std::string names;
    for (StringRef name : op.getNames().getAsValueRange<StringAttr>())
      names += name.str() + '\0';
    Value count = wide(b, op.getLoc(), op.getNames().size());
    Value expected = addTable(b, op, "mp_input_sizes", b.getI64Type(),
                              sizes.size(), b.getI64TensorAttr(sizes));
    Value texts = addTable(b, op, "mp_input_names", b.getI8Type(), names.size(),
                           b.getStringAttr(names));
    call(b, op, "mp_check_inputs",
         {adaptor.getInputs(), count, expected, texts});
    b.eraseOp(op);
    return success();
  }

private:
  Value addTable(ConversionPatternRewriter &b, runtime::CheckInputsOp op,
                 StringRef name, Type element, int64_t count,
                 Attribute content) const {
    OpBuilder::InsertionGuard guard(b);
    auto module = op->getParentOfType<ModuleOp>();
    b.setInsertionPointToStart(module.getBody());
    auto global = LLVM::GlobalOp::create(
        b, module.getLoc(), LLVM::LLVMArrayType::get(element, count),
        /*isConstant=*/true, LLVM::Linkage::Internal, name, content);
    b.setInsertionPoint(op);
    return LLVM::AddressOfOp::create(b, op.getLoc(), global);
  }
};

struct LowerInput : public RuntimePattern<runtime::InputOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::InputOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getType());
    Value array = adaptor.getInputs();
    Value data = LLVM::LoadOp::create(
        b, loc, pointer(op), getField(b, loc, array, op.getNumber(), 0));
    SmallVector<Value> sizes;
    for (auto [axis, extent] : llvm::enumerate(type.getShape()))
      sizes.push_back(ShapedType::isDynamic(extent)
                          ? loadSize(b, loc, array, op.getNumber(), axis)
                          : wide(b, loc, extent));
    b.replaceOp(op, describe(b, loc, type, data, sizes));
    return success();
  }
};

struct LowerInputSize : public RuntimePattern<runtime::InputSizeOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::InputSizeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    b.replaceOp(op, loadSize(b, op.getLoc(), adaptor.getInputs(),
                             op.getNumber(), op.getAxis()));
    return success();
  }
};

struct LowerOutput : public RuntimePattern<runtime::OutputOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::OutputOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getType());
    SmallVector<Value> sizes = getSizes(b, loc, type, adaptor.getSizes());
    Value address = getField(b, loc, adaptor.getOutputs(), op.getNumber(), 0);
    Value places = LLVM::LoadOp::create(
        b, loc, pointer(op),
        getField(b, loc, adaptor.getOutputs(), op.getNumber(), 1));
    for (auto [axis, size] : llvm::enumerate(sizes)) {
      Value place = LLVM::GEPOp::create(
          b, loc, pointer(op), b.getI64Type(), places,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(axis)});
      LLVM::StoreOp::create(b, loc, size, place);
    }
    Value data = call(b, op, "mp_output",
                      {address, getBytes(b, loc, type, sizes)}, pointer(op));
    b.replaceOp(op, describe(b, loc, type, data, sizes));
    return success();
  }
};

struct LowerConstant : public RuntimePattern<runtime::ConstantOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::ConstantOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getType());
    auto module = op->getParentOfType<ModuleOp>();
    auto global = find<LLVM::GlobalOp>(module, op.getSymbol());
    if (!global) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto bytes = LLVM::LLVMArrayType::get(
          b.getI8Type(),
          type.getNumElements() *
              ((type.getElementType().getIntOrFloatBitWidth() + 7) / 8));
      global =
          LLVM::GlobalOp::create(b, module.getLoc(), bytes,
                                 /*isConstant=*/true, LLVM::Linkage::External,
                                 op.getSymbol(), Attribute());
    }
    Value data = LLVM::AddressOfOp::create(b, loc, global);
    b.replaceOp(op, describe(b, loc, type, data, getSizes(b, loc, type, {})));
    return success();
  }
};

struct LowerDraw : public RuntimePattern<runtime::DrawOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::DrawOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Type wide = b.getI64Type();
    Value seed = integer(b, op.getLoc(), wide, op.getSeed());
    b.replaceOp(op, call(b, op, "mp_draw", seed, wide));
    return success();
  }
};

struct LowerTimestamp : public RuntimePattern<runtime::TimestampOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::TimestampOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Value number = integer(b, op.getLoc(), b.getI64Type(), op.getNumber());
    call(b, op, "mp_stamp", number);
    b.eraseOp(op);
    return success();
  }
};

/// Passes each member's memory, and the number of its type in ONNX.
struct LowerCollectiveStart
    : public RuntimePattern<runtime::CollectiveStartOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::CollectiveStartOp op,
                                OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    for (Type type : op.getMembers().getTypes()) {
      Type element = cast<MemRefType>(type).getElementType();
      if (!cast<MemRefType>(type).getLayout().isIdentity() ||
          !(element.isF32() || element.isF64() || element.isInteger(8)))
        return b.notifyMatchFailure(op, "no line of floats or flags");
    }
    for (auto [member, memory] :
         llvm::zip(op.getMembers(), adaptor.getMembers()))
      start(op, adaptor, cast<MemRefType>(member.getType()), memory, b);
    b.eraseOp(op);
    return success();
  }

private:
  void start(runtime::CollectiveStartOp op, OpAdaptor adaptor, MemRefType type,
             Value member, ConversionPatternRewriter &b) const {
    Location loc = op.getLoc();
    MemRefDescriptor memory(member);
    Value count = countElements(b, loc, type, memory);
    Value rows = LLVM::ZeroOp::create(b, loc, pointer(op));
    Value numRows = wide(b, loc, 0), size = wide(b, loc, 0);
    if (op.getRows() && type.getRank() > 0) {
      MemRefDescriptor indices(adaptor.getRows());
      rows = indices.alignedPtr(b, loc);
      numRows = countElements(b, loc, cast<MemRefType>(op.getRows().getType()),
                              indices);
      size = memory.size(b, loc, 0);
    }
    Type element = type.getElementType();
    int32_t number = element.isF32()   ? MP_FLOAT
                     : element.isF64() ? MP_DOUBLE
                                       : MP_BOOL;
    Type i32 = b.getI32Type();
    call(b, op, "mp_reduce_start",
         {getCondition(b, op, adaptor.getCondition()),
          integer(b, loc, i32, op.getBucket()),
          integer(b, loc, i32, op.getMembers().size()),
          integer(b, loc, i32, op.getKind()), integer(b, loc, i32, number),
          memory.alignedPtr(b, loc), count, rows, numRows, size});
  }

  Value countElements(ConversionPatternRewriter &b, Location loc,
                      MemRefType type, MemRefDescriptor &memory) const {
    Value count = wide(b, loc, 1);
    for (auto [axis, extent] : llvm::enumerate(type.getShape()))
      count = LLVM::MulOp::create(b, loc, count,
                                  ShapedType::isDynamic(extent)
                                      ? memory.size(b, loc, axis)
                                      : wide(b, loc, extent));
    return count;
  }
};

struct LowerCollectiveWait : public RuntimePattern<runtime::CollectiveWaitOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::CollectiveWaitOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    call(b, op, "mp_reduce_wait",
         {getCondition(b, op, adaptor.getCondition()),
          integer(b, op.getLoc(), b.getI32Type(), op.getBucket())});
    b.eraseOp(op);
    return success();
  }
};

struct LowerAlloc : public RuntimePattern<memref::AllocOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(memref::AllocOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    MemRefType type = op.getType();
    if (!type.getLayout().isIdentity())
      return b.notifyMatchFailure(op, "not row-major");
    SmallVector<Value> sizes =
        getSizes(b, loc, type, adaptor.getDynamicSizes());
    Value data =
        call(b, op, "mp_allocate", getBytes(b, loc, type, sizes), pointer(op));
    b.replaceOp(op, describe(b, loc, type, data, sizes));
    return success();
  }
};

struct LowerDealloc : public RuntimePattern<memref::DeallocOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(memref::DeallocOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    MemRefDescriptor descriptor(adaptor.getMemref());
    call(b, op, "mp_free", descriptor.allocatedPtr(b, op.getLoc()));
    b.eraseOp(op);
    return success();
  }
};

struct LowerScratch : public RuntimePattern<runtime::ScratchOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::ScratchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value buffer = integer(b, loc, b.getI32Type(), op.getBuffer());
    Value data =
        call(b, op, "mp_scratch", {buffer, adaptor.getBytes()}, pointer(op));
    b.replaceOp(op, describe(b, loc, cast<MemRefType>(op.getType()), data,
                             adaptor.getBytes()));
    return success();
  }
};

struct LowerCacheLookup : public RuntimePattern<runtime::CacheLookupOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::CacheLookupOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value data = call(b, op, "mp_kept", adaptor.getEntry(), pointer(op));
    Value null = LLVM::ZeroOp::create(b, loc, pointer(op));
    Value there =
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, data, null);
    auto type = cast<MemRefType>(op.getMemory().getType());
    b.replaceOp(op, {describe(b, loc, type, data, adaptor.getCount()), there});
    return success();
  }
};

struct LowerCacheInsert : public RuntimePattern<runtime::CacheInsertOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::CacheInsertOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    MemRefDescriptor memory(adaptor.getMemory());
    Value data =
        call(b, op, "mp_keep",
             {adaptor.getEntry(), memory.allocatedPtr(b, loc)}, pointer(op));
    b.replaceOp(op, describe(b, loc, cast<MemRefType>(op.getType()), data,
                             memory.size(b, loc, 0)));
    return success();
  }
};

/// Makes a frame with the captured values, and a function that calls the body
/// with them. For known memrefs the frame has only the pointer.
struct LowerLaunch : public RuntimePattern<runtime::LaunchOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult matchAndRewrite(runtime::LaunchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    SmallVector<Value> fields;
    for (auto [capture, value] :
         llvm::zip(op.getCaptures(), adaptor.getCaptures())) {
      if (runtime::isKnown(capture.getType()))
        fields.push_back(MemRefDescriptor(value).alignedPtr(b, loc));
      else
        llvm::append_range(fields, getTypeConverter()->promoteOperands(
                                       loc, capture, value, b));
    }
    SmallVector<Type> types;
    for (Value field : fields)
      types.push_back(field.getType());
    auto frameType = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
    Value frame;
    {
      // The frame is allocated once for each call of the function.
      OpBuilder::InsertionGuard guard(b);
      auto function = op->getParentOfType<FunctionOpInterface>();
      b.setInsertionPointToStart(&function.getFunctionBody().front());
      frame = LLVM::AllocaOp::create(b, loc, pointer(op), frameType,
                                     wide(b, loc, 1), /*alignment=*/16);
    }
    for (auto [index, field] : llvm::enumerate(fields))
      LLVM::StoreOp::create(b, loc, field,
                            getFieldAddress(b, loc, frameType, frame, index));
    std::string name = (op.getCallee() + "_frame").str();
    auto module = op->getParentOfType<ModuleOp>();
    if (!find<LLVM::LLVMFuncOp>(module, name))
      createTrampoline(b, op, name, frameType);
    Value body = LLVM::AddressOfOp::create(b, loc, pointer(op), name);
    call(b, op, "mp_parallel_for",
         {adaptor.getCount(), adaptor.getGrain(), body, frame});
    b.eraseOp(op);
    return success();
  }

private:
  Value getFieldAddress(OpBuilder &b, Location loc, Type frameType, Value frame,
                        int32_t index) const {
    return LLVM::GEPOp::create(b, loc, frame.getType(), frameType, frame,
                               ArrayRef<LLVM::GEPArg>{0, index});
  }

  void createTrampoline(ConversionPatternRewriter &b, runtime::LaunchOp op,
                        StringRef name, LLVM::LLVMStructType frameType) const {
    OpBuilder::InsertionGuard guard(b);
    auto module = op->getParentOfType<ModuleOp>();
    Location loc = module.getLoc();
    b.setInsertionPointToEnd(module.getBody());
    Type address = LLVM::LLVMPointerType::get(b.getContext());
    Type nothing = LLVM::LLVMVoidType::get(b.getContext());
    Type i64 = b.getI64Type();
    auto function = LLVM::LLVMFuncOp::create(
        b, loc, name, LLVM::LLVMFunctionType::get(nothing, {address, i64, i64}),
        LLVM::Linkage::Internal);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    int32_t next = 0;
    auto load = [&] {
      Value field =
          getFieldAddress(b, loc, frameType, entry->getArgument(0), next);
      return LLVM::LoadOp::create(b, loc, frameType.getBody()[next++], field);
    };
    SmallVector<Value> arguments;
    for (Value capture : op.getCaptures()) {
      Type type = capture.getType();
      if (runtime::isKnown(type)) {
        auto captured = cast<MemRefType>(runtime::getCapturedType(type));
        Value memref = MemRefDescriptor::fromStaticShape(
            b, loc, *getTypeConverter(), captured, load());
        MemRefDescriptor::unpack(b, loc, memref, captured, arguments);
        continue;
      }
      auto memref = dyn_cast<MemRefType>(type);
      unsigned count = memref ? 3 + 2 * memref.getRank() : 1;
      for (unsigned field = 0; field < count; ++field)
        arguments.push_back(load());
    }
    arguments.push_back(entry->getArgument(1));
    arguments.push_back(entry->getArgument(2));
    LLVM::CallOp::create(b, loc, TypeRange(), op.getCallee(), arguments);
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }
};

} // namespace

void populateRuntimeToLLVMPatterns(const LLVMTypeConverter &converter,
                                   RewritePatternSet &patterns) {
  auto symbols = std::make_shared<MadeSymbols>();
  patterns.add<LowerAlloc, LowerCacheInsert, LowerCacheLookup, LowerCheckInputs,
               LowerConstant, LowerDealloc, LowerDraw, LowerFail, LowerInput,
               LowerInputSize, LowerLaunch, LowerOutput, LowerCollectiveStart,
               LowerCollectiveWait, LowerTimestamp>(converter, symbols);
  populateScratchToLLVMPatterns(converter, patterns);
}

void populateScratchToLLVMPatterns(const LLVMTypeConverter &converter,
                                   RewritePatternSet &patterns) {
  auto symbols = std::make_shared<MadeSymbols>();
  patterns.add<LowerScratch>(converter, symbols);
}

} // namespace mp
