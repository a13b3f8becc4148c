//===- ScoreExpression.h - Elements of the matrices of attention -*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention computes matrices of queries by keys: scores, probabilities, and
// their gradients. Each of them is an elementwise function of a few sources:
// the product of query and key, the product of the gradient and value, the
// softmax of the scores, sums of rows, and operands that are broadcast. A
// ScoreExpression writes the function of one matrix as arithmetic on elements,
// whatever ops and whatever number of them compute it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_COMMON_ATTENTION_SCOREEXPRESSION_H
#define MPOPT_LIB_CODEGEN_COMMON_ATTENTION_SCOREEXPRESSION_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace mp {

/// The axes of all matrices of one attention: batches, queries and keys, in the
/// order of the scores' axes.
struct ScoreAxes {
  llvm::SmallVector<int64_t> sizes;
  unsigned query = 0, key = 0;

  unsigned getCount() const { return sizes.size(); }
  /// The place of an axis where batches come first, then queries, then keys.
  unsigned getPosition(unsigned axis) const;
  /// The map of a row: all axes but that of keys.
  mlir::AffineMap getRowMap(mlir::MLIRContext *context) const;
};

/// The axis of the matrices that each dimension of an op is; none for other
/// dimensions.
using AxisOfDim = llvm::SmallVector<std::optional<unsigned>>;

/// The axes of the dimensions that `matrix`, the map of a matrix, names; absent
/// if a result is no dimension.
std::optional<AxisOfDim> getAxes(mlir::AffineMap matrix);

/// `map` with axes for dimensions, and those of `others` after the axes; absent
/// if it depends on other dimensions.
std::optional<mlir::AffineMap>
mapToAxes(mlir::AffineMap map, const AxisOfDim &axes, unsigned numAxes);

/// The maps of `op` without dimensions of one element that the map with number
/// `matrix` does not name, and without all such dimensions in sums.
llvm::SmallVector<mlir::AffineMap> getPlainMaps(kernel::ContractOp op,
                                                unsigned matrix);

/// True if `op` computes one matrix of these sizes element by element.
bool isElementwise(mlir::linalg::GenericOp op, llvm::ArrayRef<int64_t> sizes);

/// True if all elements of a tensor are one number, which depends on no memory.
bool isNumber(mlir::Value tensor);
/// Writes the number.
mlir::Value emitNumber(mlir::OpBuilder &b, mlir::Value tensor);

/// The values that an expression ends at.
struct ScoreSources {
  /// The product of query and key, and that of gradient and value, each before
  /// its epilogue; the second may be null.
  kernel::ContractOp score, gradient;
  /// exp(scores - maximum), their sum, and the sum of rows in the gradient;
  /// null where an expression must not depend on them.
  mlir::Value exponentials, sum, inner;
};

/// An operand that is read for each element: an extra operand of attention.
struct ScoreExtra {
  mlir::Value value;
  mlir::AffineMap map;
};

/// Writes expressions. `extras` grows by the operands that are found.
class ScoreExpression {
public:
  /// The elements of sources in a body; null for those that must not occur.
  struct Elements {
    mlir::Value score, gradient, probability, inner;
  };

  ScoreExpression(const ScoreAxes &axes, const ScoreSources &sources,
                  llvm::SmallVectorImpl<ScoreExtra> &extras)
      : axes(axes), sources(sources), extras(extras) {}

  /// True if an element of `matrix` is a function of sources, extra operands
  /// and indices. Adds these extra operands.
  bool collect(mlir::Value matrix);
  /// True if what was collected last depends on the product of gradient and
  /// value.
  bool dependsOnGradient() const { return usesGradient; }

  /// Writes the element of `matrix`, which has been collected, at the end of
  /// `block`. Its arguments from `firstExtra` on are the elements of all extra
  /// operands, then the indices of axes, by their positions.
  mlir::Value emit(mlir::OpBuilder &b, mlir::Block &block, unsigned firstExtra,
                   const Elements &elements, mlir::Value matrix);

private:
  mlir::Value emitMatrix(mlir::Value matrix);
  mlir::Value emitContract(kernel::ContractOp op);
  mlir::Value emitGeneric(mlir::linalg::GenericOp op);
  mlir::Value emitOperand(mlir::Value operand, mlir::AffineMap map,
                          const AxisOfDim &of);
  mlir::Value emitExtra(mlir::Value value, mlir::AffineMap map);
  mlir::Value emitIndex(unsigned axis);
  /// Arguments of a body that occur only in exp(s - maximum) / sum.
  struct Quotient {
    mlir::Value exponential, sum;
  };
  void addInput(mlir::Value operand, mlir::AffineMap map, const AxisOfDim &of,
                mlir::Value argument,
                llvm::SmallVectorImpl<mlir::Value> &inputs, Quotient &quotient);
  mlir::Value emitBody(mlir::Block &from, mlir::ValueRange inputs,
                       const AxisOfDim &of, const Quotient &quotient = {});
  mlir::Value emitComputed(mlir::Value operand, mlir::AffineMap place);

  const ScoreAxes &axes;
  const ScoreSources &sources;
  llvm::SmallVectorImpl<ScoreExtra> &extras;
  bool usesGradient = false;
  /// The state of `emit`. While operands are being collected, each of them gets
  /// a new argument of a block that is thrown away.
  mlir::OpBuilder *builder = nullptr;
  mlir::Block *body = nullptr;
  bool isCollecting = false;
  unsigned firstExtra = 0;
  Elements elements;
  /// Elements of matrices that have been written; null where that failed.
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_COMMON_ATTENTION_SCOREEXPRESSION_H
