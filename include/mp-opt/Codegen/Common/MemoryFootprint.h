//===- MemoryFootprint.h - Memory that code accesses ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_MEMORYFOOTPRINT_H
#define MPOPT_CODEGEN_COMMON_MEMORYFOOTPRINT_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/MapVector.h"

namespace mp {

/// The numbers begin, begin + step, ..., of which code uses at most `most`; if
/// it uses all, `most` is `count`.
struct Span {
  int64_t begin = 0, step = 1, count = 1, most = 1;

  /// More than any memory has: it is used for sizes that are not known.
  static constexpr int64_t limit = int64_t(1) << 48;
  static Span getRange(int64_t size) {
    size = mlir::ShapedType::isDynamic(size) ? limit : size;
    return {0, 1, size, size};
  }
  int64_t getLast() const { return begin + step * (count - 1); }
  bool isExact() const { return most == count; }
  bool isWhole(int64_t size) const {
    return begin == 0 && step == 1 && count == size && isExact();
  }
  bool contains(const Span &other) const;

  Span operator+(const Span &other) const;
  Span operator*(int64_t factor) const;
  /// Removes numbers below 0, or not below `size`.
  Span clamp(int64_t size) const;
};

/// The span of a linear expression of the dimensions; absent if it is not
/// linear.
std::optional<Span> getSpan(mlir::AffineExpr expr, llvm::ArrayRef<Span> dims);

/// The span of an index that depends on loop counters and constants; absent if
/// it depends on data.
std::optional<Span> getSpan(mlir::OpFoldResult index);

/// The number of times that an op runs in a run of `root`, which contains it;
/// absent if it depends on data. Branches count as taken.
std::optional<int64_t> countRuns(mlir::Operation *op, mlir::Operation *root);

/// The elements of memory that code accesses, each counted once.
class MemoryFootprint {
public:
  /// Adds the elements of a memref at `box`: a span for each of its dimensions.
  /// At most `most` of them count if data select them.
  void add(mlir::Value memref, llvm::ArrayRef<Span> box, int64_t most);
  /// True if all of these have been added.
  bool contains(mlir::Value memref, llvm::ArrayRef<Span> box) const;
  uint64_t countBytes() const;

private:
  using Box = llvm::SmallVector<Span, 4>;
  /// Elements of one memref, in its coordinates.
  struct Frame {
    std::vector<Box> boxes;
    /// The number of elements whose indices are not known.
    int64_t others = 0;
  };
  static std::pair<mlir::Value, Box> findFrame(mlir::Value memref,
                                               llvm::ArrayRef<Span> box);
  static int64_t countElements(const Frame &frame);

  llvm::MapVector<mlir::Value, Frame> frames;
};

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_MEMORYFOOTPRINT_H
