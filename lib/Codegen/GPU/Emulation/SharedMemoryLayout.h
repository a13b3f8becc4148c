//===- SharedMemoryLayout.h - Offsets of shared variables -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMULATION_SHAREDMEMORYLAYOUT_H
#define MPOPT_LIB_CODEGEN_GPU_EMULATION_SHAREDMEMORYLAYOUT_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"

namespace mp::emulation {

/// CUDA's number for it.
constexpr unsigned sharedSpace = 3;

inline bool isShared(mlir::Type type) {
  auto pointer = mlir::dyn_cast<mlir::LLVM::LLVMPointerType>(type);
  return pointer && pointer.getAddressSpace() == sharedSpace;
}

/// The shared memory of one kernel: the variables that it names, with unused
/// bytes between them; dynamic memory begins after these.
class SharedMemoryLayout {
public:
  /// `globals`: the variables of the kernel's module.
  SharedMemoryLayout(mlir::LLVM::LLVMFuncOp function,
                     const llvm::StringMap<mlir::LLVM::GlobalOp> &globals);

  /// In bytes; absent if it is none of these.
  std::optional<int32_t> getOffset(llvm::StringRef global) const;
  int64_t getStaticBytes() const { return staticBytes; }
  /// Pairs of offset and size.
  llvm::ArrayRef<int32_t> getGaps() const { return gaps; }

private:
  llvm::StringMap<int32_t> offsets;
  llvm::SmallVector<int32_t> gaps;
  int64_t staticBytes = 0;
};

} // namespace mp::emulation

#endif // MPOPT_LIB_CODEGEN_GPU_EMULATION_SHAREDMEMORYLAYOUT_H
