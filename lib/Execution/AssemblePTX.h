//===- AssemblePTX.h - Machine code of PTX ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_ASSEMBLEPTX_H
#define MPOPT_LIB_EXECUTION_ASSEMBLEPTX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mp {

/// A cubin of `ptx` for `chip`, made by the ptxas in PATH, else by nvJitLink.
/// Fails with their errors, or if both are missing.
llvm::Expected<std::string> assemblePTX(llvm::StringRef ptx,
                                        llvm::StringRef chip);

/// True if one of both is there.
bool hasAssembler();

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_ASSEMBLEPTX_H
