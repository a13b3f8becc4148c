//===- Emitter.h - Writes loops on tensors ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layer that the rules of ONNXToLinalg emit code through: sizes that are
// constants where they are known, and a few forms of linalg.generic. A
// `TensorValue` is a linalg tensor together with the ONNX element type that it
// represents.
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

/// A size or index: an i64 attribute if it is constant, else a value of type
/// index.
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

struct WindowMaxima;

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc,
          const TargetNumbers &numbers)
      : b(builder), loc(loc), s(builder, loc), numbers(numbers) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  Scalars s;
  /// The maxima of pools, by the positions that the pools return; null if
  /// gradients of pools are scattered.
  llvm::DenseMap<mlir::Value, WindowMaxima> *maxima = nullptr;
  /// The numbers of the module's target. They are copied, since code may be
  /// emitted outside any module, e.g. the branches of an If.
  const TargetNumbers numbers;

  /// Sets the place that code is emitted for: a node, which run-time messages
  /// name.
  void setPlace(mlir::Location place, std::string text) {
    what = std::move(text);
    // Later stages only know the name of the node from the location.
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
  /// The division functions need x >= 0 and y > 0.
  Size floorDiv(Size x, Size y);
  Size ceilDiv(Size x, Size y);
  Size rem(Size x, Size y);
  Size min(Size x, Size y);
  Size max(Size x, Size y);
  Size select(mlir::Value condition, Size x, Size y);
  Size product(llvm::ArrayRef<Size> sizes);

  Sizes sizes(TensorValue tensor);
  Size dim(TensorValue tensor, int64_t axis) { return sizes(tensor)[axis]; }
  /// Records sizes of a tensor that its type does not have. Sizes that are the
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
  /// Inserts `value` at `indices` of `tensor`, which has the same element type.
  mlir::Value store(mlir::Value tensor, mlir::Type element,
                    mlir::ValueRange indices, mlir::Value value);

  using BodyFn = llvm::function_ref<mlir::Value(mlir::ValueRange)>;
  using IndexFn = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  /// Computes element by element; operands are broadcast as in numpy. The body
  /// takes and returns compute types.
  TensorValue map(mlir::Type element, llvm::ArrayRef<TensorValue> operands,
                  BodyFn body);
  /// The sizes of operands of these sizes when broadcast together; fails at run
  /// time if they do not fit.
  Sizes broadcast(llvm::ArrayRef<Sizes> shapes);

  /// Computes each element from its indices. Use it only if no other form fits:
  /// loads in the body are not fused.
  TensorValue generate(llvm::ArrayRef<Size> sizes, mlir::Type element,
                       IndexFn body);

  /// Reduces over `axes` (sorted, not negative), which keep size 1 if
  /// `keepDims` is set. `init` has the accumulator's type; `combine` takes an
  /// element's compute value and the accumulator. `finish`, if given, converts
  /// the accumulator to the result's compute value.
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
  /// Broadcasts like numpy.broadcast_to; the sizes must fit.
  TensorValue broadcastTo(TensorValue tensor, llvm::ArrayRef<Size> sizes);
  /// Takes a slice with steps of any sign, constant or not: element i is that
  /// at offset + i * stride.
  TensorValue slice(TensorValue tensor, llvm::ArrayRef<Size> offsets,
                    llvm::ArrayRef<Size> sizes, llvm::ArrayRef<Size> strides);
  TensorValue cast(TensorValue tensor, mlir::Type element);
  /// Takes the static sizes of `shape` for sizes that are still unknown.
  TensorValue refine(TensorValue tensor, llvm::ArrayRef<int64_t> shape);

  //===--------------------------------------------------------------------===//
  // Loops and checks
  //===--------------------------------------------------------------------===//

  /// Emits for (i = begin; i < end; ++i) with values carried between
  /// iterations.
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
  /// The values of the branch that is taken.
  llvm::SmallVector<mlir::Value>
  ifElse(mlir::Value condition, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> thenBody,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> elseBody);

  /// Ends the run with an error that names the node unless `condition` (i1)
  /// holds. It must not be used inside bodies. `%0` and `%1` in `text` are
  /// replaced by a and b.
  void check(mlir::Value condition, const llvm::Twine &text, Size a, Size b);
  /// The same check for code that runs in parallel: the run continues and fails
  /// at its end. The result is `good` if the condition does not hold.
  mlir::Value checked(mlir::Value condition, const llvm::Twine &text,
                      mlir::Value value, Size limit, mlir::Value good);
  /// Maps an index in [-limit, limit) to [0, limit); others are errors.
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

/// The iterators of a linalg op whose `count` loops are all parallel.
llvm::SmallVector<mlir::utils::IteratorType> getParallel(unsigned count);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_EMITTER_H
