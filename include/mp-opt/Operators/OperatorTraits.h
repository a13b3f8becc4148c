//===- OperatorTraits.h - What an operator is -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about operators that their schemas do not say: what a result is made
// of, and what rounding an operand does to it. One row per operator of every
// domain that is built in (StandardOperators.cpp, ExtensionOperators.cpp); a
// test holds the rows against the schemas.
//
// Analyses ask these traits, never names. What one analysis alone means stands
// beside it, as an exception with its reason. Whether an operator *may* run in
// 16 bit is no fact but a wish, and stands in the policy's profiles.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPERATORS_OPERATORTRAITS_H
#define MPOPT_OPERATORS_OPERATORTRAITS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mp {

/// What results are made of. Operand 0 is the data, if there is one.
enum class OperatorKind : uint8_t {
  /// Nobody has described it: nothing may be assumed.
  Opaque,
  /// Each element from the elements at its place in the (broadcast) operands.
  Elementwise,
  /// Comparisons, truth values and bits, element by element.
  Logic,
  /// Each element is one of the data's, and each of those is among them.
  Movement,
  /// Elements of the data at places that do not depend on the data.
  Selection,
  /// Elements of several operands side by side, or with a fill between them.
  Combination,
  /// Elements of the data, chosen by their values.
  Ordering,
  /// Means of neighbours, at places between them.
  Interpolation,
  /// Fewer elements, each from all along some axes.
  Reduction,
  /// Each element from a window that slides over the data.
  Window,
  /// Each element from all in front of it along an axis.
  Prefix,
  /// Sums of products of two operands: products of matrices, convolutions,
  /// recurrent cells, attention.
  Contraction,
  /// As many elements, each relative to all along some axes.
  Normalization,
  Loss,
  /// Elements that no operand has: constants, windows, random numbers. What is
  /// read is a shape, or a few settings.
  Generation,
  /// Sizes, indices and positions.
  Index,
  /// To integers, from them, or with them.
  Quantization,
  ControlFlow,
  /// Sequences and optionals.
  Container,
  /// What updates weights and states.
  Optimizer,
  /// Part of a backward pass.
  Gradient,
  Communication,
  /// Described, and none of these.
  Other,
};

/// What is computed, where analyses tell that apart.
enum class OperatorMath : uint8_t {
  Other,
  Abs,
  Add,
  Cast,
  Clip,
  Div,
  Exp,
  Log,
  LogSoftmax,
  Mul,
  Neg,
  /// Sin, Cos and Tan of an angle.
  Periodic,
  Pow,
  Reciprocal,
  Remainder,
  Softmax,
  Sqrt,
  Sub,
  Where,
  /// Floor, Ceil and Round.
  Whole,
  // Elementwise, or reductions.
  Max,
  Min,
  // Reductions: a power, an exponential or a logarithm may be built in.
  Mean,
  Product,
  Sum,
  SumAbs,
  SumSquare,
  RootSumSquare,
  LogSum,
  LogSumExp,
};

/// How many elements are added, or multiplied, to one element of the result.
enum class AccumulationExtent : uint8_t {
  /// None, or as a contraction does it, in fp32.
  None,
  /// Those along the axes that a reduction reduces.
  Axes,
  /// Those along the one axis that operand 1 names.
  Axis,
  /// Those of all dimensions but the first two.
  Space,
  /// Those of the attribute `kernel_shape`.
  Window,
  /// One of each operand.
  Operands,
  /// As often as an index, or a tuple of them, occurs in operand 1; only where
  /// the attribute `reduction` adds or multiplies.
  Indices,
  IndexTuples,
};

/// How many products of two numbers are added up, which is most of the work of
/// a contraction; MultiplyAdds.h counts them.
enum class ProductCount : uint8_t {
  /// None, or nobody has described how many.
  None,
  /// For each element of the result as many as operand 0 has columns, or rows
  /// if `transA` says that it is transposed.
  Columns,
  /// For each element of the result as many as the attribute `K` says.
  Inner,
  /// For each element of the result one filter of operand 1: its first
  /// dimension counts filters.
  Filter,
  /// The same, for each element of operand 0.
  TransposedFilter,
  /// For each element of operand 0, a gradient, one filter of operand 2; once
  /// for the gradient of the image and once for that of the filters.
  FilterGradients,
  /// The same, for each element of operand 1, the image.
  TransposedFilterGradients,
  /// All that the labels of `equation` span.
  Equation,
  /// For each step of each sequence, operand 0, all elements of the weights 1
  /// and 2.
  Recurrence,
  /// Queries, operand 0, with all keys, 1, and weights with all values.
  Attention,
  /// Operand 0 with weights 1, which makes queries, keys and values; then the
  /// same.
  ProjectedAttention,
};

/// Facts that hold or not, whatever the kind.
enum OperatorTrait : uint8_t {
  /// Nothing is rounded: each element of a result is one of a float operand,
  /// its opposite or magnitude, or a fill.
  Exact = 1 << 0,
  /// No element is less than the least of the data, or greater than the
  /// greatest.
  Within = 1 << 1,
  /// Where all float operands are c times as large (c > 0), so are the results.
  Proportional = 1 << 2,
  /// Where the data is c times as large, so are the results.
  Linear = 1 << 3,
  /// All elements lie between fixed bounds.
  Bounded = 1 << 4,
  /// Operand 1 holds indices into the data.
  Indexed = 1 << 5,
  /// The result has as many elements as the data.
  SameCount = 1 << 6,
  /// Rounding an fp32 operand to 16 bit moves the result by no more than
  /// rounding itself does; see StandardOperators.cpp.
  Narrow = 1 << 7,
};

/// What an operand is there for, if it is no data: it keeps its type whatever
/// the node runs in.
enum class OperandRole : uint8_t {
  /// The op writes its result into it.
  InPlace,
  /// Running or batch statistics, and what scales them.
  Statistics,
  /// Positions in another tensor: eight bits do not reach past 256.
  Coordinates,
  /// Sizes and indices.
  Shape,
};

struct OperatorTraits {
  OperatorKind kind = OperatorKind::Opaque;
  OperatorMath math = OperatorMath::Other;
  AccumulationExtent accumulation = AccumulationExtent::None;
  ProductCount products = ProductCount::None;
  uint8_t traits = 0;
  /// For each OperandRole, bit i for operand i; bit 31 stands for all behind.
  uint32_t roles[4] = {};

  constexpr bool has(OperatorTrait trait) const { return traits & trait; }
  constexpr bool isElementwise() const {
    return kind == OperatorKind::Elementwise;
  }
  /// Each element of the results is one of the data's, wherever it is.
  constexpr bool movesData() const {
    return kind == OperatorKind::Movement || kind == OperatorKind::Selection;
  }
  /// A table, from which operand 1 selects.
  constexpr bool looksUp() const {
    return kind == OperatorKind::Selection && has(Indexed);
  }
  constexpr bool contracts() const { return kind == OperatorKind::Contraction; }
  constexpr bool reduces() const { return kind == OperatorKind::Reduction; }

  /// Operand `index` has the role; or some role; or some operand has it.
  bool hasRole(OperandRole role, unsigned index) const;
  bool keepsType(unsigned index) const;
  constexpr bool hasRole(OperandRole role) const {
    return roles[unsigned(role)];
  }
  /// Bit i for each operand i that keeps its type.
  constexpr uint32_t getKeptTypes() const {
    return roles[0] | roles[1] | roles[2] | roles[3];
  }
};

/// The row of an operator; opaque for one that has none.
const OperatorTraits &getOperatorTraits(llvm::StringRef domain,
                                        llvm::StringRef opType);
/// The same of a node; opaque for custom ops, and for what is no node.
const OperatorTraits &getOperatorTraits(mlir::Operation *op);

/// All rows, domain by domain and in the order of names.
void forEachOperator(
    llvm::function_ref<void(llvm::StringRef domain, llvm::StringRef opType,
                            const OperatorTraits &traits)>
        visit);

/// The rows that nodes meet, looked up once per operator.
class OperatorTraitsCache {
public:
  const OperatorTraits &lookup(mlir::Operation *op) {
    auto [it, isNew] = known.try_emplace(op->getName().getAsOpaquePointer());
    if (isNew)
      it->second = &getOperatorTraits(op);
    return *it->second;
  }

private:
  llvm::DenseMap<const void *, const OperatorTraits *> known;
};

} // namespace mp

#endif // MPOPT_OPERATORS_OPERATORTRAITS_H
