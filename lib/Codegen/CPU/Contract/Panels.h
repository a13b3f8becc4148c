//===- Panels.h - Packing operands into panels ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A micro-panel holds MR rows of the LHS, or NR columns of the RHS, for a range
// of K: `width` of them. K is counted in k-packs: elements, or pairs of them. A
// micro-panel is stored as [k-pack][lane], or in chunks as
// [chunk][lane][k-pack], the lanes being its rows or columns; zeros stand where
// the operand ends.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONTRACT_PANELS_H
#define MPOPT_LIB_CODEGEN_CPU_CONTRACT_PANELS_H

#include "Contraction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp::kernel {

struct PanelFormat {
  /// Of the panel's memory.
  mlir::Type element;
  int64_t width;
  /// K-packs in a vector, and in a chunk.
  int64_t vectorKPacks;
  /// Elements in a k-pack.
  int64_t kPack = 1;
  bool byLane = false;
  /// What lies behind the end of K is zero up to a whole chunk, and not only
  /// for panels that are stored by lanes.
  bool wholeChunks = false;

  int64_t chunk() const { return vectorKPacks * kPack; }
  /// Elements in a panel for so much of K.
  mlir::Value getSize(LoopBuilder &e, mlir::Value depth) const;
};

/// The LHS, which is packed along M, or the RHS, along N. Code that packs is a
/// function, which all operands share that differ in sizes and places alone.
class PackedOperand {
public:
  /// Emits the offsets that all panels share.
  PackedOperand(LoopBuilder &e, Contraction &contraction, unsigned operand,
                GroupKind kind, const PanelFormat &format, bool alongDepth);

  /// What depends on the batch alone; comes before pack.
  void enterBatch(LoopBuilder &e, mlir::Value batch);
  /// Lanes `first` to `first + width - 1`, and where their panel begins.
  struct Place {
    mlir::Value first, at;
  };
  /// Calls the function that writes panels for `depth` to `depth + count - 1`
  /// of K.
  void pack(LoopBuilder &e, llvm::ArrayRef<Place> places, mlir::Value depth,
            mlir::Value count, mlir::Value memory);
  /// Panels to be packed at once, since their lanes share lines of memory.
  int64_t getNumTogether() const;

  /// Where column or row `first` is, if the operand is one line.
  mlir::Value getPlace(LoopBuilder &e, mlir::Value first) {
    return e.add(base, laneLine.offsets.at(e, first));
  }
  mlir::Value getBase() const { return base; }
  const IndexFunction &getLaneOffsets() const { return laneLine.offsets; }
  mlir::Value getMemory() const { return memory; }
  const IndexFunction &getDepthOffsets() const { return depthLine.offsets; }

private:
  /// The lanes of all panels, or K.
  struct Line {
    IndexFunction offsets;
    /// Of the group of dimensions, and with a table, of its last one.
    mlir::Value total, length;
    /// A vector of a table is in at most so many runs; 0 if nothing is known.
    int64_t maxRuns = 0;
  };
  struct Checked {
    IndexFunction lane, depth;
    const Bound *bound;
    mlir::Value size, base;
  };
  /// Lanes that are read at once, all others aside: the elements of which they
  /// are picked, and what is added to a place then.
  struct Segment {
    mlir::Value mask, shift;
  };
  /// Where elements that make a vector are: `step` apart, in several runs if
  /// there are any; or at `offsets`.
  struct VectorAccess {
    int64_t step = 1;
    mlir::Value offsets;
    llvm::SmallVector<Segment> runs;
  };
  /// As many lanes of a panel as a vector has k-packs, and where they go.
  struct LaneGroup {
    mlir::Value first, mask, count;
    int64_t width;
    mlir::Value depth, end;
    mlir::Value panel, at;
    /// Where the first lane is, where the others are, the lanes' coordinates.
    mlir::Value place;
    VectorAccess access;
    llvm::SmallVector<mlir::Value> coordinates;
  };
  /// A panel that is to be packed.
  struct Panel {
    mlir::Value first, depth, count, memory, at;
  };
  Line getLine(LoopBuilder &e, GroupKind group, int64_t lanes);
  /// Visits all values that code of pack depends on; what is not there is null.
  void forEachValue(llvm::function_ref<void(mlir::Value &)> visit);
  /// Depends on all that is not a value, and on constants.
  std::string getFunctionName(llvm::ArrayRef<Panel> panels);
  mlir::func::FuncOp getFunction(mlir::ModuleOp module, llvm::StringRef name,
                                 llvm::ArrayRef<Panel> panels,
                                 llvm::ArrayRef<mlir::Value> arguments);
  void emitPack(LoopBuilder &e, llvm::ArrayRef<Panel> panels);
  LaneGroup getLaneGroup(LoopBuilder &e, const Panel &panel, mlir::Value begin,
                         int64_t width);
  VectorAccess getAccess(LoopBuilder &e, const Line &line, mlir::Value first,
                         int64_t lanes);
  mlir::Value checkBounds(LoopBuilder &e, mlir::Value mask,
                          llvm::ArrayRef<mlir::Value> coordinates,
                          llvm::ArrayRef<mlir::Value> others);
  /// Elements in the panel's type.
  mlir::Value load(LoopBuilder &e, mlir::Value place,
                   const VectorAccess &access, mlir::Value mask);
  void storeVector(LoopBuilder &e, mlir::Value value, mlir::Value panel,
                   mlir::Value at, int64_t kPacks);
  void packAlongLanes(LoopBuilder &e, llvm::ArrayRef<Panel> panels,
                      llvm::ArrayRef<LaneGroup> laneGroups);
  void packLanes(LoopBuilder &e, llvm::ArrayRef<LaneGroup> laneGroups);
  mlir::Value readElements(LoopBuilder &e, const LaneGroup &laneGroup,
                           mlir::Value i, bool mayExceed);
  mlir::Value readKPack(LoopBuilder &e, const LaneGroup &laneGroup,
                        mlir::Value kPackIndex, bool mayExceed);
  void packAlongDepth(LoopBuilder &e, const Panel &panel);
  /// Packs squares of the group's lanes and as many elements of K.
  void packSquares(LoopBuilder &e, const LaneGroup &laneGroup);
  llvm::SmallVector<mlir::Value> transpose(LoopBuilder &e,
                                           llvm::ArrayRef<mlir::Value> rows);
  /// Stores vectors that are lanes each, or k-packs each.
  void storeLanes(LoopBuilder &e, const LaneGroup &laneGroup,
                  mlir::Value kPackIndex, llvm::ArrayRef<mlir::Value> vectors);
  void storeKPacks(LoopBuilder &e, const LaneGroup &laneGroup,
                   mlir::Value kPackIndex, llvm::ArrayRef<mlir::Value> vectors);

  Contraction &contraction;
  unsigned operand;
  PanelFormat format;
  /// Of the operand's elements.
  mlir::Type element, rounding;
  mlir::Value memory, base;
  Line laneLine, depthLine;
  llvm::SmallVector<Checked> checks;
  bool alongDepth;
};

/// Whether `offsets` are those of elements that are `step` apart, `first` being
/// the first of them, as far as `mask` goes.
mlir::Value isRun(LoopBuilder &e, mlir::Value offsets, mlir::Value first,
                  mlir::Value mask, int64_t step = 1);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONTRACT_PANELS_H
