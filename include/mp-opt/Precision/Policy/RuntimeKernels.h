//===- RuntimeKernels.h - What a runtime has for a node ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies the table of a runtime (Schema/RuntimeTable.h) to nodes: the rows of
// their operator at the version of their schema, of which the conditions hold.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_RUNTIMEKERNELS_H
#define MPOPT_PRECISION_POLICY_RUNTIMEKERNELS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Schema/RuntimeTable.h"

namespace mp {

class RuntimeKernels {
public:
  /// `request` is that of RuntimeProfile. Fails as it does.
  static llvm::Expected<RuntimeKernels> create(llvm::StringRef request);

  const RuntimeProfile &getProfile() const { return profile; }

  /// Why the runtime has no kernel for `node` at the version `schema` of its
  /// operator; empty if it has one. Float operands and results have their
  /// present types, or `low` where they are fp32 and the schema admits it,
  /// unless `low` is undefined.
  std::string getObstacle(mlir::Operation *node, const OpSchema &schema,
                          ElementKind low = ElementKind::Undefined) const;
  /// Why neither the runtime nor its fallback runs a node as it is; empty if
  /// one does. Conversions that the runtime inserts count.
  std::string getFinalObstacle(mlir::Operation *node,
                               const OpSchema &schema) const;

  /// True if the runtime or its fallback has a kernel for version `since` of
  /// the operator `op` of `node`, for some types.
  bool hasKernel(mlir::Operation *node, llvm::StringRef op, int since) const;

private:
  RuntimeProfile profile;
  std::optional<RuntimeProfile> fallback;
};

/// True if a node's operands of several type variables must have one type for
/// the runtimes that want it: statistics of a normalization.
bool hasOperandsOfOneType(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_RUNTIMEKERNELS_H
