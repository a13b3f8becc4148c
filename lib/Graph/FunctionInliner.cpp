//===- FunctionInliner.cpp - Nodes of a function for one call -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body is cloned unchanged. Then names become unique, references to
// attributes are replaced by their values, and types are inferred from operands
// to results, as in a graph that was written without the function.
//
//===----------------------------------------------------------------------===//

#include "FunctionInliner.h"

#include "mp-opt/Graph/FunctionBodies.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The prefix of the names of the nodes for `call`.
static StringRef getPrefix(Operation *call) {
  StringRef name = getNodeName(call);
  return name.empty() && call->getNumResults()
             ? onnxir::getValueName(call->getResult(0))
             : name;
}

FunctionInliner::FunctionInliner(NodeBuilder &builder, FunctionOp function,
                                 Operation *call, const AttributeValues &values)
    : builder(builder), function(function), call(call), values(values),
      copier(builder, getPrefix(call)) {
  builder.setBase(getPrefix(call));
}

InFlightDiagnostic FunctionInliner::emitError() {
  return call->emitError() << describe(call) << ": ";
}

LogicalResult FunctionInliner::checkCall() {
  YieldOp yield = getYield(function.getBody());
  if (!yield)
    return emitError() << "the function it calls has no end";
  if (call->getNumRegions())
    return emitError() << "a call with subgraphs cannot be replaced by the "
                          "function's body";
  if (call->getNumOperands() > function.getBody().getNumArguments())
    return emitError() << "expected at most "
                       << function.getBody().getNumArguments()
                       << " inputs, as the function has, found "
                       << call->getNumOperands();
  if (call->getNumResults() > yield.getNumOperands())
    return emitError() << "expected at most " << yield.getNumOperands()
                       << " outputs, as the function has, found "
                       << call->getNumResults();
  return checkOpsets();
}

/// Checks that nodes keep their meaning in the model, and adds missing imports.
LogicalResult FunctionInliner::checkOpsets() {
  auto *dialect = call->getContext()->getLoadedDialect<ONNXDialect>();
  WalkResult result = function->walk([&](Operation *op) {
    if (!isNode(op) || isa<CustomOp>(op))
      return WalkResult::advance();
    StringRef domain = getDomain(op);
    auto there = getOpset(op, domain), here = getOpset(call, domain);
    const OpFamily *family = dialect->getFamily(op->getName());
    if (!there || !here || *there == *here || !family ||
        family->at(int(*here)) == getSchema(op))
      return WalkResult::advance();
    emitError() << "the function has " << describe(op) << ", which is another "
                << "operator at opset " << *here << " of the calling graph";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

void FunctionInliner::resolveAttributes(Operation *op) {
  if (!isNode(op))
    return;
  for (NamedAttribute entry : llvm::to_vector(op->getDiscardableAttrs())) {
    auto reference = dyn_cast<ProtoAttr>(entry.getValue());
    if (!reference || entry.getName().strref().contains('.'))
      continue;
    Attribute value = NodeTypes::resolve(reference, values);
    if (!value)
      op->removeAttr(entry.getName());
    else if (value != reference)
      op->setAttr(entry.getName(),
                  NodeTypes::getPlainForm(value, entry.getName()));
  }
}

void FunctionInliner::castConstants(Operation *op) {
  const OpSchema *schema = getSchema(op);
  auto getVariable = [&](unsigned index) {
    const FormalParameter *input = schema ? schema->getInput(index) : nullptr;
    return input && input->homogeneous ? int(input->typeVariable) : -1;
  };
  auto isConstant = [](Value value) {
    Operation *definer = value.getDefiningOp();
    return definer && isStandardOp(definer, "Constant");
  };
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = getTensorElementType(operand.get().getType());
    if (!isa_and_nonnull<FloatType>(type) || !isConstant(operand.get()))
      continue;
    for (auto [index, other] : llvm::enumerate(op->getOperands())) {
      Type wanted = getTensorElementType(other.getType());
      int variable = getVariable(operand.getOperandNumber());
      if (wanted == type || !isa_and_nonnull<FloatType>(wanted) ||
          isConstant(other) || variable < 0 || getVariable(index) != variable)
        continue;
      OpBuilder::InsertionGuard guard(builder.getBuilder());
      builder.setInsertionPoint(op);
      operand.set(builder.castTo(operand.get(), wanted));
      break;
    }
  }
}

/// Copies the metadata of the call to a node that has none.
void FunctionInliner::addMetadata(Operation *op) {
  constexpr StringLiteral key = "metadata_props";
  auto from = call->getAttrOfType<DictionaryAttr>(attr::extra);
  Attribute metadata = from ? from.get(key) : Attribute();
  if (!metadata || !isNode(op))
    return;
  NamedAttrList fields(op->getAttrOfType<DictionaryAttr>(attr::extra));
  if (fields.get(key))
    return;
  fields.set(key, metadata);
  op->setAttr(attr::extra, fields.getDictionary(op->getContext()));
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

void FunctionInliner::copyNodes() {
  OpBuilder &place = builder.getBuilder();
  builder.setInsertionPoint(call);
  Value absent;
  for (BlockArgument argument : function.getBody().getArguments()) {
    unsigned index = argument.getArgNumber();
    if (index >= call->getNumOperands() && !absent)
      absent = AbsentOp::create(place, call->getLoc(),
                                NoneType::get(call->getContext()));
    copier.mapping.map(argument, index < call->getNumOperands()
                                     ? call->getOperand(index)
                                     : absent);
  }
  for (Operation *node : copier.copy(function.getBody().front())) {
    node->walk([&](Operation *inner) {
      resolveAttributes(inner);
      addMetadata(inner);
    });
    nodes.insert(node);
    if (castsConstants)
      castConstants(node);
    builder.getTypes().inferNested(node);
  }
}

LogicalResult FunctionInliner::replaceResults() {
  YieldOp yield = getYield(function.getBody());
  llvm::DenseSet<Value> taken;
  for (auto [index, result] : llvm::enumerate(call->getResults())) {
    if (isa<NoneType>(result.getType()))
      continue;
    Value value = copier.mapping.lookupOrDefault(yield.getOperand(index));
    if (isa<NoneType>(value.getType()) && !result.use_empty())
      return emitError() << "output #" << index
                         << " is an input of the function that is not given";
    Operation *definer = value.getDefiningOp();
    bool isNew = nodes.contains(definer) && taken.insert(value).second;
    std::string name = onnxir::getValueName(result).str();
    // Names of graph outputs stay; other values may have several names.
    bool isOutput = llvm::any_of(
        result.getUsers(), [](Operation *user) { return isa<YieldOp>(user); });
    if (!isNew && isOutput) {
      value = builder.create("Identity", {value}, {}, value.getType());
      nodes.insert(value.getDefiningOp());
    }
    value.setType(NodeTypes::refine(value.getType(), result.getType()));
    result.replaceAllUsesWith(value);
    if (name.empty() || (!isNew && !isOutput))
      continue;
    setValueName(result, "");
    setValueName(cast<OpResult>(value), name);
  }
  return success();
}

LogicalResult FunctionInliner::run() {
  if (failed(checkCall()))
    return failure();
  copyNodes();
  return replaceResults();
}

FailureOr<SmallVector<Operation *>>
inlineFunction(NodeBuilder &builder, FunctionOp function, Operation *call) {
  AttributeValues values = NodeTypes::getValues(function, call, {});
  FunctionInliner inliner(builder, function, call, values);
  if (failed(inliner.run()))
    return failure();
  return SmallVector<Operation *>(inliner.getNodes());
}

FailureOr<SmallVector<Operation *>> expandFunctionBody(NodeBuilder &builder,
                                                       Operation *node) {
  FailureOr<SchemaFunction> made = importSchemaFunction(node);
  if (failed(made))
    return failure();
  FunctionInliner inliner(builder, made->function, node, made->values);
  inliner.castsConstants = true;
  if (failed(inliner.run()))
    return failure();
  SmallVector<Operation *> nodes(inliner.getNodes());
  node->erase();
  return nodes;
}

} // namespace mp
