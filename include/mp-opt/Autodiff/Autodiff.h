//===- Autodiff.h - Gradients of ONNX graphs --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse-mode differentiation of a block: nodes are visited from the last to
// the first, and the rule of each (lib/Autodiff/Rules, by family) turns the
// gradients of its results into those of its operands. A gradient has the type
// of its value. Rules write the com.microsoft training vocabulary where it has
// an op, and standard ops elsewhere; they expect the forms that ops have at
// opset `minDifferentiableOpset` or later.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_AUTODIFF_AUTODIFF_H
#define MPOPT_AUTODIFF_AUTODIFF_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mp {

/// From here on every axis and size is an input (Reduce*, Split ...).
inline constexpr int64_t minDifferentiableOpset = 18;

/// What the user decides of gradients.
struct GradientOptions {
  /// They pass pairs of QuantizeLinear and DequantizeLinear.
  bool straightThrough = false;
};

/// What rules see of the node that they differentiate.
class NodeAdjoint : public NodeView {
public:
  NodeAdjoint(NodeBuilder &builder, mlir::Operation *node,
              llvm::ArrayRef<mlir::Value> gradients,
              const llvm::DenseSet<mlir::Value> &wanted,
              const GradientOptions &options = {})
      : NodeView(node), b(builder), options(options), gradients(gradients),
        wanted(wanted) {}

  NodeBuilder &b;
  const GradientOptions options;

  /// Operand `index`; null if it is absent.
  mlir::Value in(unsigned index) const {
    return has(index) ? node->getOperand(index) : mlir::Value();
  }
  mlir::Value out(unsigned index = 0) const { return node->getResult(index); }
  /// The gradient of result `index`; null if the loss does not depend on it.
  mlir::Value grad(unsigned index = 0) const {
    return index < gradients.size() ? gradients[index] : mlir::Value();
  }
  /// The same, or zeros.
  mlir::Value gradOrZeros(unsigned index);

  /// Result `index`; the node gets it, of this type, if it lacks it. Of several
  /// results the last one comes first: the others then have a place already.
  mlir::Value require(unsigned index, mlir::Type type);
  /// The nodes that had fewer results.
  llvm::ArrayRef<mlir::Operation *> getReplaced() const { return replaced; }

  /// True if the gradient of operand `index` is asked for.
  bool wants(unsigned index) const {
    return has(index) && wants(node->getOperand(index));
  }
  /// The same of a value that the node's regions capture.
  bool wants(mlir::Value value) const { return wanted.contains(value); }

  /// States the gradient of operand `index`; nothing happens if it is not
  /// wanted. Called twice for one operand, the gradients add up.
  void set(unsigned index, mlir::Value gradient) {
    if (wants(index))
      set(node->getOperand(index), gradient);
  }
  void set(mlir::Value value, mlir::Value gradient);
  llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> getFound() const {
    return found;
  }

  /// Adds results to the node, for the backward pass to use; returns the node
  /// that takes its place.
  mlir::Operation *extendNode(llvm::ArrayRef<mlir::Type> types) {
    replaced.push_back(node);
    return node = b.extend(node, types);
  }

private:
  llvm::ArrayRef<mlir::Value> gradients;
  const llvm::DenseSet<mlir::Value> &wanted;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> found;
  llvm::SmallVector<mlir::Operation *, 1> replaced;
};

/// Writes the gradients of a node's wanted operands; its results have one
/// gradient at least.
using GradientFn = mlir::LogicalResult (*)(NodeAdjoint &);

struct GradientRule {
  /// Qualified: "Relu", "com.microsoft.Gelu".
  llvm::StringLiteral op;
  /// Null: the gradient is zero (or nowhere defined) by the op's nature.
  GradientFn apply;
};

/// The rule for the operator of `node`; null if there is none.
const GradientRule *findGradientRule(mlir::Operation *node);

/// Gradients by value, in the order in which they were asked for.
using Gradients = llvm::MapVector<mlir::Value, mlir::Value>;

struct DifferentiationRequest {
  /// Nodes are differentiated in here; gradients go to its end, before what
  /// ends it, or where `builder` stands if `appends` is false.
  mlir::Block *block = nullptr;
  /// Values in the block and their gradients.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> seeds;
  /// Values in the block, or from outside, whose gradients are wanted.
  llvm::SmallVector<mlir::Value> wanted;
  GradientOptions options;
  /// What is wanted are the parameters of a model: errors may say which of
  /// them to freeze.
  bool trains = false;
};

/// Differentiates where `builder` stands. Values that the seeds do not depend
/// on have no gradient. Nodes on the way that have no rule are first written in
/// others (see expandFunctions); where that makes new values of those in
/// `request`, it holds the new ones afterwards, as it does where nodes got more
/// results. Fails with an error that names
/// the node without a rule, and a path from the loss through it.
mlir::FailureOr<Gradients> differentiate(NodeBuilder &builder,
                                         DifferentiationRequest &request);

/// The values that depend on `from`, and these, as far as gradients flow
/// through the nodes of `block`.
llvm::DenseSet<mlir::Value> findDependents(mlir::Block &block,
                                           llvm::ArrayRef<mlir::Value> from);

/// The nodes that depend on what is wanted and that the seeds depend on, from
/// the last to the first.
llvm::SmallVector<mlir::Operation *>
findNodesOnPath(const DifferentiationRequest &request);

/// Writes nodes that depend on what is wanted, and the seeds on them, in other
/// nodes where they have no rule: by their decomposition, or as the functions
/// that define them.
mlir::LogicalResult expandFunctions(NodeBuilder &builder,
                                    DifferentiationRequest &request);

/// The values that regions of `op` use and do not define, in order.
llvm::SetVector<mlir::Value> getCaptured(mlir::Operation *op);
/// These, the operands, and what was rounded to an operand: all that `op` may
/// have a gradient for.
llvm::SetVector<mlir::Value> getGradientInputs(mlir::Operation *op);
/// What a QuantizeLinear has turned into the operand of `node`, if that is a
/// DequantizeLinear behind it; null otherwise.
mlir::Value getRoundedSource(mlir::Operation *node);

/// False for an Identity that a pass has marked.
bool passesGradients(mlir::Operation *node);

/// True if the value can have a gradient: it is a tensor of floats.
bool isDifferentiable(mlir::Value value);
/// The same, or it holds such tensors: a sequence, an optional; or nobody knows
/// what it is. Gradients would flow through it, but no rule knows how.
bool holdsDifferentiable(mlir::Value value);

} // namespace mp

#endif // MPOPT_AUTODIFF_AUTODIFF_H
