//===- BodyAdjoint.h - Gradients inside subgraphs ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_BODYADJOINT_H
#define MPOPT_LIB_AUTODIFF_BODYADJOINT_H

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Graph/NodeCopier.h"

namespace mp {

/// A subgraph of the backward pass, which computes a subgraph of the forward
/// pass again, and differentiates it.
class BodyAdjoint {
public:
  /// `forward` is a subgraph of the op's node; `backward` will be filled.
  BodyAdjoint(NodeAdjoint &op, mlir::Region &forward, mlir::Region &backward);

  mlir::BlockArgument addInput(const llvm::Twine &name, mlir::Type type);
  void addOutput(mlir::Value value);

  /// Sets the value that replaces an input of `forward`.
  void map(mlir::Value value, mlir::Value copy) {
    copier.mapping.map(value, copy);
  }
  mlir::Value getCopy(mlir::Value value) {
    return copier.mapping.lookupOrDefault(value);
  }
  /// Adds the gradient of the value that `forward` yields at `index`.
  void addSeed(unsigned index, mlir::Value gradient) {
    seeds.emplace_back(index, gradient);
  }
  /// Requests the gradient of a value of `forward`, or of a captured one.
  void want(mlir::Value value) { wanted.push_back(value); }

  mlir::LogicalResult differentiate();
  /// The gradient of a wanted value; null if no seed depends on it.
  mlir::Value getGradient(mlir::Value value) const {
    return gradients.lookup(value);
  }
  /// Must be called at the end: erases nodes that no gradient needs. Fails with
  /// an error if a remaining node would draw other random numbers.
  mlir::LogicalResult finish();

private:
  NodeAdjoint &op;
  NodeBuilder &b;
  mlir::Region &forward, &backward;
  NodeCopier copier;
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> seeds;
  llvm::SmallVector<mlir::Value> wanted;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

/// The values that the node's subgraphs capture and whose gradients are wanted.
struct WantedCaptures {
  llvm::SmallVector<mlir::Value> tensors;
  /// Sequences and optionals: ops that take a tensor from them have no rule,
  /// which differentiation reports.
  llvm::SmallVector<mlir::Value> containers;

  explicit WantedCaptures(NodeAdjoint &op);
};

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_BODYADJOINT_H
