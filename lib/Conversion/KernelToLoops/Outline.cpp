//===- Outline.cpp - One function for equal contractions ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outline.h"
#include "Blocked.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

namespace mp::kernel {

/// The type without static sizes; steps of one are kept, since they decide how
/// elements are read.
static MemRefType forgetSizes(MemRefType type) {
  SmallVector<int64_t> shape(type.getRank(), ShapedType::kDynamic);
  if (type.getLayout().isIdentity())
    return MemRefType::get(shape, type.getElementType(), nullptr,
                           type.getMemorySpace());
  auto [strides, offset] = type.getStridesAndOffset();
  for (int64_t &stride : strides)
    if (stride != 1)
      stride = ShapedType::kDynamic;
  return MemRefType::get(
      shape, type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides),
      type.getMemorySpace());
}

/// Static sizes of the dimensions, kDynamic where unknown.
static SmallVector<int64_t> getStaticSizes(ContractOp op) {
  SmallVector<int64_t> sizes;
  SmallVector<Value> operands = op.getMappedOperands();
  for (auto [operand, position] : op.getSizeSources()) {
    APInt known;
    if (operand >= 0)
      sizes.push_back(
          cast<MemRefType>(operands[operand].getType()).getDimSize(position));
    else if (matchPattern(op.getSizes()[position], m_ConstantInt(&known)))
      sizes.push_back(known.getSExtValue());
    else
      sizes.push_back(ShapedType::kDynamic);
  }
  return sizes;
}

/// Whether all values of a map's result are places of the operand.
static bool isInBounds(const LinearForm &form, ArrayRef<int64_t> sizes,
                       int64_t operandSize) {
  if (form.getSingleDim() >= 0)
    return true;
  if (ShapedType::isDynamic(operandSize))
    return false;
  int64_t low = form.constant, high = form.constant;
  for (auto [factor, size] : llvm::zip_equal(form.factors, sizes)) {
    if (factor == 0)
      continue;
    if (ShapedType::isDynamic(size))
      return false;
    (factor < 0 ? low : high) += factor * (size - 1);
  }
  return low >= 0 && high < operandSize;
}

namespace {
/// A contraction without dimensions of size one.
struct Simplified {
  SmallVector<AffineMap> maps;
  SmallVector<Value> sizes;
  SmallVector<Attribute> inBounds;
  SmallVector<int64_t> leastSizes;
};
} // namespace

/// See shallowName.
static bool isShallow(ContractOp op) {
  AffineMap result = op.getMaps().back();
  int64_t depth = 1;
  for (auto [dim, size] : llvm::enumerate(getStaticSizes(op))) {
    if (result.isFunctionOfDim(dim))
      continue;
    if (ShapedType::isDynamic(size) || size > mostShallow)
      return false;
    depth *= size;
    if (depth > mostShallow)
      return false;
  }
  return true;
}

/// What code may depend on: sizes that differ by more share a function.
static int64_t getLeastSize(int64_t size) {
  if (ShapedType::isDynamic(size))
    return 0;
  if (size < leastLong)
    return size;
  return size <= mostFew ? leastLong : mostFew + 1;
}

/// Whether leaving out `dim`, whose size is one, leaves dimensions alone only
/// where they have the operand's size.
static bool isRemovable(ContractOp op, unsigned dim, ArrayRef<int64_t> sizes) {
  for (auto [map, operand] :
       llvm::zip_equal(op.getMaps(), op.getMappedOperands()))
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(dim))
        continue;
      LinearForm form = *getLinearForm(expr, sizes.size());
      form.factors[dim] = 0;
      int left = form.getSingleDim();
      int64_t size = cast<MemRefType>(operand.getType()).getDimSize(position);
      if (left >= 0 && (ShapedType::isDynamic(size) || sizes[left] != size))
        return false;
    }
  return true;
}

/// Where nothing else is counted together with a dimension, it is one line,
/// however long: functions for sizes that are known suit all others.
static void forgetLongLines(Simplified &simple) {
  auto getOperands = [&](unsigned dim) {
    return std::tuple(simple.maps[0].isFunctionOfDim(dim),
                      simple.maps[1].isFunctionOfDim(dim),
                      simple.maps.back().isFunctionOfDim(dim));
  };
  auto dims = llvm::seq<unsigned>(0, simple.leastSizes.size());
  for (unsigned dim : dims) {
    bool isAlone = llvm::count_if(dims, [&](unsigned other) {
                     return getOperands(other) == getOperands(dim);
                   }) == 1;
    if (isAlone && simple.leastSizes[dim] > mostFew)
      simple.leastSizes[dim] = 0;
  }
}

static Simplified simplify(ContractOp op) {
  Simplified result;
  SmallVector<int64_t> sizes = getStaticSizes(op);
  SmallVector<AffineExpr> replacements;
  Builder builder(op.getContext());
  unsigned kept = 0;
  for (auto [dim, source] : llvm::enumerate(op.getSizeSources())) {
    if (sizes[dim] == 1 && isRemovable(op, dim, sizes)) {
      replacements.push_back(builder.getAffineConstantExpr(0));
      continue;
    }
    replacements.push_back(builder.getAffineDimExpr(kept++));
    result.leastSizes.push_back(getLeastSize(sizes[dim]));
  }
  for (auto [map, operand] :
       llvm::zip_equal(op.getMaps(), op.getMappedOperands())) {
    result.maps.push_back(map.replaceDimsAndSymbols(replacements, {}, kept, 0));
    SmallVector<bool> inBounds;
    for (auto [position, expr] : llvm::enumerate(map.getResults()))
      inBounds.push_back(
          isInBounds(*getLinearForm(expr, sizes.size()), sizes,
                     cast<MemRefType>(operand.getType()).getDimSize(position)));
    result.inBounds.push_back(builder.getDenseBoolArrayAttr(inBounds));
  }
  forgetLongLines(result);
  return result;
}

/// Of the dimensions that stand nowhere alone, the sizes.
static void findSizes(OpBuilder &builder, ContractOp op, Simplified &simple) {
  unsigned numDims = simple.maps.front().getNumDims();
  SmallVector<bool> alone(numDims, false);
  for (AffineMap map : simple.maps)
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        alone[dim.getPosition()] = true;
  SmallVector<int64_t> sizes = getStaticSizes(op);
  unsigned next = 0;
  for (auto [dim, source] : llvm::enumerate(op.getSizeSources())) {
    if (sizes[dim] == 1 && isRemovable(op, dim, sizes))
      continue;
    if (!alone[next++])
      simple.sizes.push_back(op.getSizes()[source.second]);
  }
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

/// The function of a contraction, whose name is still missing, and the
/// arguments it is called with.
static func::FuncOp makeFunction(OpBuilder &builder, ContractOp op,
                                 SmallVectorImpl<Value> &arguments) {
  Location loc = op.getLoc();
  Simplified simple = simplify(op);
  findSizes(builder, op, simple);
  SmallVector<Value> captured = isolateEpilogue(builder, op);
  for (Value operand : op.getMappedOperands()) {
    MemRefType type = forgetSizes(cast<MemRefType>(operand.getType()));
    arguments.push_back(
        type == operand.getType()
            ? operand
            : memref::CastOp::create(builder, loc, type, operand).getResult());
  }
  unsigned numOperands = arguments.size();
  llvm::append_range(arguments, simple.sizes);
  llvm::append_range(arguments, captured);
  OpBuilder inner(op.getContext());
  auto function = func::FuncOp::create(
      loc, "kernel_contract",
      inner.getFunctionType(ValueRange(arguments).getTypes(), {}));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  inner.setInsertionPointToStart(entry);
  ValueRange values = entry->getArguments();
  auto outlined = ContractOp::create(
      inner, loc, values[0], values[1],
      values.take_front(numOperands).drop_front(2).drop_back(),
      values.slice(numOperands, simple.sizes.size()), values[numOperands - 1],
      simple.maps);
  outlined.copyRounding(op);
  outlined->setAttr(inBoundsName, inner.getArrayAttr(simple.inBounds));
  outlined->setAttr(leastSizesName,
                    inner.getDenseI64ArrayAttr(simple.leastSizes));
  if (isShallow(op))
    outlined->setAttr(shallowName, inner.getUnitAttr());
  IRMapping mapping;
  mapping.map(captured, values.drop_front(numOperands + simple.sizes.size()));
  op.getEpilogue().cloneInto(&outlined.getEpilogue(), mapping);
  func::ReturnOp::create(inner, loc);
  return function;
}

/// The sizes that decide what is packed of `operand`, zeros for others; none if
/// some are known only in a call.
static std::optional<SmallVector<int64_t>> getPanelSizes(ContractOp op,
                                                         unsigned operand) {
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<int64_t> sizes = getStaticSizes(op);
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (!maps[operand].isFunctionOfDim(dim) && maps.back().isFunctionOfDim(dim))
      size = 0;
    if (ShapedType::isDynamic(size))
      return std::nullopt;
  }
  return sizes;
}

namespace {
/// Where panels of constants outlast a call. Where one function packs the same
/// sizes of the same memory, the panels are the same.
class Slots {
public:
  Slots(const KernelTarget &target) : target(target) {}

  /// Gives the function of `op` a slot for an argument if it has panels to
  /// keep.
  bool addTo(func::FuncOp function, ContractOp op);
  /// The slot of `op`, which calls this function.
  int64_t get(func::FuncOp function, ContractOp op);
  int64_t size() const { return numbers.size(); }

private:
  const KernelTarget &target;
  std::map<std::tuple<Operation *, void *, SmallVector<int64_t>>, int64_t>
      numbers;
};
} // namespace

static unsigned getConstant(ContractOp op) {
  return op->getAttrOfType<IntegerAttr>(constantName).getInt();
}

bool Slots::addTo(func::FuncOp function, ContractOp op) {
  ContractOp outlined = *function.getOps<ContractOp>().begin();
  if (!op->hasAttr(constantName) || !getPanelSizes(op, getConstant(op)) ||
      !packsAhead(outlined, getConstant(op), target))
    return false;
  outlined->setAttr(constantName, op->getAttr(constantName));
  return succeeded(function.insertArgument(function.getNumArguments(),
                                           IndexType::get(op.getContext()), {},
                                           op.getLoc()));
}

int64_t Slots::get(func::FuncOp function, ContractOp op) {
  unsigned operand = getConstant(op);
  Value memory = op.getMappedOperands()[operand];
  return numbers
      .try_emplace(
          {function, memory.getAsOpaquePointer(), *getPanelSizes(op, operand)},
          numbers.size())
      .first->second;
}

SmallVector<ContractOp> outlineContracts(ModuleOp module,
                                         const KernelTarget &target) {
  SmallVector<ContractOp> found, outlined;
  module.walk([&](ContractOp op) { found.push_back(op); });
  llvm::StringMap<func::FuncOp> functions;
  SymbolTable symbols(module);
  OpBuilder builder(module.getContext());
  Slots slots(target);
  for (ContractOp op : found) {
    builder.setInsertionPoint(op);
    SmallVector<Value> arguments;
    func::FuncOp function = makeFunction(builder, op, arguments);
    bool keepsPanels = slots.addTo(function, op);
    std::string text;
    llvm::raw_string_ostream stream(text);
    function.print(stream, OpPrintingFlags().useLocalScope());
    auto [place, isNew] = functions.try_emplace(text, function);
    if (isNew) {
      symbols.insert(function);
      outlined.push_back(*function.getOps<ContractOp>().begin());
    } else {
      function.erase();
    }
    if (keepsPanels)
      arguments.push_back(arith::ConstantIndexOp::create(
          builder, op.getLoc(), slots.get(place->second, op)));
    func::CallOp::create(builder, op.getLoc(), place->second, arguments);
    op.erase();
  }
  if (slots.size() > 0)
    module->setAttr(mark::cacheEntries,
                    builder.getI64IntegerAttr(slots.size()));
  return outlined;
}

} // namespace mp::kernel
