//===- KernelTable.cpp - The emulator's table of kernels ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mp::emulation {

void readSizes(KernelEntry &entry) {
  auto read = [&](StringRef name) {
    auto sizes = entry.function->getAttrOfType<DenseI32ArrayAttr>(name);
    return sizes ? sizes.asArrayRef() : ArrayRef<int32_t>();
  };
  int64_t most = 1;
  ArrayRef<int32_t> expected = read(NVVM::NVVMDialect::getReqntidAttrName());
  for (auto [axis, size] : llvm::enumerate(expected.take_front(3)))
    entry.block[axis] = size;
  if (!expected.empty())
    for (int32_t &size : entry.block)
      size = std::max(size, 1);
  ArrayRef<int32_t> sizes = expected.empty()
                                ? read(NVVM::NVVMDialect::getMaxntidAttrName())
                                : ArrayRef<int32_t>(entry.block);
  for (int32_t size : sizes)
    most = std::min<int64_t>(most * std::max(size, 1), INT32_MAX);
  entry.maxThreads = sizes.empty() ? 0 : static_cast<int32_t>(most);
}

namespace {

class TableWriter {
public:
  TableWriter(ModuleOp module)
      : module(module), loc(module.getLoc()),
        b(OpBuilder::atBlockEnd(module.getBody())) {}

  void write(ArrayRef<KernelEntry> entries, const Places &places);

private:
  Type getPointer() { return LLVM::LLVMPointerType::get(b.getContext()); }
  Type getEntryType();
  LLVM::LLVMFuncOp pack(const KernelEntry &entry);
  LLVM::GlobalOp makeText(StringRef name, StringRef text);
  LLVM::GlobalOp makeGaps(const KernelEntry &entry);
  /// Fields of one entry, as constants of the table's initializer.
  Value makeEntry(const KernelEntry &entry, LLVM::LLVMFuncOp packed,
                  LLVM::GlobalOp text, LLVM::GlobalOp gaps,
                  LLVM::GlobalOp places);

  ModuleOp module;
  Location loc;
  OpBuilder b;
};

} // namespace

Type TableWriter::getEntryType() {
  Type word = b.getI32Type(), pointer = getPointer();
  return LLVM::LLVMStructType::getLiteral(
      b.getContext(),
      {pointer, pointer, word, word, word, word,
       LLVM::LLVMArrayType::get(word, 3), word, pointer, pointer});
}

/// Creates the function right after the kernel, which can be inlined into it.
LLVM::LLVMFuncOp TableWriter::pack(const KernelEntry &entry) {
  OpBuilder::InsertionGuard guard(b);
  LLVM::LLVMFuncOp kernel = entry.function;
  b.setInsertionPointAfter(kernel);
  auto packed = LLVM::LLVMFuncOp::create(
      b, loc, (kernel.getName() + "__packed").str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  {getPointer()}),
      LLVM::Linkage::Internal);
  Block *body = packed.addEntryBlock(b);
  b.setInsertionPointToStart(body);
  SmallVector<Value> arguments;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    Value place = LLVM::GEPOp::create(
        b, loc, getPointer(), getPointer(), body->getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    Value address = LLVM::LoadOp::create(b, loc, getPointer(), place);
    arguments.push_back(LLVM::LoadOp::create(b, loc, type, address));
  }
  LLVM::CallOp::create(b, loc, kernel, arguments);
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return packed;
}

LLVM::GlobalOp TableWriter::makeText(StringRef name, StringRef text) {
  return LLVM::GlobalOp::create(
      b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
      /*isConstant=*/true, LLVM::Linkage::Internal, name,
      b.getStringAttr(text));
}

LLVM::GlobalOp TableWriter::makeGaps(const KernelEntry &entry) {
  LLVM::LLVMFuncOp function = entry.function;
  ArrayRef<int32_t> gaps = entry.layout.getGaps();
  if (gaps.empty())
    return nullptr;
  auto type = LLVM::LLVMArrayType::get(b.getI32Type(), gaps.size());
  auto tensor = RankedTensorType::get({static_cast<int64_t>(gaps.size())},
                                      b.getI32Type());
  return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                LLVM::Linkage::Internal,
                                (function.getName() + "__gaps").str(),
                                DenseElementsAttr::get(tensor, gaps));
}

Value TableWriter::makeEntry(const KernelEntry &entry, LLVM::LLVMFuncOp packed,
                             LLVM::GlobalOp text, LLVM::GlobalOp gaps,
                             LLVM::GlobalOp places) {
  Value value = LLVM::PoisonOp::create(b, loc, getEntryType());
  auto set = [&](Value field, ArrayRef<int64_t> position) {
    value = LLVM::InsertValueOp::create(b, loc, value, field, position);
  };
  auto word = [&](int64_t number) { return makeWord(b, loc, number); };
  auto address = [&](LLVM::GlobalOp global) -> Value {
    if (!global)
      return LLVM::ZeroOp::create(b, loc, getPointer());
    return LLVM::AddressOfOp::create(b, loc, global);
  };
  set(address(text), 0);
  set(LLVM::AddressOfOp::create(b, loc, packed), 1);
  set(word(LLVM::LLVMFuncOp(entry.function).getNumArguments()), 2);
  set(word(entry.layout.getStaticBytes()), 3);
  set(word(entry.maxThreads), 4);
  set(word(entry.flags), 5);
  for (int64_t axis = 0; axis < 3; ++axis)
    set(word(entry.block[axis]), {6, axis});
  set(word(entry.layout.getGaps().size() / 2), 7);
  set(address(gaps), 8);
  set(address(places), 9);
  return value;
}

void TableWriter::write(ArrayRef<KernelEntry> entries, const Places &places) {
  SmallVector<std::array<LLVM::GlobalOp, 2>> globals;
  SmallVector<LLVM::LLVMFuncOp> packed;
  for (const KernelEntry &entry : entries) {
    packed.push_back(pack(entry));
    globals.push_back(
        {makeText((LLVM::LLVMFuncOp(entry.function).getName() + "__name").str(),
                  entry.name + std::string(1, '\0')),
         makeGaps(entry)});
  }
  LLVM::GlobalOp texts;
  if (!places.getTexts().empty())
    texts = makeText("mp_emulated_places", places.getTexts());
  auto count = b.getI32IntegerAttr(static_cast<int32_t>(entries.size()));
  LLVM::GlobalOp::create(b, loc, b.getI32Type(), /*isConstant=*/true,
                         LLVM::Linkage::External,
                         (tableName.drop_back() + "_count").str(), count);
  auto type = LLVM::LLVMArrayType::get(getEntryType(), entries.size());
  auto table =
      LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                             LLVM::Linkage::External, tableName, Attribute());
  b.createBlock(&table.getInitializerRegion());
  Value value = LLVM::PoisonOp::create(b, loc, type);
  for (auto [index, entry] : llvm::enumerate(entries))
    value = LLVM::InsertValueOp::create(
        b, loc, value,
        makeEntry(entry, packed[index], globals[index][0], globals[index][1],
                  texts),
        ArrayRef<int64_t>{static_cast<int64_t>(index)});
  LLVM::ReturnOp::create(b, loc, value);
}

void writeKernelTable(ModuleOp module, ArrayRef<KernelEntry> entries,
                      const Places &places) {
  TableWriter(module).write(entries, places);
}

} // namespace mp::emulation
