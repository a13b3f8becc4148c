//===- OperatorTraits.h - Facts about operators -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about operators that their schemas do not contain: how a result is
// computed, and how rounding an operand affects it. There is one row per
// operator of every built-in domain (StandardOperators.cpp,
// ExtensionOperators.cpp); a test compares the rows with the schemas.
//
// Analyses use these traits and do not compare names. A fact that only one
// analysis needs is an exception in that analysis, with its reason. Whether an
// operator *may* run in 16 bit is a choice, not a fact; it is in the policy's
// profiles.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPERATORS_OPERATORTRAITS_H
#define MPOPT_OPERATORS_OPERATORTRAITS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace mp {

/// The way in which results are computed. Operand 0 is the data, if there is
/// one.
enum class OperatorKind : uint8_t {
  /// Unknown: nothing may be assumed.
  Opaque,
  /// Each element depends on the elements at its position in the (broadcast)
  /// operands.
  Elementwise,
  /// Comparisons, truth values and bits, element by element.
  Logic,
  /// Each element is one of the data's, and all of the data's are used.
  Movement,
  /// Elements of the data at positions that do not depend on the data.
  Selection,
  /// Elements of several operands next to each other, or with a fill between
  /// them.
  Combination,
  /// Elements of the data, chosen by their values.
  Ordering,
  /// Means of neighbours, at positions between them.
  Interpolation,
  /// Fewer elements, each computed from all along some axes.
  Reduction,
  /// Each element is computed from a window that slides over the data.
  Window,
  /// Each element is computed from all elements before it along an axis.
  Prefix,
  /// Sums of products of two operands: products of matrices, convolutions,
  /// recurrent cells, attention.
  Contraction,
  /// As many elements as the data, each relative to all along some axes.
  Normalization,
  Loss,
  /// Elements that no operand has: constants, windows, random numbers. Operands
  /// are a shape, or a few settings.
  Generation,
  /// Sizes, indices and positions.
  Index,
  /// Conversions to integers, from them, and operators on quantized values.
  Quantization,
  ControlFlow,
  /// Sequences and optionals.
  Container,
  /// Updates of weights and states.
  Optimizer,
  /// Part of a backward pass.
  Gradient,
  Communication,
  /// Known, but none of these.
  Other,
};

/// The function that is computed, as far as analyses distinguish it.
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
  // Reductions, which may include a power, an exponential or a logarithm.
  Mean,
  Product,
  Sum,
  SumAbs,
  SumSquare,
  RootSumSquare,
  LogSum,
  LogSumExp,
};

/// The number of elements that are added, or multiplied, into one element of
/// the result.
enum class AccumulationExtent : uint8_t {
  /// None, or a sum that is accumulated in fp32, as in contractions.
  None,
  /// All elements along the axes that a reduction reduces.
  Axes,
  /// All elements along the one axis that operand 1 names.
  Axis,
  /// All elements of all dimensions but the first two.
  Space,
  /// All elements of the window `kernel_shape`.
  Window,
  /// One element of each operand.
  Operands,
  /// The number of times that an index, or a tuple of them, occurs in operand
  /// 1; only if the attribute `reduction` adds or multiplies.
  Indices,
  IndexTuples,
};

/// The number of products of two numbers that are added up, which is most of
/// the work of a contraction; MultiplyAdds.h counts them.
enum class ProductCount : uint8_t {
  /// None, or an unknown number.
  None,
  /// Per element of the result: the number of columns of operand 0, or of rows
  /// if `transA` says that it is transposed.
  Columns,
  /// Per element of the result: the attribute `K`.
  Inner,
  /// Per element of the result: the size of one filter of operand 1, whose
  /// first dimension counts filters.
  Filter,
  /// The same, for each element of operand 0.
  TransposedFilter,
  /// Per element of operand 0, a gradient: the size of one filter of operand 2;
  /// once for the gradient of the image and once for that of the filters.
  FilterGradients,
  /// The same, for each element of operand 1, the image.
  TransposedFilterGradients,
  /// The product of the sizes of all labels of `equation`.
  Equation,
  /// Per step of each sequence of operand 0: all elements of the weights 1 and
  /// 2.
  Recurrence,
  /// Products of queries, operand 0, with all keys, 1, and of weights with all
  /// values.
  Attention,
  /// Products of operand 0 with the weights 1, which yield queries, keys and
  /// values; then the same.
  ProjectedAttention,
};

/// Facts that are independent of the kind.
enum OperatorTrait : uint8_t {
  /// Nothing is rounded: each element of a result is one of a float operand,
  /// its opposite or magnitude, or a fill.
  Exact = 1 << 0,
  /// No element is less than the least of the data, or greater than the
  /// greatest.
  Within = 1 << 1,
  /// If all float operands are scaled by c > 0, so are the results.
  Proportional = 1 << 2,
  /// If the data is scaled by c, so are the results.
  Linear = 1 << 3,
  /// All elements lie between fixed bounds.
  Bounded = 1 << 4,
  /// Operand 1 holds indices into the data.
  Indexed = 1 << 5,
  /// The result has as many elements as the data.
  SameCount = 1 << 6,
  /// Rounding an fp32 operand to 16 bit changes the result no more than
  /// rounding the result does; see StandardOperators.cpp.
  Narrow = 1 << 7,
};

/// The role of an operand that is not data: it keeps its type in every
/// precision of the node.
enum class OperandRole : uint8_t {
  /// The op writes its result into it.
  InPlace,
  /// Running or batch statistics, and their scaling factors.
  Statistics,
  /// Positions in another tensor: eight bits of precision do not reach past
  /// 256.
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
  /// A mask for each OperandRole: bit i is operand i; bit 31 is all later ones.
  uint32_t roles[4] = {};

  constexpr bool has(OperatorTrait trait) const { return traits & trait; }
  constexpr bool isElementwise() const {
    return kind == OperatorKind::Elementwise;
  }
  /// True if each element of the results is one of the data's, at any position.
  constexpr bool movesData() const {
    return kind == OperatorKind::Movement || kind == OperatorKind::Selection;
  }
  /// True if the data is a table from which operand 1 selects.
  constexpr bool looksUp() const {
    return kind == OperatorKind::Selection && has(Indexed);
  }
  constexpr bool contracts() const { return kind == OperatorKind::Contraction; }
  constexpr bool reduces() const { return kind == OperatorKind::Reduction; }

  /// True if operand `index` has the role; if it has any role; if any operand
  /// has the role.
  bool hasRole(OperandRole role, unsigned index) const;
  bool keepsType(unsigned index) const;
  constexpr bool hasRole(OperandRole role) const {
    return roles[unsigned(role)];
  }
  /// A mask of the operands that keep their type: bit i is operand i.
  constexpr uint32_t getKeptTypes() const {
    return roles[0] | roles[1] | roles[2] | roles[3];
  }
};

/// The row of an operator; opaque if it has none.
const OperatorTraits &getOperatorTraits(llvm::StringRef domain,
                                        llvm::StringRef opType);
/// The same for a node; opaque for custom ops, and for operations that are not
/// nodes.
const OperatorTraits &getOperatorTraits(mlir::Operation *op);

/// Visits all rows, domain by domain and in the order of names.
void forEachOperator(
    llvm::function_ref<void(llvm::StringRef domain, llvm::StringRef opType,
                            const OperatorTraits &traits)>
        visit);

/// The rows of nodes, looked up once per operator.
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
