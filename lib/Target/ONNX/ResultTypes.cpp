//===- ResultTypes.cpp - Types of the results of imported nodes -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "Validation/ValueChecks.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mp::onnxir;
using Node = ::onnx::NodeProto;

namespace mp {

/// The types that the last subgraph's outputs give to the results of `node`.
static void inferFromSubgraphs(const Node &node, OperationState &state,
                               SmallVectorImpl<Type> &types) {
  YieldOp yield = getYield(*state.regions.back());
  if (!yield)
    return;
  SmallVector<Type> yielded =
      getSubgraphResultTypes(yield.getContext(), node.op_type(),
                             yield.getOperandTypes(), types.size());
  for (auto [type, better] : llvm::zip(types, yielded))
    if (isa<UnknownType>(type))
      type = withoutShape(better);
}

/// Sizes that cannot both be right.
static bool contradict(Type lhs, Type rhs) {
  auto left = dyn_cast<RankedTensorType>(lhs);
  auto right = dyn_cast<RankedTensorType>(rhs);
  return left && right &&
         failed(verifyCompatibleShape(left.getShape(), right.getShape()));
}

LogicalResult GraphImporter::checkStated(StringRef name, Type &stated,
                                         Type inferred, std::string &refused) {
  auto tensor = dyn_cast<TensorType>(stated);
  auto better = dyn_cast<TensorType>(inferred);
  if (!tensor || !better)
    return success();
  if (tensor.getElementType() != better.getElementType()) {
    llvm::raw_string_ostream(refused)
        << "output '" << name << "' is declared as '" << stated << "', but is '"
        << inferred << "'";
    return success();
  }
  if (!contradict(stated, inferred))
    return success();
  // All that reads the value would contradict the stated one.
  stated = inferred;
  return deviations.add(Deviation::StaleShape, "value '" + name + "'");
}

LogicalResult GraphImporter::addInferredTypes(const Node &node,
                                              const OpSchema &schema,
                                              OperationState &state,
                                              SmallVectorImpl<Type> &types,
                                              std::string &refused) {
  SmallVector<InferenceOperand> operands;
  for (Value operand : state.operands)
    operands.push_back({operand.getType(), constants.lookup(operand)});
  // In functions operands have no types yet.
  if (function) {
    refused = whyValuesRefused(node, schema, operands);
    return success();
  }
  const InferredTypes &inferred =
      inference.infer(loc.getContext(), node, schema, operands);
  refused = inferred.error;
  if (!refused.empty())
    return success();
  for (auto [index, type, better] : llvm::enumerate(types, inferred.types)) {
    if (isa<UnknownType>(type))
      type = better;
    else if (failed(
                 checkStated(node.output(int(index)), type, better, refused)))
      return failure();
  }
  return success();
}

LogicalResult GraphImporter::addResultTypes(const Node &node,
                                            const OpSchema *schema,
                                            OperationState &state,
                                            std::string &refused) {
  Type unknown = builder.getType<UnknownType>();
  SmallVector<Type> types;
  for (const std::string &name : node.output()) {
    Type type = builder.getNoneType();
    if (!name.empty()) {
      auto it = scopes.back().types.find(name);
      type = it == scopes.back().types.end()
                 ? unknown
                 : convertType(loc.getContext(), *it->second);
    }
    types.push_back(type);
  }
  if (schema && state.regions.empty() &&
      failed(addInferredTypes(node, *schema, state, types, refused)))
    return failure();
  if (schema && !state.regions.empty()) {
    if (failed(checkSubgraphs(node, *schema, ValueRange(state.operands), types,
                              state.regions,
                              [&] { return nodeError(node, schema); })))
      return failure();
    if (!function)
      inferFromSubgraphs(node, state, types);
  }
  state.addTypes(types);
  return success();
}

} // namespace mp
