//===- TypeInference.h - Types that a model does not state ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_TYPEINFERENCE_H
#define MPOPT_LIB_TARGET_ONNX_TYPEINFERENCE_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/StringMap.h"

#include <string>

namespace onnx {
class NodeProto;
class TensorProto;
} // namespace onnx

namespace mp {

/// One operand for inference: its type, and its value where it is a small
/// constant (shapes, axes), else null.
struct InferenceOperand {
  mlir::Type type;
  const ::onnx::TensorProto *value = nullptr;
  /// Names of its unknown sizes: numbers from 1 on, 0 for those without; empty
  /// if it has none.
  llvm::ArrayRef<unsigned> symbols = {};
};

/// The names of each result's sizes, in the same form.
using InferredSymbols = llvm::SmallVector<llvm::SmallVector<unsigned>>;

/// Types of results, and why there can be none: ONNX's inference says that the
/// node contradicts itself or its operands.
struct InferredTypes {
  llvm::SmallVector<mlir::Type> types;
  std::string error = {};
};

/// The result types of `node` by ONNX's own inference, and where there is
/// none, by the type variables that results share with operands. A type that
/// cannot be told is `!onnx.unknown`. `symbols` gets the names of sizes that
/// results have from operands, where it is given.
InferredTypes inferResultTypes(mlir::MLIRContext *context,
                               const ::onnx::NodeProto &node,
                               const OpSchema &schema,
                               llvm::ArrayRef<InferenceOperand> operands,
                               InferredSymbols *symbols = nullptr);

/// What inference has said of nodes: many nodes of a model are of one operator
/// with the same attributes and types. Constants are told by their address, so
/// they must outlive the cache.
class InferenceCache {
public:
  /// What inferResultTypes says of `node`, unless the rules of its operator
  /// refuse it; stays until the next question.
  const InferredTypes &infer(mlir::MLIRContext *context,
                             const ::onnx::NodeProto &node,
                             const OpSchema &schema,
                             llvm::ArrayRef<InferenceOperand> operands);

private:
  /// By all that inference may ask about a node.
  llvm::StringMap<InferredTypes> known;
  /// What was said of a node that is not kept.
  InferredTypes last;
};

/// The types of a subgraph's `count` inputs, from the operands of the node of
/// type `opType` that it belongs to. What varies from one iteration to the
/// next is an element of the operand.
llvm::SmallVector<mlir::Type> getSubgraphInputTypes(mlir::MLIRContext *context,
                                                    llvm::StringRef opType,
                                                    mlir::TypeRange operands,
                                                    unsigned count);

/// The types of the node's `count` results, from what a subgraph yields.
llvm::SmallVector<mlir::Type> getSubgraphResultTypes(mlir::MLIRContext *context,
                                                     llvm::StringRef opType,
                                                     mlir::TypeRange yielded,
                                                     unsigned count);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_TYPEINFERENCE_H
