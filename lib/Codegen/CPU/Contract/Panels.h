//===- Panels.h - Packing operands into panels ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A micro-panel holds `width` rows of the LHS (MR), or columns of the RHS (NR),
// for a range of K. K is counted in k-packs: elements, or pairs of them. A
// micro-panel is stored as [k-pack][lane], or in chunks as
// [chunk][lane][k-pack], the lanes being its rows or columns; it has zeros
// after the end of the operand.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONTRACT_PANELS_H
#define MPOPT_LIB_CODEGEN_CPU_CONTRACT_PANELS_H

#include "Contraction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp::kernel {

struct PanelFormat {
  /// The type of the panel's memory.
  mlir::Type element;
  int64_t width;
  /// K-packs in a vector, and in a chunk.
  int64_t vectorKPacks;
  /// Elements in a k-pack.
  int64_t kPack = 1;
  bool byLane = false;
  /// Elements after the end of K are zero up to a whole chunk, also in panels
  /// that are not stored by lanes.
  bool wholeChunks = false;

  int64_t chunk() const { return vectorKPacks * kPack; }
  /// The number of elements in a panel for `depth` of K.
  mlir::Value getSize(LoopBuilder &e, mlir::Value depth) const;
};

/// The LHS, which is packed along M, or the RHS, along N. The packing code is a
/// function, shared by all operands that differ only in sizes and offsets.
class PackedOperand {
public:
  /// Emits the offsets that all panels share.
  PackedOperand(LoopBuilder &e, Contraction &contraction, unsigned operand,
                GroupKind kind, const PanelFormat &format, bool alongDepth);

  /// Sets the state that depends only on the batch; to be called before pack.
  void enterBatch(LoopBuilder &e, mlir::Value batch);
  /// Lanes `first` to `first + width - 1`, and the begin of their panel.
  struct PanelStart {
    mlir::Value first, at;
  };
  /// Calls the function that writes panels for `depth` to `depth + count - 1`
  /// of K.
  void pack(LoopBuilder &e, llvm::ArrayRef<PanelStart> starts,
            mlir::Value depth, mlir::Value count, mlir::Value memory);
  /// The number of panels to pack at once, since their lanes share lines of
  /// memory.
  int64_t getNumTogether() const;

  /// The offset of column or row `first`, if the operand is one line.
  mlir::Value getOffset(LoopBuilder &e, mlir::Value first) {
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
    /// The size of the group of dimensions, and that of its last one, which a
    /// table needs.
    mlir::Value total, length;
    /// The most runs in a vector of a table; 0 if nothing is known.
    int64_t maxRuns = 0;
  };
  struct Checked {
    IndexFunction lane, depth;
    const Bound *bound;
    mlir::Value size, base;
  };
  /// Lanes that are read at once: the mask that selects them, and the shift
  /// that is added to the offset.
  struct Segment {
    mlir::Value mask, shift;
  };
  /// The positions of a vector's elements: `step` apart, in several runs if
  /// there are any; or at `offsets`.
  struct VectorAccess {
    int64_t step = 1;
    mlir::Value offsets;
    llvm::SmallVector<Segment> runs;
  };
  /// A group of as many lanes of a panel as a vector has k-packs, and their
  /// destination.
  struct LaneGroup {
    mlir::Value first, mask, count;
    int64_t width;
    mlir::Value depth, end;
    mlir::Value panel, at;
    /// The offset of the first lane, the access to the others, the lanes'
    /// coordinates.
    mlir::Value place;
    VectorAccess access;
    llvm::SmallVector<mlir::Value> coordinates;
  };
  /// A panel that is to be packed.
  struct Panel {
    mlir::Value first, depth, count, memory, at;
  };
  Line getLine(LoopBuilder &e, GroupKind group, int64_t lanes);
  /// Visits all values that the code of pack depends on; null stands for absent
  /// ones.
  void forEachValue(llvm::function_ref<void(mlir::Value &)> visit);
  /// The name depends on constants and on all state that is not a value.
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
  /// Loads elements in the panel's type.
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
  /// The type of the operand's elements, and their rounding.
  mlir::Type element, rounding;
  mlir::Value memory, base;
  Line laneLine, depthLine;
  llvm::SmallVector<Checked> checks;
  bool alongDepth;
};

/// True if the `offsets` that `mask` selects are `step` apart, from `first` on.
mlir::Value isRun(LoopBuilder &e, mlir::Value offsets, mlir::Value first,
                  mlir::Value mask, int64_t step = 1);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONTRACT_PANELS_H
