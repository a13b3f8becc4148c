//===- RuntimePattern.h - Patterns that call the run-time -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_RUNTIMEPATTERN_H
#define MPOPT_LIB_CODEGEN_CPU_RUNTIMEPATTERN_H

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// The symbols that the patterns have made in the module. To search it for each
/// op would take quadratic time in a model's length.
class MadeSymbols {
public:
  /// Absent if there is none of this kind.
  template <typename Op> Op find(mlir::ModuleOp module, llvm::StringRef name) {
    mlir::Operation *&entry = entries[name];
    if (!entry)
      entry = module.lookupSymbol<Op>(name);
    return llvm::dyn_cast_or_null<Op>(entry);
  }

private:
  llvm::StringMap<mlir::Operation *> entries;
};

/// The base class of the patterns.
template <typename Op>
class RuntimePattern : public mlir::ConvertOpToLLVMPattern<Op> {
public:
  // Allocations have patterns in MLIR too.
  RuntimePattern(const mlir::LLVMTypeConverter &converter,
                 std::shared_ptr<MadeSymbols> symbols)
      : mlir::ConvertOpToLLVMPattern<Op>(converter, /*benefit=*/10),
        symbols(std::move(symbols)) {}

protected:
  template <typename Symbol>
  Symbol find(mlir::ModuleOp module, llvm::StringRef name) const {
    return symbols->find<Symbol>(module, name);
  }

  mlir::Type pointer(mlir::Operation *op) const {
    return mlir::LLVM::LLVMPointerType::get(op->getContext());
  }

  /// The result of a call of a function of the library; null if it has none.
  mlir::Value call(mlir::ConversionPatternRewriter &b, mlir::Operation *op,
                   llvm::StringRef name, mlir::ValueRange arguments,
                   mlir::Type result = {}) const {
    auto module = op->getParentOfType<mlir::ModuleOp>();
    auto function = find<mlir::LLVM::LLVMFuncOp>(module, name);
    if (!function) {
      mlir::OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      mlir::Type type =
          result ? result : mlir::LLVM::LLVMVoidType::get(op->getContext());
      function = mlir::LLVM::LLVMFuncOp::create(
          b, module.getLoc(), name,
          mlir::LLVM::LLVMFunctionType::get(
              type, llvm::to_vector(arguments.getTypes())));
    }
    auto made =
        mlir::LLVM::CallOp::create(b, op->getLoc(), function, arguments);
    return result ? made.getResult() : mlir::Value();
  }

  mlir::Value integer(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                      mlir::Type type, int64_t value) const {
    return mlir::LLVM::ConstantOp::create(b, loc, type,
                                          b.getIntegerAttr(type, value));
  }
  mlir::Value wide(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                   int64_t value) const {
    return integer(b, loc, b.getI64Type(), value);
  }

  /// The condition of an op: `flag`, or true if it is always done.
  mlir::Value getCondition(mlir::ConversionPatternRewriter &b,
                           mlir::Operation *op, mlir::Value flag) const {
    if (!flag)
      return integer(b, op->getLoc(), b.getI32Type(), 1);
    return mlir::LLVM::ZExtOp::create(b, op->getLoc(), b.getI32Type(), flag);
  }

  /// The address of field `field` of entry `number` of an array of mp_tensor.
  mlir::Value getField(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                       mlir::Value array, int64_t number, int32_t field) const {
    mlir::Type address = mlir::LLVM::LLVMPointerType::get(b.getContext());
    auto tensor = mlir::LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                         {address, address});
    return mlir::LLVM::GEPOp::create(b, loc, address, tensor, array,
                                     mlir::ArrayRef<mlir::LLVM::GEPArg>{
                                         static_cast<int32_t>(number), field});
  }

  mlir::Value loadSize(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                       mlir::Value array, int64_t number, int64_t axis) const {
    mlir::Type address = mlir::LLVM::LLVMPointerType::get(b.getContext());
    mlir::Value sizes = mlir::LLVM::LoadOp::create(
        b, loc, address, getField(b, loc, array, number, 1));
    mlir::Value place = mlir::LLVM::GEPOp::create(
        b, loc, address, b.getI64Type(), sizes,
        mlir::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(axis)});
    return mlir::LLVM::LoadOp::create(b, loc, b.getI64Type(), place);
  }

  /// A descriptor of row-major memory.
  mlir::Value describe(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                       mlir::MemRefType type, mlir::Value data,
                       mlir::ArrayRef<mlir::Value> sizes) const {
    auto &converter = *this->getTypeConverter();
    auto descriptor =
        mlir::MemRefDescriptor::poison(b, loc, converter.convertType(type));
    descriptor.setAllocatedPtr(b, loc, data);
    descriptor.setAlignedPtr(b, loc, data);
    descriptor.setOffset(b, loc, wide(b, loc, 0));
    mlir::Value stride = wide(b, loc, 1);
    for (int64_t axis = type.getRank(); axis-- > 0;) {
      descriptor.setSize(b, loc, axis, sizes[axis]);
      descriptor.setStride(b, loc, axis, stride);
      stride = mlir::LLVM::MulOp::create(b, loc, stride, sizes[axis]);
    }
    return descriptor;
  }

  mlir::Value getBytes(mlir::ConversionPatternRewriter &b, mlir::Location loc,
                       mlir::MemRefType type,
                       mlir::ArrayRef<mlir::Value> sizes) const {
    mlir::Type element =
        this->getTypeConverter()->convertType(type.getElementType());
    unsigned bits = llvm::isa<mlir::IntegerType, mlir::FloatType>(element)
                        ? element.getIntOrFloatBitWidth()
                        : 64;
    mlir::Value bytes = wide(b, loc, (bits + 7) / 8);
    if (type.hasStaticShape()) {
      for (mlir::Value size : sizes)
        bytes = mlir::LLVM::MulOp::create(b, loc, bytes, size);
      return bytes;
    }
    // Sizes come from data: one that overflows becomes -1, which cannot be
    // allocated.
    mlir::Type i1 = b.getI1Type(), i64 = b.getI64Type();
    auto pair =
        mlir::LLVM::LLVMStructType::getLiteral(b.getContext(), {i64, i1});
    mlir::Value overflows = integer(b, loc, i1, 0);
    for (mlir::Value size : sizes) {
      mlir::Value product =
          mlir::LLVM::UMulWithOverflowOp::create(b, loc, pair, bytes, size);
      bytes = mlir::LLVM::ExtractValueOp::create(b, loc, product, 0);
      overflows = mlir::LLVM::OrOp::create(
          b, loc, overflows,
          mlir::LLVM::ExtractValueOp::create(b, loc, product, 1));
    }
    return mlir::LLVM::SelectOp::create(b, loc, overflows, wide(b, loc, -1),
                                        bytes);
  }

  /// Sizes of `type`, the unknown ones from `dynamic`.
  mlir::SmallVector<mlir::Value> getSizes(mlir::ConversionPatternRewriter &b,
                                          mlir::Location loc,
                                          mlir::MemRefType type,
                                          mlir::ValueRange dynamic) const {
    mlir::SmallVector<mlir::Value> sizes;
    for (int64_t extent : type.getShape()) {
      if (!mlir::ShapedType::isDynamic(extent)) {
        sizes.push_back(wide(b, loc, extent));
        continue;
      }
      sizes.push_back(dynamic.front());
      dynamic = dynamic.drop_front();
    }
    return sizes;
  }

private:
  std::shared_ptr<MadeSymbols> symbols;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_CPU_RUNTIMEPATTERN_H
