//===- Constants.h - Constants in 16 bit ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks how constants change when they are rounded to a 16-bit type, and
// converts them. Constants are initializers, `Constant` and `ConstantOfShape`.
// Large constants are read once, in their memory-mapped file, and never copied:
// their conversion is an attribute that is applied while the model is written.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_CONSTANTS_H
#define MPOPT_PRECISION_ANALYSIS_CONSTANTS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/DenseMap.h"

#include <limits>
#include <string>

namespace mp {

/// True for ops whose result is stored in the model.
bool isConstant(mlir::Operation *op);

/// The element kind of "bf16" or "fp16"; absent for other names.
std::optional<ElementKind> parseLowPrecision(llvm::StringRef name);

/// Returns the type that a pass's option names. If the option is empty, this is
/// the module's choice (`mp.low`), else bf16. Fails with a diagnostic for any
/// other name.
mlir::FailureOr<ElementKind> resolveLowPrecision(mlir::ModuleOp module,
                                                 llvm::StringRef option);

/// The range of numbers that BFloat16 or Float16 holds.
struct LowLimits {
  explicit LowLimits(ElementKind low);

  /// "bf16" or "fp16".
  llvm::StringRef name;
  /// The greatest finite number and the least with full precision.
  double max, minNormal;
  /// Limits of fp32 numbers: the least that becomes infinite and the greatest
  /// that becomes zero. Ties round to even, so both limits are inclusive.
  float overflow, underflow;
  /// Half the distance from 1 to the number below it.
  double roundoffBelowOne;
};

/// Statistics of the elements of an fp32 constant, from one pass over them.
struct ConstantFacts {
  /// True if the elements could be read.
  bool isKnown = false;
  /// The range of the finite elements; `lo > hi` if there are none.
  float lo = std::numeric_limits<float>::infinity();
  float hi = -std::numeric_limits<float>::infinity();
  int64_t elements = 0, infinities = 0, nans = 0, zeros = 0;
  /// Numbers of finite elements that the 16-bit type cannot hold: they become
  /// infinite, become zero, or keep fewer bits than it has.
  int64_t overflows = 0, toZero = 0, toSubnormal = 0;
  /// The greatest magnitude of the elements that become zero.
  float largestToZero = 0;
  /// For constants of several elements: the RMS of the changes by rounding to
  /// 16 bit over the RMS of the elements, as far as it exceeds the loss of
  /// normal numbers.
  float roundingError = 0;

  float getMaxMagnitude() const { return std::max(-lo, hi); }
  /// True if every element that is not zero becomes zero.
  bool vanishes() const { return toZero && toZero + zeros == elements; }
  /// True if the constant is too small for the type, e.g. a layer scale of 1e-6
  /// in fp16.
  bool losesDigits() const { return roundingError > 0x1p-10f; }
  bool fits() const {
    return isKnown && !overflows && !vanishes() && !losesDigits();
  }
};

/// Adds `values` to the statistics; may be called several times.
void scanElements(llvm::ArrayRef<float> values, const LowLimits &limits,
                  ConstantFacts &facts);

/// The least and greatest finite element of a constant that is 16 bit already.
struct LowBounds {
  float lo = std::numeric_limits<float>::infinity();
  float hi = -std::numeric_limits<float>::infinity();
  bool hasSpecials = false;
};
LowBounds scanLowElements(llvm::ArrayRef<char> bytes, ElementKind kind);

/// The facts of fp32 constants. Each constant is read once; its facts stay with
/// it as `mp.range`, for later passes.
class ConstantRange {
public:
  explicit ConstantRange(ElementKind low) : low(low), limits(low) {}

  const ConstantFacts &getFacts(mlir::Operation *constant);
  /// True unless a finite element becomes infinite in 16 bit and is not
  /// clamped, all elements that are not zero become zero, or rounding changes
  /// several elements of a factor by more than 2^-10 of their RMS. Constants
  /// whose elements cannot be read do not fit.
  bool fits(mlir::Operation *constant);
  /// The reason why it does not fit, e.g. "constant 'k' holds 70000, fp16 ends
  /// at 65504"; empty if it fits.
  std::string explain(mlir::Operation *constant);

private:
  ElementKind low;
  LowLimits limits;
  llvm::DenseMap<mlir::Operation *, ConstantFacts> known;
};

/// The bound in `mp.clamp`, if the constant has one.
std::optional<double> getClamp(mlir::Operation *constant);

/// The value of the constant, without its TensorProto fields; null for a
/// ConstantOfShape of zeros and for values of another form.
mlir::Attribute getHeldValue(mlir::Operation *constant);

/// Converts the elements of `value` to another float type, rounded to nearest
/// even. Finite elements beyond `clamp` become `clamp` first. Large values
/// become #onnx.cast_elements. Null for elements of another form.
mlir::TypedAttr convertElements(mlir::TypedAttr value, mlir::Type elementType,
                                std::optional<double> clamp = std::nullopt);

/// Gives a constant's result another float type (or the same, to clamp it) by
/// converting its value, clamped if the constant is marked so. Returns false,
/// without changes, if the op's form does not allow it.
bool convertConstant(mlir::Operation *constant, mlir::Type elementType);

/// Formats a number for messages: "70000", "-3.40282e+38".
std::string formatNumber(double number);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_CONSTANTS_H
