//===- Attributes.h - What passes tell each other ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes of the mp dialect, by name, and typed access to those of the
// precision passes. Who writes them, who reads them and until when stands
// beside each. The dialect's verifier knows the same names (Attributes.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MP_ATTRIBUTES_H
#define MPOPT_DIALECT_MP_ATTRIBUTES_H

#include "mp-opt/Dialect/MP/MP.h"

#include "mlir/IR/BuiltinOps.h"

namespace mp {

inline constexpr OpClass opClasses[] = {OpClass::Allow, OpClass::Deny,
                                        OpClass::Promote, OpClass::Follow};

namespace mark {

// Of the precision passes; mp-verify-precision removes them.

/// On a node: ClassAttr (mp-classify), PrecisionAttr (mp-assign).
inline constexpr llvm::StringLiteral opClass = "mp.class";
inline constexpr llvm::StringLiteral precision = "mp.precision";
/// On a node, before it has a class: HazardAttr, CompositeAttr; the float value
/// computes shapes or indices (unit).
inline constexpr llvm::StringLiteral hazard = "mp.hazard";
inline constexpr llvm::StringLiteral composite = "mp.composite";
inline constexpr llvm::StringLiteral shapeArithmetic = "mp.shape_arithmetic";
/// On a node that this compiler has added to the user's (a loss, what an
/// optimizer computes): lists of operators do not speak of it, so that none of
/// their wishes is refused, and its constants are no parameters (unit).
inline constexpr llvm::StringLiteral added = "mp.added";
/// On a node that raising the opset has made, and on the module if there are
/// such nodes (unit).
inline constexpr llvm::StringLiteral adapter = "mp.opset_adapter";
/// On a constant: in 16 bit, finite elements beyond +-this f32 become it.
inline constexpr llvm::StringLiteral clamp = "mp.clamp";
/// On a constant: what one reading of its elements has told (f64 array;
/// ConstantRange writes and reads it).
inline constexpr llvm::StringLiteral range = "mp.range";
/// On a Cast: inserted by a pass, not the user's (unit).
inline constexpr llvm::StringLiteral inserted = "mp.inserted";
/// On the module: PolicyAttr (mp-set-policy).
inline constexpr llvm::StringLiteral policy = "mp.policy";
/// On the module: types of the graph's inputs and outputs at the start.
inline constexpr llvm::StringLiteral inputTypes = "mp.input_types";
inline constexpr llvm::StringLiteral outputTypes = "mp.output_types";
/// On the module, counters (i64): bytes of all float values and their casts,
/// as assigned; casts so far; elements that conversion made zero; constants
/// with elements that were clamped.
inline constexpr llvm::StringLiteral costBytes = "mp.cost_bytes";
inline constexpr llvm::StringLiteral castsInserted = "mp.casts_inserted";
inline constexpr llvm::StringLiteral castsRemoved = "mp.casts_removed";
inline constexpr llvm::StringLiteral elementsToZero = "mp.elements_to_zero";
inline constexpr llvm::StringLiteral masksClamped = "mp.masks_clamped";

/// On the module, the one that stays: what the pipeline has done (dictionary).
inline constexpr llvm::StringLiteral summary = "mp.summary";

// Of onnx-specialize-functions, until onnx-merge-functions.

/// On a function: it is the clone, typed for one call, of the function of this
/// name (string). On the call: the clone's name. On a node of the main graph:
/// the types (array) that its results and the inputs of its subgraphs have in
/// the model.
inline constexpr llvm::StringLiteral specialized = "mp.specialized";
inline constexpr llvm::StringLiteral callee = "mp.callee";
inline constexpr llvm::StringLiteral untyped = "mp.untyped";

} // namespace mark

// Null, or false, where there is none.
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
inline PolicyAttr getPolicy(mlir::ModuleOp module) {
  return module->getAttrOfType<PolicyAttr>(mark::policy);
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

/// Says why `node` must not run in 16 bit, unless something else does.
void addHazard(mlir::Operation *node, llvm::StringRef reason);

/// True for every attribute of the dialect but mp.summary and those that clones
/// of functions are known by until they are merged.
bool isTemporary(llvm::StringRef attributeName);

} // namespace mp

#endif // MPOPT_DIALECT_MP_ATTRIBUTES_H
