//===- SplitMain.cpp - A long model as functions that follow each other ---===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At this point, the layers of a model are a list of launches and calls in
// `main`. LLVM's time for one block grows with the square of its length, since
// addresses are live from its beginning to its end. This pass cuts the list,
// and each part recomputes its addresses.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/Rematerialize.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mp {
#define GEN_PASS_DEF_SPLITMAIN
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

/// Consecutive ops, except for address computations between them.
using Part = SmallVector<Operation *>;

struct SplitMain : public mp::impl::SplitMainBase<SplitMain> {
  using SplitMainBase::SplitMainBase;

  void runOnOperation() override;

private:
  SmallVector<Part> findParts(Block &block);
  void outline(const Part &part);

  unsigned numFunctions = 0;
};

/// Brings the values that its ops use into a function.
class Body {
public:
  Body(const Part &part, Block *entry)
      : inside(part.begin(), part.end()), entry(entry),
        b(OpBuilder::atBlockEnd(entry)) {}

  void take(Operation *op);
  /// The results of the part's operations that other operations use.
  SmallVector<Value> findResults(const Part &part);

  IRMapping mapping;
  /// The operands of the call of the function.
  SmallVector<Value> arguments;

private:
  void bring(Value value);

  llvm::SmallPtrSet<Operation *, 16> inside;
  Block *entry;
  OpBuilder b;
};

} // namespace

/// True if `op` only computes the location or size of memory: it can be
/// repeated wherever its operands are known.
static bool isPlace(Operation *op) {
  return op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getResultTypes(), [](Type type) {
           return isa<IndexType, IntegerType, MemRefType>(type);
         });
}

/// A constant, or a place.
static bool isRepeated(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || isPlace(op);
}

/// Collects the outside values that `op` and the ops inside it use.
static void findUsed(Operation *op, llvm::SetVector<Value> &used) {
  used.insert(op->operand_begin(), op->operand_end());
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, used);
}

/// Brings a value and the ops that it is computed by.
void Body::bring(Value value) {
  rematerialize(b, mapping, value, [&](Value next) -> Value {
    Operation *op = next.getDefiningOp();
    if (op && isRepeated(op))
      return nullptr;
    arguments.push_back(next);
    return entry->addArgument(next.getType(), next.getLoc());
  });
}

void Body::take(Operation *op) {
  llvm::SetVector<Value> used;
  findUsed(op, used);
  for (Value value : used)
    bring(value);
  b.clone(*op, mapping);
}

SmallVector<Value> Body::findResults(const Part &part) {
  SmallVector<Value> results;
  for (Operation *op : part)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            Operation *own = op->getBlock()->findAncestorOpInBlock(*user);
            return !inside.contains(own);
          }))
        results.push_back(result);
  return results;
}

/// Allocations and address computations stay in the main function.
SmallVector<Part> SplitMain::findParts(Block &block) {
  SmallVector<Part> parts(1);
  for (Operation &op : block.without_terminator()) {
    if (isRepeated(&op))
      continue;
    if (isa<memref::AllocOp, memref::AllocaOp>(op) ||
        parts.back().size() == length)
      parts.emplace_back();
    if (!isa<memref::AllocOp, memref::AllocaOp>(op))
      parts.back().push_back(&op);
  }
  return parts;
}

void SplitMain::outline(const Part &part) {
  OpBuilder b(&getContext());
  b.setInsertionPointToEnd(getOperation().getBody());
  Location loc = part.front()->getLoc();
  std::string name = ("mp_part_" + Twine(numFunctions++)).str();
  auto function = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  function.setPrivate();
  Block *entry = b.createBlock(&function.getBody());
  Body body(part, entry);
  for (Operation *op : part)
    body.take(op);
  SmallVector<Value> results = body.findResults(part), returned;
  for (Value result : results)
    returned.push_back(body.mapping.lookup(result));
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, loc, returned);
  function.setFunctionType(b.getFunctionType(entry->getArgumentTypes(),
                                             ValueRange(returned).getTypes()));
  // The call's operands are defined before the part's first op; address
  // computations that depend on its results come after it.
  b.setInsertionPoint(part.front());
  auto call = func::CallOp::create(b, loc, function, body.arguments);
  for (auto [result, value] : llvm::zip_equal(results, call.getResults()))
    result.replaceAllUsesWith(value);
  for (Operation *op : llvm::reverse(part))
    op->erase();
}

/// An output of known size has its memory once `runtime.output` has run; from
/// then on, each function finds it among the outputs, like an input.
static void findOutputsAgain(Block &block) {
  for (auto output : block.getOps<runtime::OutputOp>()) {
    auto type = cast<MemRefType>(output.getType());
    if (!type.hasStaticShape())
      continue;
    OpBuilder b(output->getContext());
    b.setInsertionPointAfter(output);
    Value again = runtime::InputOp::create(
        b, output.getLoc(), type, output.getOutputs(), output.getNumber());
    output.getResult().replaceAllUsesWith(again);
  }
}

void SplitMain::runOnOperation() {
  auto main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return;
  numFunctions = 0;
  SmallVector<Part> parts = findParts(main.getBody().front());
  size_t total = 0;
  for (const Part &part : parts)
    total += part.size();
  if (total < 2 * length)
    return;
  findOutputsAgain(main.getBody().front());
  for (const Part &part : parts)
    if (part.size() > 1)
      outline(part);
}
