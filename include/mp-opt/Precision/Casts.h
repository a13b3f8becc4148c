//===- Casts.h - Marks of the precision passes, and casts -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_CASTS_H
#define MPOPT_PRECISION_CASTS_H

#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Attributes that the precision passes write and mp-verify-precision removes.
namespace mark {
/// What the safety analyses say of a node, before it has a class: the op that
/// a decomposition stands for, as its name (string), and its number among
/// them; the float value computes shapes or indices (unit); why the node must
/// not run in 16 bit (string).
inline constexpr llvm::StringLiteral unit = "mp.unit";
inline constexpr llvm::StringLiteral unitNumber = "mp.unit_number";
inline constexpr llvm::StringLiteral shape = "mp.shape";
inline constexpr llvm::StringLiteral hazard = "mp.hazard";
/// On a node with `mp.hazard`: lists of operators do not speak of it, so that
/// none of their wishes is refused (unit).
inline constexpr llvm::StringLiteral unlisted = "mp.unlisted";
/// On a constant: in 16 bit, finite elements beyond +-this f32 become it.
inline constexpr llvm::StringLiteral clamp = "mp.clamp";
/// On a constant: what one reading of its elements has told (f64 array;
/// ConstantRange writes and reads it).
inline constexpr llvm::StringLiteral range = "mp.range";
/// On a node: its class (string) and why it has it.
inline constexpr llvm::StringLiteral opClass = "mp.class";
inline constexpr llvm::StringLiteral reason = "mp.reason";
/// On a node that the user speaks of: the place (string) where it is asked
/// for; and what stands against a wish for 16 bit (string), if something does.
inline constexpr llvm::StringLiteral asked = "mp.asked";
inline constexpr llvm::StringLiteral refused = "mp.refused";
/// On a node: its class comes from a built-in list, or from none (unit).
inline constexpr llvm::StringLiteral builtin = "mp.builtin";
/// On a node: its class comes from a rule for nodes (unit).
inline constexpr llvm::StringLiteral isOverride = "mp.override";
/// On a node: the element type it runs in, and why; on a node with several
/// type slots, the element type of each (array).
inline constexpr llvm::StringLiteral precision = "mp.precision";
inline constexpr llvm::StringLiteral slots = "mp.slots";
inline constexpr llvm::StringLiteral because = "mp.because";
/// On a Cast: inserted by a pass, not the user's.
inline constexpr llvm::StringLiteral inserted = "mp.inserted";
/// On a function: it is the clone, typed for one call, of the function of this
/// name (string). On the call: the clone's name. On a node of the main graph:
/// the types (array) that its results and the inputs of its subgraphs have in
/// the model. onnx-merge-functions removes all three.
inline constexpr llvm::StringLiteral specialized = "mp.specialized";
inline constexpr llvm::StringLiteral callee = "mp.callee";
inline constexpr llvm::StringLiteral untyped = "mp.untyped";
/// On a node that raising the opset has made, and on the module if there are
/// such nodes (unit).
inline constexpr llvm::StringLiteral made = "mp.made";
/// On the module: texts of policy files by their names (dictionary).
inline constexpr llvm::StringLiteral texts = "mp.texts";
/// On the module: the 16-bit type in use.
inline constexpr llvm::StringLiteral low = "mp.low";
/// On the module: what the policy says to later passes (dictionary): `assign`
/// and `min_saving` (strings), `dims` ("NAME=SIZE" strings), `raise_opset` and
/// `strict` (bools), each only if it is said.
inline constexpr llvm::StringLiteral options = "mp.options";
/// On the module: types of the graph's inputs and outputs at the start.
inline constexpr llvm::StringLiteral inputTypes = "mp.input_types";
inline constexpr llvm::StringLiteral outputTypes = "mp.output_types";
/// On the module: bytes of all float values and their casts, as assigned.
inline constexpr llvm::StringLiteral costBytes = "mp.cost_bytes";
/// On the module: casts so far.
inline constexpr llvm::StringLiteral castsInserted = "mp.casts_inserted";
inline constexpr llvm::StringLiteral castsRemoved = "mp.casts_removed";
/// On the module: elements that conversion made zero; constants with elements
/// that were clamped.
inline constexpr llvm::StringLiteral elementsToZero = "mp.elements_to_zero";
inline constexpr llvm::StringLiteral masksClamped = "mp.masks_clamped";
/// On the module, the one that stays: what the pipeline has done.
inline constexpr llvm::StringLiteral summary = "mp.summary";
} // namespace mark

/// "bf16", "fp16", "f32": how names and remarks write an element type.
llvm::StringRef getPrecisionName(mlir::Type elementType);

/// Makes casts with unique names.
class CastBuilder {
public:
  explicit CastBuilder(mlir::ModuleOp module);

  /// A cast of `value` to `elementType` right after the definition of
  /// `value`, called `<value>_cast_<type>`.
  mlir::OpResult create(mlir::Value value, mlir::Type elementType);
  /// The same at the builder's place.
  mlir::OpResult create(mlir::OpBuilder &builder, mlir::Value value,
                        mlir::Type elementType);
  UniqueNames &getNames() { return names; }

private:
  mlir::Attribute getTo(mlir::Operation *scope, mlir::Type elementType);

  UniqueNames names;
  mlir::OperationName castName;
  /// Names of a cast's attributes, looked up once.
  struct Keys {
    mlir::StringAttr inserted, name, results, to;
  } keys;
  /// What `to` is, by who imports the opset, and the type.
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Type>, mlir::Attribute>
      targets;
};

/// Sets the type of a Cast, in the form of its opset's Cast.
void setCastType(mlir::Operation *cast, ElementKind kind);

/// The element type that a Cast's `to` asks for; null if it is none.
mlir::Type getCastType(mlir::Operation *cast);

/// True for a Cast that a pass has inserted.
bool isInsertedCast(mlir::Operation *op);

/// Removes every `mp.` attribute but the module's mp.summary and those that
/// clones of functions are known by until they are merged.
void stripMarks(mlir::ModuleOp module);

/// Adds to a counter attribute of the module.
void addToCounter(mlir::ModuleOp module, llvm::StringRef name, int64_t count);

} // namespace mp

#endif // MPOPT_PRECISION_CASTS_H
