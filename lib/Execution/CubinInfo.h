//===- CubinInfo.h - Resources of kernels in machine code -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_CUBININFO_H
#define MPOPT_LIB_EXECUTION_CUBININFO_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace mp {

/// The resources of a kernel: registers of a thread, and bytes of shared memory
/// of a block whose size the kernel itself determines.
struct CubinKernel {
  unsigned registers = 0, shared = 0;
};

/// Reads the kernels of a cubin, an ELF file. Fails if it is damaged or does
/// not list registers.
llvm::Expected<llvm::StringMap<CubinKernel>> readCubin(llvm::StringRef cubin);

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_CUBININFO_H
