//===- Windows.h - Images that are read in windows --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Winograd's transforms ask for: operands that are read in windows, and
// so large that transforms take less time than they save.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_WINDOWS_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_WINDOWS_H

#include "Contraction.h"

#include "mp-opt/Conversion/KernelToLoops.h"

#include <array>

namespace mp::kernel {

/// An axis that is read at `kept + summed + constant`, with `mirrored` at
/// `kept - summed + constant`: the result has the dimension `kept` and not
/// `summed`.
struct WindowAxis {
  unsigned kept, summed;
  bool mirrored;
  int64_t constant;
  /// The image's dimension.
  unsigned position;
};

/// An operand, a (0) or b (1), and its two such axes, in order.
struct Windows {
  unsigned image;
  std::array<WindowAxis, 2> axes;
};

/// Nothing if no operand has two, or one has others than such.
std::optional<Windows> findWindows(ContractOp op);

/// Whether only axes of windows may exceed an image.
bool isWithinOthers(const View &image);

/// Edges of tiles for the operands and results of `op`, the best first; none if
/// products of pairs are faster.
llvm::SmallVector<int64_t> getTileEdges(ContractOp op,
                                        const KernelTarget &target);

/// Whether `group`, which ends with the two axes of an image, is known to have
/// so many tiles with `edge` x `edge` elements each, few of them beyond the
/// image: of the products, tiles of 16 bit save half at most.
bool hasTiles(const Contraction &contraction, GroupKind group, int64_t edge,
              int64_t fewest);

/// Emits the loops of `op` as a `Transformed` with the first edge of tiles that
/// it says to be suited; false if there is none. Products are in f32, whatever
/// `target` does with 16 bits.
template <typename Transformed>
bool emitTransformed(Emitter &e, ContractOp op, KernelTarget target) {
  std::optional<Windows> windows = findWindows(op);
  if (!windows || !op->hasAttr(leastSizesName))
    return false;
  llvm::SmallVector<int64_t> edges = getTileEdges(op, target);
  target.form = Form::Widen;
  for (int64_t edge : edges) {
    Transformed transformed(e, op, target, *windows, edge);
    if (!transformed.isSuited())
      continue;
    transformed.emit();
    return true;
  }
  return false;
}

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_WINDOWS_H
