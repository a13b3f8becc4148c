//===- Kinks.h - Where small errors flip masks and choices ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kink is a place where a graph jumps if an operand crosses a bound: the mask
// in the gradient of Relu, or the choice of a maximum in a pool. There the
// first order misses what errors do. If the errors of the distance d from the
// bound are normal with the deviation s, the mean of the squared effect on phi
// (SpotPrograms.h) is
//
//   C = sum a^2 g^2 Q(|d| / s),   Q(t) = erfc(t / sqrt 2) / 2,
//
// where g is what the jump changes, and a its adjoint. The sum of Q is the
// expected number of flips.
//
// The kinks of a copy of a graph come in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_ATTRIBUTION_KINKS_H
#define MPOPT_LIB_ATTRIBUTION_KINKS_H

#include "mp-opt/Autodiff/Autodiff.h"

namespace mp {

/// Puts Identities with `mp.kink` around gradients of maximum pools, which
/// decomposition would make hard to find.
void markPools(mlir::ModuleOp module);

class Kinks {
public:
  /// Finds those that depend on markers.
  static Kinks find(mlir::ModuleOp module);

  size_t size() const { return kinks.size(); }
  bool isPool(size_t number) const { return kinks[number].pool; }
  /// The value, as it is computed, whose error may cause flips: the distance
  /// from the bound or, of a pool, its operand. Must be called before markers
  /// are replaced.
  mlir::Value addSource(NodeBuilder &b, size_t number);
  /// The values whose adjoints `addEffect` needs.
  llvm::SmallVector<mlir::Value> getWanted(size_t number) const;

  struct Effect {
    /// Scalars: C, and the expected number of flips.
    mlir::Value error, flips;
  };
  /// `source` is from addSource, `deviation` is s, a scalar.
  Effect addEffect(NodeBuilder &b, size_t number, mlir::Value source,
                   mlir::Value deviation, const Gradients &gradients);

private:
  /// A node that reads a truth value, and truth values that must hold besides
  /// for it to matter.
  struct Reader {
    mlir::Operation *node;
    llvm::SmallVector<mlir::Value, 1> conditions;
  };
  struct Kink {
    /// The comparison, or Sign; null for a pool.
    mlir::Operation *decision = nullptr;
    std::vector<Reader> readers;
    /// The Identities of a pool's gradient: of the gradient, the indices, and
    /// the result; and the pool.
    mlir::Operation *parts[3] = {};
    mlir::Operation *pool = nullptr;
  };

  void addReaders(Kink &kink, mlir::Value truth,
                  llvm::SmallVector<mlir::Value, 1> conditions, unsigned depth);
  void addPools(mlir::Block &block);
  static mlir::Value addJump(NodeBuilder &b, const Reader &reader,
                             mlir::Operation *decision, mlir::Value adjoint);
  Effect addPoolEffect(NodeBuilder &b, const Kink &kink, mlir::Value source,
                       mlir::Value deviation, const Gradients &gradients);

  std::vector<Kink> kinks;
};

} // namespace mp

#endif // MPOPT_LIB_ATTRIBUTION_KINKS_H
