//===- LineCode.h - Neighbours along a dimension ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_LINECODE_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_LINECODE_H

#include "mp-opt/Codegen/Common/LoopStructure.h"

namespace mp {

/// The base of code for structured ops whose threads take some neighbouring
/// points, the lanes, of the inner dimension at once.
class LineCode : protected LoopStructure {
protected:
  using LoopStructure::LoopStructure;

  int64_t getExtent(unsigned dim) const;
  /// The lanes: 16 bytes, or less. Lines of maps may end within a vector.
  int64_t chooseLanes(bool isMap);
  bool isLine(const LoopOperand &operand) const;
  mlir::Value loadLanes(const LoopOperand &operand);
  void storeLanes(const LoopOperand &operand, mlir::Value value);
  llvm::SmallVector<mlir::Value> emitLanes(llvm::ArrayRef<mlir::Value> sums);
  void emitPoints();
  void emitEndOfLine();

  unsigned inner = 0;
  int64_t lanes = 1;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_LINECODE_H
