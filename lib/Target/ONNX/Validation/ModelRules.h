//===- ModelRules.h - Versions, functions, training_info --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_VALIDATION_MODELRULES_H
#define MPOPT_LIB_TARGET_ONNX_VALIDATION_MODELRULES_H

#include "Deviations.h"

#include "onnx/onnx_pb.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mp {

/// The functions of one model, by the names that nodes call them by.
class LocalFunctions {
public:
  explicit LocalFunctions(const ::onnx::ModelProto &model);

  /// The function that `node` calls; null if it is not a call.
  const ::onnx::FunctionProto *lookup(const ::onnx::NodeProto &node) const;
  /// True if there is a function with the node's domain and name, for any
  /// overload.
  bool hasName(const ::onnx::NodeProto &node) const;
  /// True if there are functions in the domain.
  bool hasDomain(llvm::StringRef domain) const {
    return domains.contains(domain);
  }

  /// Fails if two are one, or one calls itself, by others or directly; or if
  /// the lists of one's inputs, outputs or attributes name something twice.
  mlir::LogicalResult check(mlir::Location loc) const;

private:
  mlir::LogicalResult checkLists(const ::onnx::FunctionProto &function,
                                 mlir::Location loc) const;
  mlir::LogicalResult checkRecursion(mlir::Location loc) const;

  const ::onnx::ModelProto &model;
  /// The first of each name, and the first of each overload.
  llvm::StringMap<const ::onnx::FunctionProto *> byName, byOverload;
  llvm::StringSet<> domains;
};

/// Checks the IR version, the features that need it, and the metadata.
mlir::LogicalResult checkModelFields(const ::onnx::ModelProto &model,
                                     mlir::Location loc,
                                     Deviations &deviations);

/// Checks that training_info binds initializers to values that its graphs
/// compute.
mlir::LogicalResult checkTrainingInfo(const ::onnx::ModelProto &model,
                                      mlir::Location loc);

/// Checks that each gradient node in `graph` names values of the model, and has
/// an operand or result for each of them; `isValue` tests names.
mlir::LogicalResult
checkGradients(const ::onnx::GraphProto &graph, mlir::Location loc,
               llvm::function_ref<bool(llvm::StringRef)> isValue);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_MODELRULES_H
