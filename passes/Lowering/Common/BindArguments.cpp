//===- BindArguments.cpp - Where inputs are and outputs go ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled model is called with two arrays. Outputs of known size get their
// memory before they are computed, which lets bufferization compute them in
// place. A state that may be updated in place gets the memory of its input.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mp-opt/Codegen/Common/SharedTensors.h"
#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_BINDARGUMENTS
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

struct BindArguments : public mp::impl::BindArgumentsBase<BindArguments> {
  using BindArgumentsBase::BindArgumentsBase;

  void runOnOperation() override;

private:
  struct Output {
    Value value, memref;
  };
  /// An output that replaces an input.
  struct State {
    Value value;
    unsigned input;
    /// True if it is computed in the input's memory.
    bool isDirect = true;
  };

  void bindArguments(func::FuncOp main);
  void bindResults(func::FuncOp main);
  void bindValues(OpBuilder &late, MutableArrayRef<Output> results);
  void separate(OpBuilder &late, MutableArrayRef<Output> results);
  Value getMemory(OpBuilder &early, OpBuilder &late, Value value,
                  unsigned index);
  DictionaryAttr describe(DictionaryAttr attributes, Type type);

  Value inputs, outputs;
  /// One entry per argument.
  SmallVector<Value> memrefs, tensors;
  SmallVector<State> states;
};

} // namespace

static MemRefType getMemRefType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// The attributes of a value that the tool needs, including its type.
DictionaryAttr BindArguments::describe(DictionaryAttr attributes, Type type) {
  Builder builder(&getContext());
  SmallVector<NamedAttribute> result(attributes.begin(), attributes.end());
  result.push_back(builder.getNamedAttr("type", TypeAttr::get(type)));
  return builder.getDictionaryAttr(result);
}

/// `value` in the memory of the tensor `there` if no one reads that later: the
/// analysis of bufferization sees both as tensors.
static Value computeThere(OpBuilder &b, Value value, Value there) {
  return bufferization::MaterializeInDestinationOp::create(b, value.getLoc(),
                                                           value, there)
      ->getResult(0);
}

/// True if `value` is another input or a part of one.
static bool isOfOtherInput(Value value, Value own) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp, tensor::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value != own && value.getDefiningOp<bufferization::ToTensorOp>();
}

/// Inputs may be read at any time: they are writable only if they are states
/// that this call replaces.
void BindArguments::bindArguments(func::FuncOp main) {
  OpBuilder builder(&main.getBody().front(), main.getBody().front().begin());
  Location loc = main.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(&getContext());
  llvm::SmallDenseSet<int64_t> replaced;
  if (inPlace)
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      if (auto state =
              main.getResultAttrOfType<IntegerAttr>(index, mark::state))
        replaced.insert(state.getInt());
  unsigned count = main.getNumArguments();
  SmallVector<Attribute> inputList, constantList, names, types;
  Block &block = main.getBody().front();
  inputs = block.addArgument(pointer, loc);
  outputs = block.addArgument(pointer, loc);
  for (unsigned index = 0; index < count; ++index) {
    MemRefType type = getMemRefType(block.getArgument(index).getType());
    DictionaryAttr attributes = main.getArgAttrDict(index);
    DictionaryAttr description =
        describe(attributes, block.getArgument(index).getType());
    Value memref;
    if (auto name = attributes.getAs<StringAttr>(mark::name)) {
      names.push_back(name);
      types.push_back(TypeAttr::get(type));
      memref = runtime::InputOp::create(builder, loc, type, inputs,
                                        inputList.size());
      inputList.push_back(description);
    } else {
      std::string symbol = ("mp_constant_" + Twine(constantList.size())).str();
      memref = runtime::ConstantOp::create(builder, loc, type, symbol);
      constantList.push_back(description);
    }
    memrefs.push_back(memref);
    Value tensor = bufferization::ToTensorOp::create(
        builder, loc, block.getArgument(index).getType(), memref,
        /*restrict=*/true, /*writable=*/replaced.contains(index));
    tensors.push_back(tensor);
    block.getArgument(index).replaceAllUsesWith(tensor);
  }
  block.eraseArguments(0, count);
  Builder attributes(&getContext());
  builder.setInsertionPointToStart(&block);
  if (!names.empty())
    runtime::CheckInputsOp::create(builder, loc, inputs,
                                   attributes.getArrayAttr(names),
                                   attributes.getArrayAttr(types));
  getOperation()->setAttr(mark::inputs, attributes.getArrayAttr(inputList));
  getOperation()->setAttr(mark::constants,
                          attributes.getArrayAttr(constantList));
}

/// The memory of output `index`. Memory of a known size exists from the start.
Value BindArguments::getMemory(OpBuilder &early, OpBuilder &late, Value value,
                               unsigned index) {
  MemRefType type = getMemRefType(value.getType());
  Location loc = value.getLoc();
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (type.isDynamicDim(axis))
      sizes.push_back(tensor::DimOp::create(late, loc, value, axis));
  OpBuilder &builder = sizes.empty() ? early : late;
  return runtime::OutputOp::create(builder, loc, type, outputs, index, sizes);
}

static Value copy(OpBuilder &b, Value value) {
  return bufferization::AllocTensorOp::create(
      b, value.getLoc(), cast<RankedTensorType>(value.getType()), ValueRange(),
      value);
}

/// Copies results that branches or iterations have put into one buffer: only
/// one of them could be computed in place, and bufferization does not choose.
/// States that are held by another input are copied, too.
void BindArguments::separate(OpBuilder &late, MutableArrayRef<Output> results) {
  SharedTensors shared(getOperation().lookupSymbol<func::FuncOp>("main"));
  llvm::DenseMap<const void *, unsigned> members;
  for (const Output &result : results)
    ++members[shared.getGroup(result.value)];
  for (const State &state : states) {
    const void *group = shared.getGroup(state.value);
    const void *own = shared.getGroup(tensors[state.input]);
    ++members[group];
    if (own != group)
      ++members[own];
  }
  auto isShared = [&](Value value) {
    const void *group = shared.getGroup(value);
    return group && members.lookup(group) > 1;
  };
  for (Output &result : results)
    if (isShared(result.value))
      result.value = copy(late, result.value);
  for (State &state : states) {
    Value own = tensors[state.input];
    state.isDirect = !isShared(state.value) && !isShared(own);
    if (!state.isDirect || isOfOtherInput(state.value, own))
      state.value = copy(late, state.value);
  }
}

void BindArguments::bindValues(OpBuilder &late,
                               MutableArrayRef<Output> results) {
  Location loc = late.getInsertionPoint()->getLoc();
  separate(late, results);
  SmallVector<std::pair<Value, Value>> plain;
  for (auto [value, memref] : results) {
    OpBuilder there(memref.getContext());
    there.setInsertionPointAfterValue(memref);
    Value tensor = bufferization::ToTensorOp::create(
        there, loc, value.getType(), memref, /*restrict=*/true,
        /*writable=*/true);
    plain.emplace_back(computeThere(late, value, tensor), memref);
  }
  for (const State &state : states)
    plain.emplace_back(
        state.isDirect ? computeThere(late, state.value, tensors[state.input])
                       : state.value,
        memrefs[state.input]);
  // These writes are outside of the analysis. States come last: until then,
  // other values may read the old ones.
  for (auto [value, memref] : plain)
    bufferization::MaterializeInDestinationOp::create(
        late, loc, TypeRange(), value, memref, /*restrict=*/true,
        /*writable=*/true);
}

void BindArguments::bindResults(func::FuncOp main) {
  Block &block = main.getBody().front();
  auto terminator = cast<func::ReturnOp>(block.getTerminator());
  OpBuilder early(
      &block,
      std::next(Block::iterator(
          memrefs.empty() ? &block.front() : memrefs.back().getDefiningOp())));
  if (memrefs.empty())
    early.setInsertionPointToStart(&block);
  OpBuilder late(terminator);
  SmallVector<Attribute> list;
  SmallVector<Output> results;
  for (auto [index, value] : llvm::enumerate(terminator.getOperands())) {
    auto state = main.getResultAttrOfType<IntegerAttr>(index, mark::state);
    list.push_back(describe(main.getResultAttrDict(index), value.getType()));
    if (state && inPlace)
      states.push_back({value, unsigned(state.getInt())});
    else
      results.push_back({value, getMemory(early, late, value, index)});
  }
  bindValues(late, results);
  Location loc = main.getLoc();
  Value ok = arith::ConstantIntOp::create(late, loc, 0, 32);
  func::ReturnOp::create(late, loc, ok);
  terminator.erase();
  getOperation()->setAttr(mark::outputs,
                          Builder(&getContext()).getArrayAttr(list));
}

void BindArguments::runOnOperation() {
  auto main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main)
    return;
  memrefs.clear();
  tensors.clear();
  states.clear();
  bindArguments(main);
  bindResults(main);
  Type pointer = LLVM::LLVMPointerType::get(&getContext());
  main->removeAttr("arg_attrs");
  main->removeAttr("res_attrs");
  main.setFunctionType(FunctionType::get(&getContext(), {pointer, pointer},
                                         IntegerType::get(&getContext(), 32)));
}
