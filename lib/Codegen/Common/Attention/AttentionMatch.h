//===- AttentionMatch.h - The products of an attention ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_COMMON_ATTENTION_ATTENTIONMATCH_H
#define MPOPT_LIB_CODEGEN_COMMON_ATTENTION_ATTENTIONMATCH_H

#include "ScoreExpression.h"
#include "mp-opt/Codegen/Common/AttentionFusion.h"

#include "llvm/ADT/SetVector.h"

namespace mp {

/// An operand, and its place by the axes of the matrices and one dimension
/// after them, that of its elements.
struct HeadOperand {
  mlir::Value value;
  mlir::AffineMap map;

  bool operator==(const HeadOperand &other) const {
    return value == other.value && map == other.map;
  }
};

/// A product of a matrix and of heads.
struct MatrixProduct {
  kernel::ContractOp op;
  mlir::Value matrix;
  HeadOperand other;
  mlir::AffineMap result;
  /// True if the sums are over keys; else they are over queries.
  bool sumsKeys = false;
};

/// The ops that a softmax and its products are.
class AttentionMatch {
public:
  /// True if `op` computes exp(x - y), where y has a dimension less.
  static bool isCandidate(mlir::linalg::GenericOp op);
  explicit AttentionMatch(mlir::linalg::GenericOp exponential)
      : exponential(exponential) {}

  /// False, with a reason, if attention cannot compute the results, or the
  /// target does not choose it.
  bool find(AttentionChoice choose);
  /// True if the softmax is that of a product at all.
  bool isAttention() const { return isOfProduct; }
  llvm::StringRef getReason() const { return reason; }
  mlir::Location getLoc() const;

  ScoreAxes axes;
  ScoreSources sources;
  llvm::SmallVector<ScoreExtra> extras;
  /// The softmax's operand.
  mlir::Value scores;
  HeadOperand query, key, value, gradient;
  MatrixProduct forward;
  /// The products of the gradient; without one, all are null.
  kernel::ContractOp gradientProduct;
  MatrixProduct dquery, dkey, dvalue;

private:
  bool fail(llvm::StringRef text);
  bool findSoftmax();
  bool findScoreProduct();
  bool findRoles();
  bool findReaders();
  bool addReader(mlir::OpOperand &use);
  bool addReduction(mlir::linalg::GenericOp op);
  bool findProducts();
  bool addProduct(mlir::OpOperand &use);
  bool findGradient();
  bool collect(mlir::Value matrix, bool &usesGradient);
  bool isInnerOfGradient();
  AttentionFacts getFacts() const;
  std::optional<mlir::AffineMap> getPlace(mlir::AffineMap map,
                                          const AxisOfDim &of) const;
  std::optional<HeadOperand> getHead(kernel::ContractOp op, unsigned operand);

  mlir::linalg::GenericOp exponential, innerSum;
  mlir::Value maximum;
  /// Everything that is computed from the score product, with its sizes.
  llvm::SetVector<mlir::Value> matrices;
  /// Factors of products that are matrices.
  llvm::SmallVector<mlir::OpOperand *> consumers;
  /// True if the softmax's operand is computed from a product.
  bool isOfProduct = false;
  std::string reason;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_COMMON_ATTENTION_ATTENTIONMATCH_H
