//===- ResultTypes.cpp - Types of the results of imported nodes -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "Validation/ValueChecks.h"
#include "WireFormat.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mp::onnxir;
using Node = ::onnx::NodeProto;

namespace mp {

/// Adds the types that the last subgraph's outputs imply for the results of
/// `node`.
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

bool contradict(Type lhs, Type rhs) {
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
  // Otherwise all users of the value would contradict the stated type.
  stated = inferred;
  return deviations.add(Deviation::StaleShape, "value '" + name + "'");
}

LogicalResult GraphImporter::checkDeclared(const ::onnx::GraphProto &graph) {
  auto check = [&](const ::onnx::ValueInfoProto &info) -> LogicalResult {
    Value value = scopes.back().values.lookup(info.name());
    Type stated = convertType(loc.getContext(), info.type());
    if (!value || !isa<TensorType>(stated) || !isa<TensorType>(value.getType()))
      return success();
    if (getElementTypeOrSelf(stated) != getElementTypeOrSelf(value.getType()))
      return emitError(loc) << "value '" << info.name() << "' is declared as "
                            << stated << ", but is " << value.getType();
    return contradict(stated, value.getType())
               ? deviations.add(Deviation::StaleShape,
                                "value '" + info.name() + "'")
               : success();
  };
  for (const ::onnx::ValueInfoProto &info : graph.value_info())
    if (failed(check(info)))
      return failure();
  for (const ::onnx::ValueInfoProto &info : graph.output())
    if (failed(check(info)))
      return failure();
  return success();
}

LogicalResult GraphImporter::checkBranches(const Node &node,
                                           const OperationState &state,
                                           SmallVectorImpl<Type> &types) {
  for (const auto &region : state.regions) {
    YieldOp yield = getYield(*region);
    if (!yield || node.op_type() != "If")
      return success();
    for (auto [name, type, yielded] :
         llvm::zip(node.output(), types, yield.getOperandTypes())) {
      if (!contradict(type, yielded))
        continue;
      type = withoutShape(type);
      if (failed(deviations.add(Deviation::StaleShape, "value '" + name + "'")))
        return failure();
    }
  }
  return success();
}

LogicalResult GraphImporter::addInferredTypes(const Node &node,
                                              const OpSchema &schema,
                                              OperationState &state,
                                              SmallVectorImpl<Type> &types,
                                              std::string &refused) {
  SmallVector<InferenceOperand> operands;
  for (Value operand : state.operands)
    operands.push_back({operand.getType(), constants.lookup(operand)});
  // Operands within functions do not have types yet.
  if (function) {
    refused = whyValuesRefused(node, schema, operands);
    return success();
  }
  const InferredTypes &inferred =
      inference.infer(loc.getContext(), node, schema, operands);
  refused = inferred.error;
  bool isBody = scopes.size() > 1;
  if (refused.empty() && !isBody)
    refused = inferred.sizeError;
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
                              [&] { return nodeError(node, schema); })) ||
        failed(checkBranches(node, state, types)))
      return failure();
    if (!function)
      inferFromSubgraphs(node, state, types);
  }
  state.addTypes(types);
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The small constant that a node is; null for other nodes.
static const ::onnx::TensorProto *getConstant(const Node &node) {
  if (node.op_type() != "Constant" || node.attribute_size() != 1 ||
      node.output_size() != 1 || !node.attribute(0).has_t())
    return nullptr;
  const ::onnx::TensorProto &tensor = node.attribute(0).t();
  return getToken(tensor) || tensor.has_data_location() ? nullptr : &tensor;
}

/// The tensor of a Constant that states numbers; empty for other nodes.
static std::unique_ptr<::onnx::TensorProto> makeConstant(const Node &node) {
  if (node.op_type() != "Constant" || !normalizeDomain(node.domain()).empty() ||
      node.attribute_size() != 1 || node.output_size() != 1)
    return nullptr;
  const ::onnx::AttributeProto &stated = node.attribute(0);
  auto tensor = std::make_unique<::onnx::TensorProto>();
  if (stated.name() == "value_int" || stated.name() == "value_ints") {
    tensor->set_data_type(::onnx::TensorProto::INT64);
    *tensor->mutable_int64_data() = stated.ints();
    if (stated.has_i())
      tensor->add_int64_data(stated.i());
  } else if (stated.name() == "value_float" ||
             stated.name() == "value_floats") {
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    *tensor->mutable_float_data() = stated.floats();
    if (stated.has_f())
      tensor->add_float_data(stated.f());
  } else {
    return nullptr;
  }
  if (StringRef(stated.name()).ends_with("s"))
    tensor->add_dims(tensor->int64_data_size() + tensor->float_data_size());
  return tensor;
}

void GraphImporter::noteConstant(const Node &node, Operation *op) {
  if (const ::onnx::TensorProto *constant = getConstant(node)) {
    constants[op->getResult(0)] = constant;
  } else if (auto made = makeConstant(node)) {
    constants[op->getResult(0)] = made.get();
    madeConstants.push_back(std::move(made));
  }
}

} // namespace mp
