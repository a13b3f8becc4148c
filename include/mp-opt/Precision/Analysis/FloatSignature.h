//===- FloatSignature.h - Type variable of a node ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the type variable that is a node's precision, and the operands and
// results bound to it. It is the variable of the first float operand (for
// attention, also that of its values, which runtimes want in the same type). A
// few operands never change type, even if the schema allows it: operands that
// an op updates in place, statistics, coordinates, and shape data
// (OperandRole). Where the runtime wants one type (mp.one_type), statistics and
// operands of other variables have that of the first operand.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_FLOATSIGNATURE_H
#define MPOPT_PRECISION_ANALYSIS_FLOATSIGNATURE_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mp {

/// Schemas of the nodes of one scope, with one look-up per operator and opset.
/// The cache must not be kept while opset imports change.
class SchemaCache {
public:
  struct Entry {
    /// Null for ops that no schema describes.
    const OpSchema *schema = nullptr;
    const OpFamily *family = nullptr;
    /// True if the op is used at an opset from before its first version.
    bool isExtension = false;
  };

  /// `scope` is a graph or a function.
  explicit SchemaCache(mlir::Operation *scope) : scope(scope) {}
  const Entry &lookup(mlir::Operation *node);

private:
  mlir::Operation *scope;
  llvm::DenseMap<const void *, Entry> entries;
};

/// The primary type variable of a node, in the node's present form.
class FloatSignature {
public:
  FloatSignature() = default;
  FloatSignature(mlir::Operation *node, const OpSchema *schema);

  /// False if the node has no float operand, or no schema.
  explicit operator bool() const { return formal; }
  /// The element type bound to the variable.
  ElementKind getKind() const { return kind; }
  /// Indices of the operands and results that are bound to the variable.
  llvm::ArrayRef<unsigned> getOperands() const { return operands; }
  /// Indices of the formal inputs that are bound to the variable, or must have
  /// its type.
  llvm::SmallVector<unsigned, 2> getFormalInputs() const;
  bool hasOperand(unsigned index) const;
  bool hasResult(unsigned index) const;

  /// The reason why the variable cannot be bound to a 16-bit type at any opset;
  /// empty if only the schema's type constraints can prevent it.
  llvm::StringRef getObstacle() const { return obstacle; }
  /// True for variadic parameters of which each value has its own type.
  bool hasIndependentTypes() const {
    return formal->option == FormalParameter::Variadic && !formal->homogeneous;
  }
  /// True if the schema lets the variable be `low`.
  bool admits(ElementKind low) const { return admits(*schema, low); }
  /// The same for another version of the schema.
  bool admits(const OpSchema &version, ElementKind low) const;
  /// The first opset at which `family` lets the variable be `low`; 0 if none
  /// does.
  int getFirstOpset(const OpFamily &family, ElementKind low) const;

private:
  bool isPrimary(const FormalParameter *parameter) const {
    return parameter &&
           (parameter->typeVariable == formal->typeVariable ||
            (companion && parameter->typeVariable == companion->typeVariable) ||
            joinedVariables >> parameter->typeVariable & 1);
  }
  bool isUnbound(mlir::Operation *node, unsigned result) const;
  bool keepsType(const OperatorTraits &traits, unsigned index) const;
  void findPrimary(mlir::Operation *node, const OperatorTraits &traits);
  void joinVariables(mlir::Operation *node, const OperatorTraits &traits);
  void collect(mlir::Operation *node, const OperatorTraits &traits);

  const OpSchema *schema = nullptr;
  /// The formal parameter of the first float operand.
  const FormalParameter *formal = nullptr;
  unsigned formalIndex = 0;
  /// Another parameter whose variable gets the same type; mostly null.
  const FormalParameter *companion = nullptr;
  /// A bit for each other variable of the schema that gets the same type, since
  /// the runtime wants it (mp.one_type).
  uint32_t joinedVariables = 0;
  bool isOneType = false;
  ElementKind kind = ElementKind::Undefined;
  llvm::SmallVector<unsigned, 4> operands;
  llvm::StringRef obstacle;
};

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_FLOATSIGNATURE_H
