//===- NodeRules.h - Rules for nodes ----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_VALIDATION_NODERULES_H
#define MPOPT_LIB_TARGET_ONNX_VALIDATION_NODERULES_H

#include "../Conversion.h"
#include "Deviations.h"
#include "ModelRules.h"

#include "mlir/IR/Region.h"

namespace mp {

/// The context of a node: its imports and the functions defined there.
struct NodeContext {
  const llvm::StringMap<int64_t> &opsets;
  const LocalFunctions &functions;
  /// The function that the node is in; null outside of functions.
  const ::onnx::FunctionProto *function;
  int64_t irVersion;
};

/// Checks that the node's domain is imported, and that the opset has its
/// operator. `family` describes the operator; it may be missing.
mlir::LogicalResult checkOperator(const ::onnx::NodeProto &node,
                                  const OpFamily *family,
                                  const NodeContext &context,
                                  Deviations &deviations,
                                  EmitErrorFn emitError);

/// Checks that a call fits the function.
mlir::LogicalResult checkCall(const ::onnx::NodeProto &node,
                              const ::onnx::FunctionProto &function,
                              EmitErrorFn emitError);

/// Checks the form of an attribute: one value, of the type that it states.
mlir::LogicalResult checkAttributeForm(const ::onnx::AttributeProto &attribute,
                                       const ::onnx::NodeProto &node,
                                       const NodeContext &context,
                                       Deviations &deviations,
                                       EmitErrorFn emitError);

/// Checks the inputs and outputs of a standard node's subgraphs. `names` are
/// those of the attributes, one for each region.
mlir::LogicalResult
checkSubgraphs(const ::onnx::NodeProto &node, const OpSchema &schema,
               mlir::ValueRange operands, mlir::TypeRange results,
               llvm::ArrayRef<std::unique_ptr<mlir::Region>> regions,
               EmitErrorFn emitError);

/// Returns "node 'a'" with its operator; a node without a name is identified by
/// its first output.
std::string describeNode(const ::onnx::NodeProto &node, llvm::StringRef op);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_NODERULES_H
