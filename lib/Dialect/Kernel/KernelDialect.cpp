//===- KernelDialect.cpp - The kernel dialect -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

#include "mp-opt/Dialect/Kernel/KernelDialect.cpp.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/Kernel/KernelOps.cpp.inc"

namespace mp::kernel {

void KernelDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "mp-opt/Dialect/Kernel/KernelOps.cpp.inc"
      >();
}

/// Adds `factor * expr` to `form`; false if it is not linear.
static bool addLinear(AffineExpr expr, int64_t factor, LinearForm &form) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    form.constant += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    form.factors[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, form) &&
           addLinear(binary.getRHS(), factor, form);
  // MLIR keeps constants on the right.
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && constant &&
         addLinear(binary.getLHS(), factor * constant.getValue(), form);
}

std::optional<LinearForm> getLinearForm(AffineExpr expr, unsigned numDims) {
  LinearForm form;
  form.factors.resize(numDims);
  if (!addLinear(expr, 1, form))
    return std::nullopt;
  return form;
}

int LinearForm::getSingleDim() const {
  if (constant != 0)
    return -1;
  int found = -1;
  for (auto [dim, factor] : llvm::enumerate(factors)) {
    if (factor == 0)
      continue;
    if (factor != 1 || found >= 0)
      return -1;
    found = dim;
  }
  return found;
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value a,
                       Value b, ValueRange extras, ValueRange sizes, Value c,
                       ArrayRef<AffineMap> maps) {
  state.addOperands({a, b});
  state.addOperands(extras);
  state.addOperands(sizes);
  state.addOperands(c);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.indexing_maps = builder.getAffineMapArrayAttr(maps);
  llvm::copy(ArrayRef<int32_t>({1, 1, static_cast<int32_t>(extras.size()),
                                static_cast<int32_t>(sizes.size()), 1}),
             properties.operandSegmentSizes.begin());
  if (isa<TensorType>(c.getType()))
    state.addTypes(c.getType());
  state.addRegion();
}

SmallVector<AffineMap> ContractOp::getMaps() {
  return llvm::to_vector(getIndexingMaps().getAsValueRange<AffineMapAttr>());
}

FloatType ContractOp::getAccumulatorType() {
  Builder builder(getContext());
  bool wide = getElementTypeOrSelf(getA().getType()).isF64();
  return wide ? cast<FloatType>(builder.getF64Type())
              : cast<FloatType>(builder.getF32Type());
}

Type ContractOp::getRounding(unsigned operand) {
  return (operand == 0 ? getRoundA() : getRoundB()).value_or(Type());
}

Type ContractOp::getFactorType(unsigned operand) {
  Type rounding = getRounding(operand);
  return rounding ? rounding
                  : getElementTypeOrSelf(getOperand(operand).getType());
}

void ContractOp::copyRounding(ContractOp other) {
  setRoundAAttr(other.getRoundAAttr());
  setRoundBAttr(other.getRoundBAttr());
}

SmallVector<Value> ContractOp::getMappedOperands() {
  SmallVector<Value> operands{getA(), getB()};
  llvm::append_range(operands, getExtras());
  operands.push_back(getC());
  return operands;
}

SmallVector<std::pair<int, int>> ContractOp::getSizeSources() {
  SmallVector<AffineMap> maps = getMaps();
  unsigned numDims = maps.front().getNumDims();
  SmallVector<std::pair<int, int>> sources(numDims, {-1, -1});
  SmallVector<Value> operands = getMappedOperands();
  // A static size is better than one that has to be computed.
  for (bool wantStatic : {true, false})
    for (auto [index, map] : llvm::enumerate(maps))
      for (auto [position, expr] : llvm::enumerate(map.getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim || sources[dim.getPosition()].second >= 0)
          continue;
        auto type = cast<ShapedType>(operands[index].getType());
        if (wantStatic && type.isDynamicDim(position))
          continue;
        sources[dim.getPosition()] = {index, position};
      }
  int next = 0;
  for (auto &source : sources)
    if (source.second < 0)
      source.second = next++;
  return sources;
}

/// Verifies that the maps are linear, fit the operands and agree about sizes.
static LogicalResult verifyMaps(ContractOp op) {
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<Value> operands = op.getMappedOperands();
  if (maps.size() != operands.size())
    return op.emitOpError() << "expected " << operands.size()
                            << " indexing maps, got " << maps.size();
  unsigned numDims = maps.front().getNumDims();
  SmallVector<int64_t> sizes(numDims, ShapedType::kDynamic);
  SmallVector<bool> occurs(numDims, false);
  for (auto [map, operand] : llvm::zip_equal(maps, operands)) {
    auto type = cast<ShapedType>(operand.getType());
    if (map.getNumDims() != numDims || map.getNumSymbols() != 0)
      return op.emitOpError() << "expected maps of " << numDims
                              << " dimensions, got " << AffineMapAttr::get(map);
    if (static_cast<int64_t>(map.getNumResults()) != type.getRank())
      return op.emitOpError()
             << "expected a map with " << type.getRank() << " results for "
             << type << ", got " << AffineMapAttr::get(map);
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      std::optional<LinearForm> form = getLinearForm(expr, numDims);
      if (!form)
        return op.emitOpError() << "expected linear expressions, got "
                                << AffineMapAttr::get(map);
      for (auto [dim, factor] : llvm::enumerate(form->factors))
        occurs[dim] = occurs[dim] || factor != 0;
      int dim = form->getSingleDim();
      int64_t size = type.getDimSize(position);
      if (dim < 0 || ShapedType::isDynamic(size))
        continue;
      if (ShapedType::isDynamic(sizes[dim]))
        sizes[dim] = size;
      if (sizes[dim] != size)
        return op.emitOpError() << "dimension d" << dim << " has the sizes "
                                << sizes[dim] << " and " << size;
    }
  }
  if (auto missing = llvm::find(occurs, false); missing != occurs.end())
    return op.emitOpError()
           << "dimension d" << missing - occurs.begin() << " occurs in no map";
  unsigned unknown = llvm::count_if(
      op.getSizeSources(), [](auto source) { return source.first < 0; });
  if (unknown != op.getSizes().size())
    return op.emitOpError()
           << "expected " << unknown
           << " sizes for the dimensions that stand nowhere alone, got "
           << op.getSizes().size();
  return success();
}

/// The dimensions that an expression depends on; verifyMaps has checked it.
static llvm::SmallBitVector getDims(AffineExpr expr, unsigned numDims) {
  llvm::SmallBitVector dims(numDims);
  if (std::optional<LinearForm> form = getLinearForm(expr, numDims))
    for (unsigned dim = 0; dim < numDims; ++dim)
      dims[dim] = form->factors[dim] != 0;
  return dims;
}

/// Verifies that every element of c has one place, and extras one element for
/// each.
static LogicalResult verifyDestination(ContractOp op) {
  SmallVector<AffineMap> maps = op.getMaps();
  unsigned numDims = maps.front().getNumDims();
  llvm::SmallBitVector kept(numDims);
  for (AffineExpr expr : maps.back().getResults()) {
    llvm::SmallBitVector dims = getDims(expr, numDims);
    if (dims.anyCommon(kept))
      return op.emitOpError() << "expected every dimension at most once in the "
                                 "map of c, got "
                              << AffineMapAttr::get(maps.back());
    kept |= dims;
  }
  for (AffineMap map : ArrayRef(maps).drop_front(2).drop_back())
    for (AffineExpr expr : map.getResults())
      if (getDims(expr, numDims).test(kept))
        return op.emitOpError() << "expected an extra operand that does not "
                                   "depend on what is summed over, got "
                                << AffineMapAttr::get(map);
  return success();
}

/// Verifies that only f32 is rounded, and to 16 bits.
static LogicalResult verifyRounding(ContractOp op) {
  for (unsigned operand : {0u, 1u}) {
    Type rounding = op.getRounding(operand);
    if (!rounding)
      continue;
    Type element = getElementTypeOrSelf(op->getOperand(operand).getType());
    if (!element.isF32() || !(rounding.isBF16() || rounding.isF16()))
      return op.emitOpError() << "expected f32 that is rounded to bf16 or f16, "
                                 "got "
                              << element << " rounded to " << rounding;
  }
  return success();
}

LogicalResult ContractOp::verify() {
  bool tensors = isa<TensorType>(getC().getType());
  for (Value operand : getMappedOperands())
    if (isa<TensorType>(operand.getType()) != tensors)
      return emitOpError() << "expected tensors only or memrefs only";
  if (tensors ? !getResult() || getResult().getType() != getC().getType()
              : static_cast<bool>(getResult()))
    return emitOpError() << "expected a result of c's type for tensors, none "
                            "for memrefs";
  Type a = getElementTypeOrSelf(getA().getType());
  Type b = getElementTypeOrSelf(getB().getType());
  auto narrow = [](Type type) {
    return type.isF32() || type.isBF16() || type.isF16();
  };
  if (!(narrow(a) && narrow(b)) && !(a.isF64() && b.isF64()))
    return emitOpError()
           << "expected operands of f32, bf16 or f16, or two of f64, got " << a
           << " and " << b;
  if (failed(verifyRounding(*this)) || failed(verifyMaps(*this)))
    return failure();
  return verifyDestination(*this);
}

LogicalResult ContractOp::verifyRegions() {
  Block &block = getEpilogue().front();
  SmallVector<Type> expected{getAccumulatorType()};
  for (Value extra : getExtras())
    expected.push_back(getElementTypeOrSelf(extra.getType()));
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return emitOpError() << "expected an epilogue of the arguments ("
                         << expected << "), got (" << block.getArgumentTypes()
                         << ")";
  // The epilogue is applied to vectors.
  for (Operation &op : block.without_terminator())
    if (!OpTrait::hasElementwiseMappableTraits(&op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return emitOpError()
             << "expected an epilogue of elementwise operations, got '"
             << op.getName() << "'";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  Type element = getElementTypeOrSelf(getC().getType());
  if (!yield || yield.getValue().getType() != element)
    return emitOpError() << "expected an epilogue that yields " << element;
  return success();
}

void ContractOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<TensorType>(getC().getType()))
    return;
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

/// True if every element of c is overwritten; elements that the map does not
/// reach keep their values.
static bool overwritesAll(ContractOp op) {
  return llvm::all_of(op.getMaps().back().getResults(),
                      [](AffineExpr expr) { return isa<AffineDimExpr>(expr); });
}

bool ContractOp::bufferizesToMemoryRead(OpOperand &operand,
                                        const bufferization::AnalysisState &) {
  return !isDpsInit(&operand) || !overwritesAll(*this);
}

bool ContractOp::bufferizesToMemoryWrite(OpOperand &operand,
                                         const bufferization::AnalysisState &) {
  return isDpsInit(&operand);
}

/// True of `c` and of extra operands that are read where it is written.
bool ContractOp::bufferizesToElementwiseAccess(
    const bufferization::AnalysisState &, ArrayRef<OpOperand *> operands) {
  SmallVector<AffineMap> maps = getMaps();
  return overwritesAll(*this) &&
         llvm::all_of(operands, [&](OpOperand *operand) {
           // Operands begin with a, b and the extra ones, as the maps do.
           unsigned number = operand->getOperandNumber();
           return isDpsInit(operand) ||
                  (number >= 2 && number < 2 + getExtras().size() &&
                   maps[number] == maps.back());
         });
}

bufferization::AliasingValueList
ContractOp::getAliasingValues(OpOperand &operand,
                              const bufferization::AnalysisState &) {
  if (!isDpsInit(&operand))
    return {};
  return {
      {getTiedOpResult(&operand), bufferization::BufferRelation::Equivalent}};
}

LogicalResult
ContractOp::bufferize(RewriterBase &rewriter,
                      const bufferization::BufferizationOptions &options,
                      bufferization::BufferizationState &state) {
  if (!isa<TensorType>(getC().getType()))
    return success();
  SmallVector<Value> buffers;
  for (Value operand : getMappedOperands()) {
    FailureOr<Value> buffer =
        bufferization::getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  ValueRange extras = ValueRange(buffers).drop_front(2).drop_back();
  auto bufferized =
      ContractOp::create(rewriter, getLoc(), buffers[0], buffers[1], extras,
                         getSizes(), buffers.back(), getMaps());
  bufferized.copyRounding(*this);
  rewriter.inlineRegionBefore(getEpilogue(), bufferized.getEpilogue(),
                              bufferized.getEpilogue().begin());
  bufferization::replaceOpWithBufferizedValues(rewriter, getOperation(),
                                               buffers.back());
  return success();
}

} // namespace mp::kernel
