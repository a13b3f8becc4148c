//===- ContractShape.cpp - Contractions as products of matrices -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace mp::kernel {

//===----------------------------------------------------------------------===//
// Properties that shared code may depend on
//===----------------------------------------------------------------------===//

/// Attributes of a contraction in a function of its own: fields of
/// SharedContract.
constexpr llvm::StringLiteral inBoundsName = "kernel.in_bounds";
constexpr llvm::StringLiteral minSizesName = "kernel.least_sizes";
constexpr llvm::StringLiteral shallowName = "kernel.shallow";

/// The type without static sizes. Steps of one are kept, since they decide how
/// elements are read; last sizes of one, as those of 1 x 1 weights, are kept as
/// well.
static MemRefType forgetSizes(MemRefType type) {
  SmallVector<int64_t> shape(type.getShape());
  while (!shape.empty() && shape.back() == 1)
    shape.pop_back();
  llvm::fill(shape, ShapedType::kDynamic);
  shape.resize(type.getRank(), 1);
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

SmallVector<int64_t> getStaticSizes(ContractOp op) {
  SmallVector<int64_t> sizes;
  SmallVector<Value> operands = op.getMappedOperands();
  for (auto [operand, position] : op.getSizeSources()) {
    APInt known;
    if (operand >= 0)
      sizes.push_back(
          cast<ShapedType>(operands[operand].getType()).getDimSize(position));
    else if (matchPattern(op.getSizes()[position], m_ConstantInt(&known)))
      sizes.push_back(known.getSExtValue());
    else
      sizes.push_back(ShapedType::kDynamic);
  }
  return sizes;
}

/// True if all values of a map's result are within the operand.
bool isInBounds(const LinearForm &form, ArrayRef<int64_t> sizes,
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

static bool isShallow(ContractOp op, ArrayRef<int64_t> sizes) {
  AffineMap result = op.getMaps().back();
  int64_t depth = 1;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (result.isFunctionOfDim(dim))
      continue;
    if (ShapedType::isDynamic(size) || size > maxShallow)
      return false;
    depth *= size;
    if (depth > maxShallow)
      return false;
  }
  return true;
}

/// A lower bound of a size: sizes with the same bound share a function.
static int64_t getMinSize(int64_t size) {
  if (ShapedType::isDynamic(size))
    return 0;
  if (size < minLong)
    return size;
  return size <= maxFew ? minLong : maxFew + 1;
}

/// True if the removal of `dim`, whose size is one, leaves dimensions alone
/// only where they have the operand's size.
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

/// A dimension that is alone in its group is one line, however long: functions
/// for sizes that are known suit all others.
static void forgetLongLines(SharedContract &contract) {
  auto getOperands = [&](unsigned dim) {
    return std::tuple(contract.maps[0].isFunctionOfDim(dim),
                      contract.maps[1].isFunctionOfDim(dim),
                      contract.maps.back().isFunctionOfDim(dim));
  };
  auto dims = llvm::seq<unsigned>(0, contract.minSizes.size());
  for (unsigned dim : dims) {
    bool isAlone = llvm::count_if(dims, [&](unsigned other) {
                     return getOperands(other) == getOperands(dim);
                   }) == 1;
    if (isAlone && contract.minSizes[dim] > maxFew)
      contract.minSizes[dim] = 0;
  }
}

/// Reads the attributes of a contraction that `annotate` has been called for.
static SharedContract read(ContractOp op) {
  SharedContract contract;
  contract.maps = op.getMaps();
  for (Value operand : op.getMappedOperands())
    contract.types.push_back(cast<MemRefType>(operand.getType()));
  for (auto flags : op->getAttrOfType<ArrayAttr>(inBoundsName)
                        .getAsRange<DenseBoolArrayAttr>())
    contract.inBounds.emplace_back(flags.asArrayRef());
  llvm::append_range(
      contract.minSizes,
      op->getAttrOfType<DenseI64ArrayAttr>(minSizesName).asArrayRef());
  llvm::append_range(contract.dims,
                     llvm::seq<unsigned>(0, contract.minSizes.size()));
  contract.isShallow = op->hasAttr(shallowName);
  return contract;
}

SharedContract SharedContract::get(ContractOp op) {
  if (op->hasAttr(minSizesName))
    return read(op);
  SharedContract result;
  SmallVector<int64_t> sizes = getStaticSizes(op);
  SmallVector<AffineExpr> replacements;
  Builder builder(op.getContext());
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == 1 && isRemovable(op, dim, sizes)) {
      replacements.push_back(builder.getAffineConstantExpr(0));
      continue;
    }
    replacements.push_back(builder.getAffineDimExpr(result.dims.size()));
    result.dims.push_back(dim);
    result.minSizes.push_back(getMinSize(sizes[dim]));
  }
  for (auto [map, operand] :
       llvm::zip_equal(op.getMaps(), op.getMappedOperands())) {
    auto type = cast<MemRefType>(operand.getType());
    result.types.push_back(forgetSizes(type));
    result.maps.push_back(
        map.replaceDimsAndSymbols(replacements, {}, result.dims.size(), 0));
    auto &flags = result.inBounds.emplace_back();
    for (auto [position, expr] : llvm::enumerate(map.getResults()))
      flags.push_back(isInBounds(*getLinearForm(expr, sizes.size()), sizes,
                                 type.getDimSize(position)));
  }
  forgetLongLines(result);
  result.isShallow = kernel::isShallow(op, sizes);
  return result;
}

void SharedContract::annotate(ContractOp outlined) const {
  Builder builder(outlined.getContext());
  SmallVector<Attribute> flags;
  for (ArrayRef<bool> of : inBounds)
    flags.push_back(builder.getDenseBoolArrayAttr(of));
  outlined->setAttr(inBoundsName, builder.getArrayAttr(flags));
  outlined->setAttr(minSizesName, builder.getDenseI64ArrayAttr(minSizes));
  if (isShallow)
    outlined->setAttr(shallowName, builder.getUnitAttr());
}

//===----------------------------------------------------------------------===//
// Operands and groups
//===----------------------------------------------------------------------===//

static OperandShape getOperand(MemRefType type, AffineMap map,
                               ArrayRef<bool> inBounds, bool isPadded) {
  unsigned numDims = map.getNumDims();
  OperandShape operand;
  operand.element = type.getElementType();
  operand.moves.resize(numDims, false);
  operand.steps.resize(numDims, 0);
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    LinearForm form = *getLinearForm(expr, numDims);
    for (unsigned dim = 0; dim < numDims; ++dim) {
      if (form.factors[dim] == 0)
        continue;
      bool isStep = !operand.moves[dim] && strides[position] == 1 &&
                    (form.factors[dim] == 1 || form.factors[dim] == 2);
      operand.steps[dim] = isStep ? form.factors[dim] : 0;
      operand.moves[dim] = true;
    }
    if (isPadded && form.getSingleDim() < 0 && !inBounds[position])
      operand.bounds.push_back(
          {form.factors, form.constant, static_cast<unsigned>(position)});
  }
  return operand;
}

ContractShape ContractShape::get(ContractOp op) {
  ContractShape shape;
  shape.contract = SharedContract::get(op);
  shape.accumulator = op.getAccumulatorType();
  for (unsigned operand : {0, 1})
    shape.factors[operand] = op.getFactorType(operand);
  const SharedContract &contract = shape.contract;
  for (auto [number, type, map, inBounds] :
       llvm::enumerate(contract.types, contract.maps, contract.inBounds)) {
    shape.operands.push_back(getOperand(type, map, inBounds, number < 2));
    if (number < 2)
      shape.operands.back().rounding = op.getRounding(number);
  }
  shape.findGroups();
  shape.separateColumns();
  return shape;
}

/// True if index pairs of both dimensions are contiguous in all operands.
bool ContractShape::follows(unsigned first, unsigned second) const {
  for (auto [type, map] : llvm::zip_equal(contract.types, contract.maps)) {
    if (!map.isFunctionOfDim(first) && !map.isFunctionOfDim(second))
      continue;
    if (!type.getLayout().isIdentity())
      return false;
    AffineExpr before = getAffineDimExpr(first, map.getContext());
    AffineExpr after = getAffineDimExpr(second, map.getContext());
    unsigned uses = 0;
    bool inOrder = false;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      uses += expr.isFunctionOfDim(first) || expr.isFunctionOfDim(second);
      inOrder |= position > 0 && map.getResult(position - 1) == before &&
                 expr == after;
    }
    if (!inOrder || uses != 2)
      return false;
  }
  return true;
}

void ContractShape::findGroups() {
  AffineMap c = contract.maps.back();
  unsigned numDims = c.getNumDims();
  // Lanes go along the last dimension of c, since they are stored there.
  SmallVector<unsigned> order;
  for (AffineExpr expr : c.getResults())
    for (unsigned i = 0; i < numDims; ++i)
      if (expr.isFunctionOfDim(i))
        order.push_back(i);
  for (unsigned i = 0; i < numDims; ++i)
    if (!c.isFunctionOfDim(i))
      order.push_back(i);
  ContractGroups found = ContractGroups::get(contract.maps, order);
  lhs = found.lhs;
  rhs = found.rhs;
  for (GroupKind kind : {Batch, M, N, K})
    for (unsigned dim : found.dims[kind]) {
      auto &dims = groups[kind];
      if (!dims.empty() && follows(dims.back().back(), dim))
        dims.back().push_back(dim);
      else
        dims.push_back({dim});
    }
}

/// Makes batches of all dimensions of N but the last, if its lines can be read
/// in place.
void ContractShape::separateColumns() {
  auto &columns = groups[N];
  if (columns.size() < 2 || !hasFewRows() || !getRHS().bounds.empty() ||
      getStep(N, rhs) != 1 || isShort(columns.back()))
    return;
  auto &batch = groups[Batch];
  batch.insert(batch.end(), columns.begin(), columns.end() - 1);
  columns.erase(columns.begin(), columns.end() - 1);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// A lower bound of joined dimensions; zero if none is known.
int64_t ContractShape::getMinSize(ArrayRef<unsigned> dims) const {
  int64_t product = 1;
  for (unsigned dim : dims)
    product *= contract.minSizes[dim];
  return product;
}

bool ContractShape::isShort(ArrayRef<unsigned> dims) const {
  int64_t size = getMinSize(dims);
  return size > 0 && size < minLong;
}

std::optional<int64_t> ContractShape::getShortSize(GroupKind kind) const {
  int64_t product = 1;
  for (ArrayRef<unsigned> dims : groups[kind])
    for (unsigned dim : dims) {
      if (!isShort(dim))
        return std::nullopt;
      product *= getMinSize(dim);
    }
  return product;
}

int64_t ContractShape::getMinLength(GroupKind kind) const {
  return groups[kind].empty() ? 0 : getMinSize(groups[kind].back());
}

int64_t ContractShape::getStep(GroupKind kind, unsigned operand) const {
  if (groups[kind].empty())
    return 0;
  return operands[operand].steps[groups[kind].back().back()];
}

bool ContractShape::moves(GroupKind kind, const OperandShape &operand) const {
  return llvm::any_of(groups[kind], [&](ArrayRef<unsigned> dims) {
    return operand.moves[dims.back()];
  });
}

bool ContractShape::hasFewRows() const {
  if (std::optional<int64_t> count = getShortSize(M))
    return *count <= maxFew;
  return isSingle(M) && groups[M].front().size() == 1 &&
         getMinSize(groups[M].front()) == minLong;
}

std::optional<SmallVector<int64_t>> getPackedSizes(ContractOp op,
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

MemRefType getLineType(const OperandShape &operand) {
  return MemRefType::get({ShapedType::kDynamic}, operand.element,
                         StridedLayoutAttr::get(operand.element.getContext(),
                                                ShapedType::kDynamic, {1}));
}

} // namespace mp::kernel
