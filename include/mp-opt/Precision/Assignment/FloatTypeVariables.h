//===- FloatTypeVariables.h - Values that share a type ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A type variable is a set of operands, results and region values of one op
// that always share one float type. An ordinary node has one variable, its
// float signature. A result of If shares a variable with the values that its
// branches yield. A state of Loop or Scan shares one with its initial value,
// its body's argument, the value that the body yields and the result. A
// function's arguments and results share variables with those of its calls, and
// so do the elements of a sequence or an optional. (The type variables of
// Schema.h are those of an operator's declaration.)
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_FLOATTYPEVARIABLES_H
#define MPOPT_PRECISION_ASSIGNMENT_FLOATTYPEVARIABLES_H

#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

namespace mp {

/// The float type (16, 32 or 64 bits) of a tensor, of the tensors in a
/// sequence, or of an optional's contents; null for every other type.
mlir::Type getFloatElement(mlir::Type type);
/// The same type with another float type inside.
mlir::Type withFloatElement(mlir::Type type, mlir::Type elementType);
/// True if getFloatElement is fp32.
bool holdsF32(mlir::Type type);

struct FloatTypeVariable {
  /// Operands of the op.
  llvm::SmallVector<mlir::OpOperand *, 2> reads;
  /// Results of the op and arguments of its regions.
  llvm::SmallVector<mlir::Value, 2> writes;
  /// Operands of the yields of its regions.
  llvm::SmallVector<mlir::OpOperand *, 2> yields;
  /// Undefined if no value of the variable is a float.
  ElementKind kind = ElementKind::Undefined;
  /// The reason why the variable cannot be 16 bit at any opset; empty if only
  /// the types that the schema admits can prevent it.
  llvm::StringRef obstacle;
  /// True if the values need not have one type, but keep their own types.
  bool isIndependent = false;

  /// Formal parameters that must admit the type.
  struct Formal {
    bool isInput;
    unsigned index;
    TypeShape shape;
    friend bool operator==(const Formal &a, const Formal &b) {
      return a.isInput == b.isInput && a.index == b.index && a.shape == b.shape;
    }
  };
  llvm::SmallVector<Formal, 2> formals;

  /// True if `schema`, of any version, lets the variable be `low`.
  bool admits(const OpSchema &schema, ElementKind low) const;
  /// The first opset from `schema` on at which the variable can be `low`; 0 if
  /// there is none.
  int getFirstOpset(const OpSchema &schema, const OpFamily &family,
                    ElementKind low) const;
};

using FloatTypeVariables = llvm::SmallVector<FloatTypeVariable, 1>;

/// True for control flow, and for nodes that move tensors in and out of
/// sequences and optionals: they compute nothing, so their types may follow
/// their neighbours.
bool joinsTypes(mlir::Operation *op);

/// The variables of an op; empty for ops that always keep their types. Those of
/// one op always come in the same order.
FloatTypeVariables getFloatTypeVariables(mlir::Operation *op,
                                         const OpSchema *schema,
                                         const FunctionTable &functions);

/// The element type that mp-assign has given the variable of this number; null
/// if there is none.
mlir::Type getAssignedType(mlir::Operation *op, unsigned variable);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_FLOATTYPEVARIABLES_H
