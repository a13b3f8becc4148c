//===- Panels.h - Packing operands into panels ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A panel holds `width` rows or columns of an operand for a range of the
// summed dimension, as [depth][width] in the accumulator's type, zeros where
// the operand ends. The depth is padded to a multiple of the lanes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_PANELS_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_PANELS_H

#include "Contraction.h"

namespace mp::kernel {

/// An operand that is packed along a group, the summed dimension aside.
class Side {
public:
  /// Emits the offsets that all panels share.
  Side(Emitter &e, Contraction &contraction, unsigned operand, GroupKind kind,
       int64_t width, int64_t lanes);

  /// What depends on the batch alone; comes before pack.
  void enterBatch(Emitter &e, mlir::Value batch);
  /// Writes the panel of `first` to `first + width - 1` for the depths `depth`
  /// to `depth + count - 1` to `panel`, from `at` on.
  void pack(Emitter &e, mlir::Value first, mlir::Value depth, mlir::Value count,
            mlir::Value panel, mlir::Value at);

private:
  struct Checked {
    IndexFunction lane, depth;
    const Bound *bound;
    mlir::Value base;
  };
  /// A vector of lanes of the panel: the `part`-th.
  struct Part {
    mlir::Value first, mask, count;
    int64_t begin, width;
  };
  Part getPart(Emitter &e, mlir::Value first, int64_t begin);
  /// Where a place is within all bounds, by coordinates along `lane` (a
  /// vector for each bound) and one of the other direction.
  mlir::Value checkBounds(Emitter &e, mlir::Value mask,
                          llvm::ArrayRef<mlir::Value> coordinates,
                          llvm::ArrayRef<mlir::Value> others);
  mlir::Value loadLine(Emitter &e, mlir::Value place, mlir::Value mask);
  mlir::Value gather(Emitter &e, mlir::Value place, mlir::Value offsets,
                     mlir::Value mask);
  void store(Emitter &e, mlir::Value value, const Part &part, mlir::Value panel,
             mlir::Value at);
  void packAlongLanes(Emitter &e, const Part &part, mlir::Value depth,
                      mlir::Value count, mlir::Value panel, mlir::Value at);
  void packTransposed(Emitter &e, const Part &part, mlir::Value depth,
                      mlir::Value count, mlir::Value panel, mlir::Value at);
  llvm::SmallVector<mlir::Value> transpose(Emitter &e,
                                           llvm::ArrayRef<mlir::Value> rows);

  Contraction &contraction;
  View &view;
  unsigned operand;
  int64_t width, lanes;
  mlir::Type accumulator;
  mlir::Value total, base;
  IndexFunction laneOffsets, depthOffsets;
  llvm::SmallVector<Checked> checks;
  bool transposed;
};

/// Whether `offsets` are those of one run of elements, `first` being the first
/// of them, as far as `mask` goes.
mlir::Value isRun(Emitter &e, mlir::Value offsets, mlir::Value first,
                  mlir::Value mask);

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_PANELS_H
