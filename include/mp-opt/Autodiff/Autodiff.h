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
// of its value. Rules use the com.microsoft training vocabulary if it has a
// suitable op, and standard ops otherwise; they expect the forms that ops have
// at opset `minDifferentiableOpset` or later.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_AUTODIFF_AUTODIFF_H
#define MPOPT_AUTODIFF_AUTODIFF_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mp {

/// From this opset on, every axis and size is an input (Reduce*, Split ...).
inline constexpr int64_t minDifferentiableOpset = 18;

/// The user's options for gradients.
struct GradientOptions {
  /// If true, gradients pass pairs of QuantizeLinear and DequantizeLinear.
  bool straightThrough = false;
};

/// A rule's view of the node that it differentiates.
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
  /// The gradient of result `index`, or zeros.
  mlir::Value gradOrZeros(unsigned index);

  /// Returns result `index`; if the node lacks it, it is added with this type.
  /// If several are required, the last one must come first: this adds the
  /// others too.
  mlir::Value require(unsigned index, mlir::Type type);
  /// The nodes that were replaced by nodes with more results.
  llvm::ArrayRef<mlir::Operation *> getReplaced() const { return replaced; }

  /// True if the gradient of operand `index` is requested.
  bool wants(unsigned index) const {
    return has(index) && wants(node->getOperand(index));
  }
  /// True if the gradient of a value that the node's regions capture is
  /// requested.
  bool wants(mlir::Value value) const { return wanted.contains(value); }

  /// Adds a gradient of operand `index`, if it is wanted. Several gradients of
  /// one operand are summed.
  void set(unsigned index, mlir::Value gradient) {
    if (wants(index))
      set(node->getOperand(index), gradient);
  }
  void set(mlir::Value value, mlir::Value gradient);
  llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> getFound() const {
    return found;
  }

  /// Adds results to the node, for the backward pass to use; returns the node
  /// that replaces it.
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

/// Computes the gradients of a node's wanted operands; at least one of its
/// results has a gradient.
using GradientFn = mlir::LogicalResult (*)(NodeAdjoint &);

struct GradientRule {
  /// Qualified: "Relu", "com.microsoft.Gelu".
  llvm::StringLiteral op;
  /// Null if the gradient is always zero (or not defined).
  GradientFn apply;
};

/// The rule for the operator of `node`; null if there is none.
const GradientRule *findGradientRule(mlir::Operation *node);

/// Gradients by value, in the order of the request.
using Gradients = llvm::MapVector<mlir::Value, mlir::Value>;

struct DifferentiationRequest {
  /// The block whose nodes are differentiated. Gradients are added before its
  /// terminator, or where `builder` stands if `appends` is false.
  mlir::Block *block = nullptr;
  /// Values in the block and their gradients.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> seeds;
  /// Values in the block, or from outside, whose gradients are wanted.
  llvm::SmallVector<mlir::Value> wanted;
  GradientOptions options;
  /// The wanted values are parameters of a model: errors may say which of them
  /// to freeze.
  bool trains = false;
};

/// Differentiates where `builder` stands. Values that the seeds do not depend
/// on have no gradient. Nodes on the path without a rule are first replaced by
/// other nodes (see expandFunctions). If values of `request` are replaced,
/// because of this or because a node gets more results, `request` holds the new
/// values afterwards. Fails with an error that names the node without a rule,
/// and a path from the loss through it.
mlir::FailureOr<Gradients> differentiate(NodeBuilder &builder,
                                         DifferentiationRequest &request);

/// The values that depend on `from`, including these, as far as gradients flow
/// through the nodes of `block`.
llvm::DenseSet<mlir::Value> findDependents(mlir::Block &block,
                                           llvm::ArrayRef<mlir::Value> from);

/// The nodes that depend on wanted values and on which the seeds depend, from
/// the last to the first.
llvm::SmallVector<mlir::Operation *>
findNodesOnPath(const DifferentiationRequest &request);

/// Replaces nodes without a rule that depend on wanted values, and on which the
/// seeds depend, by other nodes: by their decomposition, or by the functions
/// that define them.
mlir::LogicalResult expandFunctions(NodeBuilder &builder,
                                    DifferentiationRequest &request);

/// The values that regions of `op` use and do not define, in order.
llvm::SetVector<mlir::Value> getCaptured(mlir::Operation *op);
/// All values that `op` may have a gradient for: captured values, the operands,
/// and values that were rounded to an operand.
llvm::SetVector<mlir::Value> getGradientInputs(mlir::Operation *op);
/// The value that a QuantizeLinear has turned into the operand of `node`, if
/// `node` is the DequantizeLinear after it; null otherwise.
mlir::Value getRoundedSource(mlir::Operation *node);

/// False for an Identity that a pass has marked.
bool passesGradients(mlir::Operation *node);

/// True if the value can have a gradient: it is a tensor of floats.
bool isDifferentiable(mlir::Value value);
/// True if the value can have a gradient, contains such tensors (a sequence, an
/// optional), or has an unknown type. Gradients would flow through it, but no
/// rule supports it.
bool holdsDifferentiable(mlir::Value value);

} // namespace mp

#endif // MPOPT_AUTODIFF_AUTODIFF_H
