//===- Attributes.h - Attributes of precision passes ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file has typed access to the attributes of the precision passes
// (AttributeNames.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MP_ATTRIBUTES_H
#define MPOPT_DIALECT_MP_ATTRIBUTES_H

#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/MP/MP.h"

#include "mlir/IR/BuiltinOps.h"

namespace mp {

inline constexpr OpClass opClasses[] = {OpClass::Allow, OpClass::Deny,
                                        OpClass::Promote, OpClass::Follow};

// Null, or false, if the node has none.
inline ClassAttr getClass(mlir::Operation *node) {
  return node->getAttrOfType<ClassAttr>(mark::opClass);
}
inline PrecisionAttr getPrecision(mlir::Operation *node) {
  return node->getAttrOfType<PrecisionAttr>(mark::precision);
}
inline HazardAttr getHazard(mlir::Operation *node) {
  return node->getAttrOfType<HazardAttr>(mark::hazard);
}
inline CompositeAttr getComposite(mlir::Operation *node) {
  return node->getAttrOfType<CompositeAttr>(mark::composite);
}
inline RoundingErrorAttr getRoundingError(mlir::Operation *node) {
  return node->getAttrOfType<RoundingErrorAttr>(mark::roundingError);
}
inline PolicyAttr getPolicy(mlir::ModuleOp module) {
  return module->getAttrOfType<PolicyAttr>(mark::policy);
}
inline TargetAttr getTarget(mlir::ModuleOp module) {
  return module->getAttrOfType<TargetAttr>(mark::target);
}
inline ErrorLimitAttr getErrorLimit(mlir::ModuleOp module) {
  return module->getAttrOfType<ErrorLimitAttr>(mark::errorLimit);
}
/// The 16-bit type in use.
inline mlir::Type getLowType(mlir::ModuleOp module) {
  PolicyAttr policy = getPolicy(module);
  return policy ? policy.getLowType() : mlir::Type();
}
inline bool hasClass(mlir::Operation *node, OpClass opClass) {
  ClassAttr held = getClass(node);
  return held && held.getOpClass() == opClass;
}
/// The element type that a node runs in.
inline mlir::Type getPrecisionType(mlir::Operation *node) {
  PrecisionAttr held = getPrecision(node);
  return held ? held.getType() : mlir::Type();
}

/// Sets the reason why `node` must not run in 16 bit, unless it has one. A
/// cautious reason is a possibility that data can rule out; the node's hazard
/// is cautious if all its reasons are.
void addHazard(mlir::Operation *node, llvm::StringRef reason,
               bool isCautious = false);

/// The text of a reason with its values in their places: `operand 'x' is f32`.
std::string describeReason(llvm::StringRef text, mlir::ArrayAttr values);
/// The same with `N` for each number and `...` for each name: the common text
/// of nodes with reasons of one form.
std::string describeReasonGroup(llvm::StringRef text, mlir::ArrayAttr values);

/// True for every attribute of the dialect but mp.summary and those that clones
/// of functions are known by until they are merged.
bool isTemporary(llvm::StringRef attributeName);

} // namespace mp

#endif // MPOPT_DIALECT_MP_ATTRIBUTES_H
