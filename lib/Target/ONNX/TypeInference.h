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

/// One operand for inference: its type, and its value if it is a small constant
/// (shapes, axes), else null.
struct InferenceOperand {
  mlir::Type type;
  const ::onnx::TensorProto *value = nullptr;
  /// Names of its unknown sizes: numbers from 1 on, 0 for those without; empty
  /// if it has none.
  llvm::ArrayRef<unsigned> symbols = {};
};

/// The names of each result's sizes, in the same form.
using InferredSymbols = llvm::SmallVector<llvm::SmallVector<unsigned>>;

/// Types of results, or the reason why there are none: ONNX's inference finds
/// that the node contradicts itself or its operands.
struct InferredTypes {
  llvm::SmallVector<mlir::Type> types;
  std::string error = {};
  /// Says which inferred size no tensor has. Such a size is unknown in a body,
  /// which may never run.
  std::string sizeError = {};
};

/// The result types of `node` by ONNX's own inference. If there is none, the
/// type variables shared by results and operands are used. Unknown types are
/// `!onnx.unknown`. If `symbols` is given, it receives the names of sizes that
/// results have from operands.
InferredTypes inferResultTypes(mlir::MLIRContext *context,
                               const ::onnx::NodeProto &node,
                               const OpSchema &schema,
                               llvm::ArrayRef<InferenceOperand> operands,
                               InferredSymbols *symbols = nullptr);

/// Caches results of inference, since many nodes of a model have the same
/// operator, attributes and types. Constants are compared by address, so they
/// must outlive the cache.
class InferenceCache {
public:
  /// The result of inferResultTypes for `node`, unless the rules of its
  /// operator refuse it. Valid until the next call.
  const InferredTypes &infer(mlir::MLIRContext *context,
                             const ::onnx::NodeProto &node,
                             const OpSchema &schema,
                             llvm::ArrayRef<InferenceOperand> operands);

private:
  /// Results by everything that inference may read of a node.
  llvm::StringMap<InferredTypes> known;
  /// The result for a node that is not cached.
  InferredTypes last;
};

/// The types of a subgraph's `count` inputs, from the operands of its node,
/// which has the type `opType`. Inputs that vary from one iteration to the next
/// are elements of the operand.
llvm::SmallVector<mlir::Type> getSubgraphInputTypes(mlir::MLIRContext *context,
                                                    llvm::StringRef opType,
                                                    mlir::TypeRange operands,
                                                    unsigned count);

/// The types of the node's `count` results, given the types that a subgraph
/// yields.
llvm::SmallVector<mlir::Type> getSubgraphResultTypes(mlir::MLIRContext *context,
                                                     llvm::StringRef opType,
                                                     mlir::TypeRange yielded,
                                                     unsigned count);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_TYPEINFERENCE_H
