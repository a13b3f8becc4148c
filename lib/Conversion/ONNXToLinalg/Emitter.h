//===- Emitter.h - Writes loops on tensors ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What rules of ONNXToLinalg are written in: sizes that are constants where
// they are known, and a few forms of linalg.generic. `TensorValue` is a value
// of linalg's world together with the ONNX element type that it stands for.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_EMITTER_H
#define MPOPT_LIB_CONVERSION_EMITTER_H

#include "Scalars.h"

#include "mp-opt/Codegen/Target/Target.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace mp {

/// A size, an index: an attribute (i64) where it is a constant, else a value
/// of type index.
using Size = mlir::OpFoldResult;
using Sizes = llvm::SmallVector<Size>;

struct TensorValue {
  mlir::Value value;
  /// f16, ui8, i1 ...
  mlir::Type element;

  explicit operator bool() const { return bool(value); }
  mlir::RankedTensorType getType() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  int64_t getRank() const { return getType().getRank(); }
  bool isUnsigned() const { return element.isUnsignedInteger(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element); }
};

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc,
          const TargetNumbers &numbers)
      : b(builder), loc(loc), s(builder, loc), numbers(numbers) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  Scalars s;
  /// Of the module's target: what is emitted now may be in no module yet, as
  /// the branches of an If are.
  const TargetNumbers numbers;

  /// The place that code written now is for: a node, which messages at run
  /// time name.
  void setPlace(mlir::Location place, std::string text) {
    what = std::move(text);
    // Later stages have nothing but the location to name the node by.
    if (!what.empty() && !llvm::isa<mlir::NameLoc>(place))
      place = mlir::NameLoc::get(b.getStringAttr(what), place);
    loc = s.loc = place;
  }
  llvm::StringRef getPlace() const { return what; }

  //===--------------------------------------------------------------------===//
  // Sizes
  //===--------------------------------------------------------------------===//

  Size size(int64_t value) { return b.getIndexAttr(value); }
  static std::optional<int64_t> getConstant(Size size) {
    return mlir::getConstantIntValue(size);
  }
  static bool isConstant(Size size, int64_t value) {
    return getConstant(size) == value;
  }
  mlir::Value index(Size size);
  Size add(Size x, Size y);
  Size sub(Size x, Size y);
  Size mul(Size x, Size y);
  /// Of values that are not negative, by a positive one.
  Size floorDiv(Size x, Size y);
  Size ceilDiv(Size x, Size y);
  Size rem(Size x, Size y);
  Size min(Size x, Size y);
  Size max(Size x, Size y);
  Size select(mlir::Value condition, Size x, Size y);
  Size product(llvm::ArrayRef<Size> sizes);

  Sizes sizes(TensorValue tensor);
  Size dim(TensorValue tensor, int64_t axis) { return sizes(tensor)[axis]; }
  /// What is known of a tensor's sizes beyond its type: sizes that are the
  /// same value are equal.
  void noteSizes(mlir::Value tensor, llvm::ArrayRef<Size> sizes);
  mlir::RankedTensorType getTensorType(llvm::ArrayRef<Size> sizes,
                                       mlir::Type element);

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  mlir::Value empty(llvm::ArrayRef<Size> sizes, mlir::Type element);
  /// All elements are `value`, of the compute type.
  TensorValue full(llvm::ArrayRef<Size> sizes, mlir::Type element,
                   mlir::Value value);
  TensorValue full(llvm::ArrayRef<Size> sizes, mlir::Type element,
                   double value) {
    return full(sizes, element, s.constant(getComputeType(element), value));
  }
  TensorValue scalar(mlir::Type element, mlir::Value value) {
    return full({}, element, value);
  }
  /// A vector of int64.
  TensorValue fromSizes(llvm::ArrayRef<Size> values);

  /// The element at `indices`, in its compute type.
  mlir::Value load(TensorValue tensor, mlir::ValueRange indices);
  /// Element `position` of a vector, or the one of a scalar.
  mlir::Value loadAt(TensorValue tensor, int64_t position = 0);
  /// `tensor` (of the same element) with `value` at `indices`.
  mlir::Value store(mlir::Value tensor, mlir::Type element,
                    mlir::ValueRange indices, mlir::Value value);

  using BodyFn = llvm::function_ref<mlir::Value(mlir::ValueRange)>;
  using IndexFn = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  /// Element by element, operands broadcast as in numpy. The body gets and
  /// gives compute types.
  TensorValue map(mlir::Type element, llvm::ArrayRef<TensorValue> operands,
                  BodyFn body);
  /// The sizes that operands of these sizes have together; fails at run time
  /// where they do not fit.
  Sizes broadcast(llvm::ArrayRef<Sizes> shapes);

  /// Each element from its indices. For what no other form expresses: loads
  /// in the body are not fused.
  TensorValue generate(llvm::ArrayRef<Size> sizes, mlir::Type element,
                       IndexFn body);

  /// Reduces over `axes` (sorted, not negative), which stay with size 1 if
  /// `keepDims`. `init` is of the accumulator's type, `combine` takes an
  /// element's compute value and the accumulator. `finish`, if given, makes the
  /// result's compute value of the accumulator.
  TensorValue
  reduce(TensorValue tensor, llvm::ArrayRef<int64_t> axes, bool keepDims,
         mlir::Type resultElement, mlir::Value init,
         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine,
         BodyFn finish = nullptr);

  /// Element (i0, i1, ...) of the result is that at `i[permutation]`: axis k
  /// of the result is axis permutation[k] of the operand.
  TensorValue transpose(TensorValue tensor,
                        llvm::ArrayRef<int64_t> permutation);
  /// The same elements in row-major order; the count must be the same, which
  /// the caller checks.
  TensorValue reshape(TensorValue tensor, llvm::ArrayRef<Size> sizes);
  /// As numpy.broadcast_to, for sizes that fit.
  TensorValue broadcastTo(TensorValue tensor, llvm::ArrayRef<Size> sizes);
  /// With constant or other steps of either sign: element i is that at
  /// offset + i * stride.
  TensorValue slice(TensorValue tensor, llvm::ArrayRef<Size> offsets,
                    llvm::ArrayRef<Size> sizes, llvm::ArrayRef<Size> strides);
  TensorValue cast(TensorValue tensor, mlir::Type element);
  /// With the static sizes of `type` where they are unknown as yet.
  TensorValue refine(TensorValue tensor, llvm::ArrayRef<int64_t> shape);

  //===--------------------------------------------------------------------===//
  // Loops and checks
  //===--------------------------------------------------------------------===//

  /// for (i = begin; i < end; ++i) with values carried from one to the next.
  using LoopFn = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value i, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> loop(Size begin, Size end,
                                      mlir::ValueRange carried, LoopFn body);
  /// Loops over all indices of `sizes`, in row-major order.
  llvm::SmallVector<mlir::Value>
  loopNest(llvm::ArrayRef<Size> sizes, mlir::ValueRange carried,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(
               mlir::ValueRange indices, mlir::ValueRange carried)>
               body);
  /// Values of either side.
  llvm::SmallVector<mlir::Value>
  ifElse(mlir::Value condition, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> thenBody,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> elseBody);

  /// Ends the run with an error that names the node unless `condition` (i1)
  /// holds. Not inside of bodies. `%0` and `%1` in `text` stand for a and b.
  void check(mlir::Value condition, const llvm::Twine &text, Size a, Size b);
  /// The same where code runs in parallel: the run goes on and fails in the
  /// end. The value is `good` where the condition does not hold.
  mlir::Value checked(mlir::Value condition, const llvm::Twine &text,
                      mlir::Value value, Size limit, mlir::Value good);
  /// An index in [-limit, limit), as one in [0, limit); others are errors.
  mlir::Value checkedIndex(mlir::Value value, Size limit);

private:
  Size fold(mlir::Value value);
  template <typename Op> Size binary(Size x, Size y);
  /// Element i of the result, of the sizes `to`, is that at `places` of i.
  TensorValue copyFrom(TensorValue tensor,
                       llvm::ArrayRef<mlir::AffineExpr> places,
                       llvm::ArrayRef<Size> to);
  Sizes broadcastPair(llvm::ArrayRef<Size> x, llvm::ArrayRef<Size> y);

  std::string what;
  llvm::DenseMap<mlir::Value, Sizes> known;
};

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_EMITTER_H
