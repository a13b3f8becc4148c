//===- Constants.h - Constants in 16 bit ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which constants survive in a 16-bit type, and their conversion. Constants
// are initializers, `Constant` and `ConstantOfShape`. Big ones are read where
// they are mapped and never copied: their conversion is an attribute that is
// carried out while the model is written.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_CONSTANTS_H
#define MPOPT_PRECISION_CONSTANTS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseMap.h"

namespace mp {

/// True for ops whose result is written in the model.
bool isConstant(mlir::Operation *op);

/// True unless a finite value becomes infinite when it is rounded to `low`,
/// or all of the values that are not zero become zero.
bool fitsInto(llvm::ArrayRef<float> values, ElementKind low);

/// Answers fitsInto for fp32 constants, each read once. Constants whose
/// elements cannot be read do not fit.
class ConstantRange {
public:
  explicit ConstantRange(ElementKind low) : low(low) {}
  bool fits(mlir::Operation *constant);

private:
  ElementKind low;
  llvm::DenseMap<mlir::Operation *, bool> known;
};

/// `value` with its elements in another float type, rounded to nearest even;
/// big ones as #onnx.cast_elements. Null for elements of another form.
mlir::TypedAttr convertElements(mlir::TypedAttr value, mlir::Type elementType);

/// Gives a constant's result another float type by converting what the op
/// holds. False, and nothing is changed, if the op's form does not allow it.
bool convertConstant(mlir::Operation *constant, mlir::Type elementType);

} // namespace mp

#endif // MPOPT_PRECISION_CONSTANTS_H
