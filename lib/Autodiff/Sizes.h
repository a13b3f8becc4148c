//===- Sizes.h - Arithmetic on sizes that may be unknown --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One formula describes the geometry of windows for known and unknown sizes:
// known sizes are folded, others become nodes on int64 vectors of one element.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_SIZES_H
#define MPOPT_LIB_AUTODIFF_SIZES_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// A number that is known, or that the model computes.
class Size {
public:
  Size(int64_t known = 0) : known(known) {}
  /// A vector of one int64; a constant is known.
  explicit Size(mlir::Value value);

  bool isKnown() const { return !value; }
  bool is(int64_t number) const { return isKnown() && known == number; }
  int64_t get() const { return known; }
  mlir::Value getValue(NodeBuilder &b) const {
    return value ? value : b.ints(known);
  }

private:
  int64_t known = 0;
  mlir::Value value;
};

class SizeMath {
public:
  explicit SizeMath(NodeBuilder &b) : b(b) {}

  /// The size of `value` along `axis`, which is not negative.
  Size of(mlir::Value value, int64_t axis);
  /// The sizes from `first` to `end`, or as many as are known to exist.
  llvm::SmallVector<Size> from(mlir::Value value, int64_t first, int64_t end);

  Size add(Size left, Size right);
  Size sub(Size left, Size right);
  Size mul(Size left, Size right);
  /// Divides numbers that are not negative.
  Size div(Size left, Size right);
  Size max(Size left, Size right);
  Size min(Size left, Size right);

  /// All sizes as one vector, which is a constant if all are known.
  mlir::Value vector(llvm::ArrayRef<Size> sizes);
  /// A scalar of `elementType`.
  mlir::Value scalar(Size size, mlir::Type elementType);
  /// The vector 0, 1 ... `size` - 1.
  mlir::Value range(Size size);

  /// Adds zeros before and after each axis from `first` on.
  mlir::Value pad(mlir::Value value, int64_t first, llvm::ArrayRef<Size> begins,
                  llvm::ArrayRef<Size> ends);
  /// Takes `sizes` elements from `begins` on, along each axis from `first` on.
  mlir::Value crop(mlir::Value value, int64_t first,
                   llvm::ArrayRef<Size> begins, llvm::ArrayRef<Size> sizes);

private:
  Size combine(llvm::StringRef op, Size left, Size right,
               int64_t (*fold)(int64_t, int64_t));

  NodeBuilder &b;
};

/// The numbers if all are known.
std::optional<llvm::SmallVector<int64_t>> getKnown(llvm::ArrayRef<Size> sizes);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_SIZES_H
