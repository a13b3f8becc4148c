//===- OutlineContracts.cpp - One function for equal contractions ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/OutlineContracts.h"

#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

namespace mp::kernel {

/// The sizes of the dimensions that are not alone in any result of a map.
static SmallVector<Value> findSizes(ContractOp op,
                                    const SharedContract &contract) {
  SmallVector<bool> alone(contract.dims.size(), false);
  for (AffineMap map : contract.maps)
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        alone[dim.getPosition()] = true;
  SmallVector<Value> sizes;
  auto sources = op.getSizeSources();
  for (auto [dim, isAlone] : llvm::zip_equal(contract.dims, alone))
    if (!isAlone)
      sizes.push_back(op.getSizes()[sources[dim].second]);
  return sizes;
}

/// Clones the constants that the epilogue uses to its start and returns the
/// other values that it uses.
static SmallVector<Value> isolateEpilogue(OpBuilder &builder, ContractOp op) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op.getEpilogue(), used);
  SmallVector<Value> captured;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getEpilogue().front());
  for (Value value : used) {
    if (!matchPattern(value, m_Constant())) {
      captured.push_back(value);
      continue;
    }
    Value clone = builder.clone(*value.getDefiningOp())->getResult(0);
    replaceAllUsesInRegionWith(value, clone, op.getEpilogue());
  }
  return captured;
}

/// The function of a contraction, which has no name yet, and the arguments of
/// its call.
static func::FuncOp makeFunction(OpBuilder &builder, ContractOp op,
                                 SmallVectorImpl<Value> &arguments) {
  Location loc = op.getLoc();
  SharedContract contract = SharedContract::get(op);
  SmallVector<Value> sizes = findSizes(op, contract);
  SmallVector<Value> captured = isolateEpilogue(builder, op);
  // Memory that is both read and written is one pointer. The result is last.
  SmallVector<Value> operands = op.getMappedOperands();
  SmallVector<unsigned> positions;
  for (auto [operand, type] : llvm::zip_equal(operands, contract.types)) {
    bool isResult = positions.size() + 1 == operands.size();
    const auto *same = llvm::find(operands, operand);
    unsigned number = same - operands.begin();
    if (isResult && number < positions.size() &&
        contract.types[number] == type) {
      positions.push_back(positions[number]);
      continue;
    }
    positions.push_back(arguments.size());
    arguments.push_back(
        type == operand.getType()
            ? operand
            : memref::CastOp::create(builder, loc, type, operand).getResult());
  }
  unsigned numMemories = arguments.size();
  llvm::append_range(arguments, sizes);
  llvm::append_range(arguments, captured);
  OpBuilder inner(op.getContext());
  auto function = func::FuncOp::create(
      loc, "kernel_contract",
      inner.getFunctionType(ValueRange(arguments).getTypes(), {}));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  inner.setInsertionPointToStart(entry);
  ValueRange values = entry->getArguments();
  auto memories = llvm::map_to_vector(
      positions, [&](unsigned position) -> Value { return values[position]; });
  auto outlined = ContractOp::create(
      inner, loc, memories[0], memories[1],
      ArrayRef<Value>(memories).drop_front(2).drop_back(),
      values.slice(numMemories, sizes.size()), memories.back(), contract.maps);
  outlined.copyRounding(op);
  outlined.setConfigAttr(op.getConfigAttr());
  contract.annotate(outlined);
  IRMapping mapping;
  mapping.map(captured, values.drop_front(numMemories + sizes.size()));
  op.getEpilogue().cloneInto(&outlined.getEpilogue(), mapping);
  func::ReturnOp::create(inner, loc);
  return function;
}

namespace {
/// Entries for panels of constants that outlast a call. If one function packs
/// the same sizes of the same memory, the panels are the same.
class CacheEntries {
public:
  /// The entry of `op`, which calls this function.
  int64_t get(func::FuncOp function, ContractOp op);
  int64_t size() const { return numbers.size(); }

private:
  std::map<std::tuple<Operation *, void *, SmallVector<int64_t>>, int64_t>
      numbers;
};
} // namespace

static bool isCached(ContractOp op) {
  return op.getConfig() && op.getConfig()->getCached() != Cached::None;
}

int64_t CacheEntries::get(func::FuncOp function, ContractOp op) {
  unsigned operand = op->getAttrOfType<IntegerAttr>(constantName).getInt();
  Value memory = op.getMappedOperands()[operand];
  return numbers
      .try_emplace(
          {function, memory.getAsOpaquePointer(), *getPackedSizes(op, operand)},
          numbers.size())
      .first->second;
}

void outlineContracts(ModuleOp module) {
  SmallVector<ContractOp> found;
  module.walk([&](ContractOp op) { found.push_back(op); });
  llvm::StringMap<func::FuncOp> functions;
  SymbolTable symbols(module);
  OpBuilder builder(module.getContext());
  CacheEntries entries;
  for (ContractOp op : found) {
    builder.setInsertionPoint(op);
    SmallVector<Value> arguments;
    func::FuncOp function = makeFunction(builder, op, arguments);
    if (isCached(op))
      (void)function.insertArgument(function.getNumArguments(),
                                    builder.getIndexType(), {}, op.getLoc());
    std::string text;
    llvm::raw_string_ostream stream(text);
    function.print(stream, OpPrintingFlags().useLocalScope());
    auto [place, isNew] = functions.try_emplace(text, function);
    if (isNew)
      symbols.insert(function);
    else
      function.erase();
    if (isCached(op))
      arguments.push_back(arith::ConstantIndexOp::create(
          builder, op.getLoc(), entries.get(place->second, op)));
    func::CallOp::create(builder, op.getLoc(), place->second, arguments);
    op.erase();
  }
  if (entries.size() > 0)
    module->setAttr(mark::cacheEntries,
                    builder.getI64IntegerAttr(entries.size()));
}

} // namespace mp::kernel
