//===- Attention.cpp - Attention and its gradients ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp::kernel {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The dimensions after those of batches.
enum AttentionDim : unsigned { Query, Key, QueryElement, ValueElement };

/// Verifies types, and maps whose results are dimensions of equal sizes, or 0.
template <typename Op> static LogicalResult verifyOperands(Op op) {
  bool tensors = isa<TensorType>(op.getOutputs().front().getType());
  SmallVector<Value> operands = llvm::to_vector(op.getInputs());
  llvm::append_range(operands, op.getOutputs());
  for (Value operand : operands)
    if (isa<TensorType>(operand.getType()) != tensors)
      return op.emitOpError() << "expected tensors only or memrefs only";
  if (tensors ? op.getResultTypes() != op.getOutputs().getTypes()
              : !op.getResults().empty())
    return op.emitOpError() << "expected results of the outputs' types for "
                               "tensors, none for memrefs";
  SmallVector<AffineMap> maps = op.getMaps();
  if (maps.size() != operands.size())
    return op.emitOpError() << "expected " << operands.size()
                            << " indexing maps, got " << maps.size();
  unsigned numDims = maps.front().getNumDims();
  if (numDims < 4)
    return op.emitOpError() << "expected maps of at least 4 dimensions, got "
                            << AffineMapAttr::get(maps.front());
  SmallVector<int64_t> sizes(numDims, ShapedType::kDynamic);
  for (auto [map, operand] : llvm::zip_equal(maps, operands)) {
    auto type = cast<ShapedType>(operand.getType());
    if (map.getNumDims() != numDims || map.getNumSymbols() != 0 ||
        static_cast<int64_t>(map.getNumResults()) != type.getRank())
      return op.emitOpError()
             << "expected a map of " << numDims << " dimensions to "
             << type.getRank() << " results, got " << AffineMapAttr::get(map);
    for (auto [expr, size] :
         llvm::zip_equal(map.getResults(), type.getShape())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      auto constant = dyn_cast<AffineConstantExpr>(expr);
      if (!dim && !(constant && constant.getValue() == 0))
        return op.emitOpError()
               << "expected dimensions and 0, got " << AffineMapAttr::get(map);
      if (!dim || ShapedType::isDynamic(size))
        continue;
      int64_t &known = sizes[dim.getPosition()];
      if (!ShapedType::isDynamic(known) && known != size)
        return op.emitOpError()
               << "dimension d" << dim.getPosition() << " has the sizes "
               << known << " and " << size;
      known = size;
    }
  }
  return success();
}

/// Verifies that operands depend on no other dimensions than batches and
/// those given.
template <typename Op>
static LogicalResult verifyDims(Op op, unsigned first, unsigned count,
                                ArrayRef<AttentionDim> dims) {
  SmallVector<AffineMap> maps = op.getMaps();
  for (AffineMap map : ArrayRef(maps).slice(first, count))
    for (unsigned dim : {Query, Key, QueryElement, ValueElement})
      if (!llvm::is_contained(dims, dim) &&
          map.isFunctionOfDim(op.getNumBatches() + dim))
        return op.emitOpError()
               << "operand " << first << " depends on dimension d"
               << op.getNumBatches() + dim << ": " << AffineMapAttr::get(map);
  return success();
}

/// Verifies the region: f32 for the first arguments, an element of each extra
/// operand, indices.
template <typename Op>
static LogicalResult verifyBody(Op op, ArrayRef<Type> yielded) {
  Builder b(op.getContext());
  SmallVector<Type> expected(Op::NumArguments, b.getF32Type());
  for (Value extra : op.getExtras())
    expected.push_back(getElementTypeOrSelf(extra.getType()));
  expected.append(op.getNumBatches() + 2, b.getIndexType());
  Block &block = op.getBody().front();
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return op.emitOpError()
           << "expected a region of the arguments (" << expected << "), got ("
           << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !llvm::equal(yield->getOperandTypes(), yielded))
    return op.emitOpError()
           << "expected a region that yields (" << yielded << ")";
  for (Operation &inner : block.without_terminator())
    if (inner.getNumRegions() > 0 || !isMemoryEffectFree(&inner))
      return op.emitOpError()
             << "expected arithmetic, got '" << inner.getName() << "'";
  return success();
}

static Type getElement(Value value) {
  return getElementTypeOrSelf(value.getType());
}

/// Verifies what both ops have: query, key, value and extra operands.
template <typename Op> static LogicalResult verifyInputs(Op op) {
  if (op.getInputs().size() < Op::numFixed || op.getOutputs().size() != 3)
    return op.emitOpError() << "expected at least " << Op::numFixed
                            << " inputs, and three outputs";
  return success(succeeded(verifyOperands(op)) &&
                 succeeded(verifyDims(op, 0, 1, {Query, QueryElement})) &&
                 succeeded(verifyDims(op, 1, 1, {Key, QueryElement})) &&
                 succeeded(verifyDims(op, 2, 1, {Key, ValueElement})) &&
                 succeeded(verifyDims(op, Op::numFixed, op.getExtras().size(),
                                      {Query, Key})));
}

LogicalResult AttentionOp::verify() {
  unsigned outputs = getInputs().size();
  Type f32 = Builder(getContext()).getF32Type();
  if (failed(verifyInputs(*this)) ||
      failed(verifyDims(*this, outputs, 1, {Query, ValueElement})) ||
      failed(verifyDims(*this, outputs + 1, 2, {Query})))
    return failure();
  if (getElement(getOutputs()[1]) != f32 || getElement(getOutputs()[2]) != f32)
    return emitOpError() << "expected a maximum and a sum of f32";
  return verifyBody(
      *this, {f32, getElement(getValue()), getElement(getOutputs().front())});
}

LogicalResult AttentionGradientOp::verify() {
  unsigned outputs = getInputs().size();
  Type f32 = Builder(getContext()).getF32Type();
  if (failed(verifyInputs(*this)) ||
      failed(verifyDims(*this, 3, 1, {Query, ValueElement})) ||
      failed(verifyDims(*this, 4, 3, {Query})) ||
      failed(verifyDims(*this, outputs, 1, {Query, QueryElement})) ||
      failed(verifyDims(*this, outputs + 1, 1, {Key, QueryElement})) ||
      failed(verifyDims(*this, outputs + 2, 1, {Key, ValueElement})))
    return failure();
  for (Value row : getInputs().slice(4, 3))
    if (getElement(row) != f32)
      return emitOpError() << "expected rows of f32, got " << row.getType();
  return verifyBody(*this,
                    {f32, getElement(getValue()), getElement(getKey()),
                     getElement(getOutputs()[0]), getElement(getOutputs()[1]),
                     getElement(getOutputs()[2])});
}

//===----------------------------------------------------------------------===//
// Effects and buffers
//===----------------------------------------------------------------------===//

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static void addEffects(DestinationStyleOpInterface op, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

static bufferization::AliasingValueList
findAlias(DestinationStyleOpInterface op, OpOperand &operand) {
  if (!op.isDpsInit(&operand))
    return {};
  return {{op.getTiedOpResult(&operand),
           bufferization::BufferRelation::Equivalent}};
}

/// Clones the op with memory for its operands.
template <typename Op>
static LogicalResult
toBuffers(Op op, RewriterBase &rewriter,
          const bufferization::BufferizationOptions &options,
          bufferization::BufferizationState &state) {
  if (op.getResults().empty())
    return success();
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> buffer =
        bufferization::getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  OperationState made(op.getLoc(), op->getName());
  made.addOperands(buffers);
  made.addAttributes(op->getAttrDictionary().getValue());
  for (Region &region : op->getRegions())
    made.addRegion()->takeBody(region);
  rewriter.setInsertionPoint(op);
  rewriter.create(made);
  bufferization::replaceOpWithBufferizedValues(
      rewriter, op, ArrayRef<Value>(buffers).take_back(op.getOutputs().size()));
  return success();
}

#define MP_DEFINE_ATTENTION_INTERFACES(Op)                                     \
  void Op::getEffects(Effects &effects) { addEffects(*this, effects); }        \
  bool Op::bufferizesToMemoryRead(OpOperand &operand,                          \
                                  const bufferization::AnalysisState &) {      \
    return !isDpsInit(&operand);                                               \
  }                                                                            \
  bool Op::bufferizesToMemoryWrite(OpOperand &operand,                         \
                                   const bufferization::AnalysisState &) {     \
    return isDpsInit(&operand);                                                \
  }                                                                            \
  bufferization::AliasingValueList Op::getAliasingValues(                      \
      OpOperand &operand, const bufferization::AnalysisState &) {              \
    return findAlias(*this, operand);                                          \
  }                                                                            \
  LogicalResult Op::bufferize(                                                 \
      RewriterBase &rewriter,                                                  \
      const bufferization::BufferizationOptions &options,                      \
      bufferization::BufferizationState &state) {                              \
    return toBuffers(*this, rewriter, options, state);                         \
  }

MP_DEFINE_ATTENTION_INTERFACES(AttentionOp)
MP_DEFINE_ATTENTION_INTERFACES(AttentionGradientOp)

#undef MP_DEFINE_ATTENTION_INTERFACES

} // namespace mp::kernel
