//===- GraphImporter.h - Graphs of a model into regions ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_GRAPHIMPORTER_H
#define MPOPT_LIB_TARGET_ONNX_GRAPHIMPORTER_H

#include "Conversion.h"
#include "TypeInference.h"
#include "Validation/NodeRules.h"
#include "Validation/TypeRules.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace mp {

/// True if both types have sizes that contradict each other.
bool contradict(mlir::Type lhs, mlir::Type rhs);

/// Imports the graphs of one model, one region each. Names are resolved from
/// the inside out, by ONNX's scoping rules.
class GraphImporter {
public:
  GraphImporter(const ::onnx::ModelProto &model, TensorSource &source,
                mlir::OpBuilder builder, mlir::Location loc,
                Deviations &deviations, const LocalFunctions &functions);

  mlir::LogicalResult importMainGraph(const ::onnx::GraphProto &graph,
                                      mlir::Region &region);
  /// Messages about the graph begin with `what`.
  mlir::LogicalResult importTrainingGraph(const ::onnx::GraphProto &graph,
                                          mlir::Region &region,
                                          const llvm::Twine &what);
  mlir::LogicalResult importFunctionBody(const ::onnx::FunctionProto &function,
                                         mlir::Region &region);

private:
  /// The names that one graph defines. Their texts belong to its proto.
  struct Scope {
    llvm::DenseMap<llvm::StringRef, mlir::Value> values;
    llvm::DenseMap<llvm::StringRef, const ::onnx::TypeProto *> types;
    mlir::Value absent;
    mlir::Block *block = nullptr;
  };
  using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

  mlir::LogicalResult importGraph(const ::onnx::GraphProto &graph,
                                  GraphPlace place, mlir::Region &region,
                                  llvm::ArrayRef<mlir::Type> inputTypes);
  mlir::LogicalResult importInputs(const ::onnx::GraphProto &graph,
                                   llvm::ArrayRef<mlir::Type> inputTypes);
  mlir::LogicalResult importInitializers(const ::onnx::GraphProto &graph);
  mlir::LogicalResult importNodes(const Nodes &nodes);
  mlir::LogicalResult importYield(const ::onnx::GraphProto &graph);

  mlir::LogicalResult importNode(const ::onnx::NodeProto &node);
  mlir::LogicalResult importOperands(const ::onnx::NodeProto &node,
                                     mlir::OperationState &state);
  mlir::LogicalResult importAttributes(const ::onnx::NodeProto &node,
                                       mlir::OperationState &state);
  void addIdentity(const ::onnx::NodeProto &node, const OpFamily *family,
                   mlir::OperationState &state);
  mlir::LogicalResult importSubgraphs(const ::onnx::NodeProto &node,
                                      mlir::OperationState &state);
  /// Adds the types of the results: those that the model states, or inferred
  /// ones otherwise. If they or the operands contradict the operator, `refused`
  /// gets the reason.
  mlir::LogicalResult addResultTypes(const ::onnx::NodeProto &node,
                                     const OpSchema *schema,
                                     mlir::OperationState &state,
                                     std::string &refused);
  mlir::LogicalResult addInferredTypes(const ::onnx::NodeProto &node,
                                       const OpSchema &schema,
                                       mlir::OperationState &state,
                                       llvm::SmallVectorImpl<mlir::Type> &types,
                                       std::string &refused);
  /// Compares a type that the model states with the inferred one, which
  /// replaces it if only the shapes differ.
  mlir::LogicalResult checkStated(llvm::StringRef name, mlir::Type &stated,
                                  mlir::Type inferred, std::string &refused);
  /// Compares further declarations of inputs and initializers in the graph with
  /// their types.
  mlir::LogicalResult checkDeclared(const ::onnx::GraphProto &graph);
  /// Compares the stated types of an If's results with those of its branches,
  /// and drops contradicting shapes.
  mlir::LogicalResult checkBranches(const ::onnx::NodeProto &node,
                                    const mlir::OperationState &state,
                                    llvm::SmallVectorImpl<mlir::Type> &types);
  /// Records the value of the node if it is a small constant.
  void noteConstant(const ::onnx::NodeProto &node, mlir::Operation *op);
  /// The op family that describes `node`; null for calls and unknown ops.
  const OpFamily *getFamily(const ::onnx::NodeProto &node);
  mlir::LogicalResult define(llvm::StringRef name, mlir::Value value,
                             const llvm::Twine &definer);
  mlir::Value lookup(llvm::StringRef name);
  mlir::Value getAbsent();
  mlir::InFlightDiagnostic nodeError(const ::onnx::NodeProto &node,
                                     const OpSchema *schema = nullptr);
  NodeContext getContext() const {
    return {opsets, functions, function, irVersion};
  }

  TensorSource &source;
  mlir::OpBuilder builder;
  mlir::Location loc;
  const SchemaRegistry &schemas;
  Deviations &deviations;
  const LocalFunctions &functions;
  /// Names of the main graph that training_info may use; collected on demand.
  llvm::StringSet<> mainNames;
  const ::onnx::GraphProto &mainGraph;
  int64_t irVersion;
  std::vector<Scope> scopes;
  llvm::DenseMap<mlir::Value, const ::onnx::TensorProto *> constants;
  /// Constants that are not tensors in the model.
  std::vector<std::unique_ptr<::onnx::TensorProto>> madeConstants;
  InferenceCache inference;
  /// Opset imports that currently apply: the model's or the current function's.
  llvm::StringMap<int64_t> opsets;
  /// Names of attributes that every node has.
  mlir::StringAttr nameKey, resultsKey;
  /// Names outside the model's main graph are fetched from it.
  bool outerNames = false;
  /// The function whose body is being imported.
  const ::onnx::FunctionProto *function = nullptr;
  unsigned depth = 0;
};

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_GRAPHIMPORTER_H
