//===- ModuleDigest.h - Tells whether a module has changed ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODULEDIGEST_H
#define MPOPT_API_MODULEDIGEST_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/xxhash.h"

namespace mp {

/// 128 bits that stand for a module and all that is inside: its ops, their
/// attributes, types, locations and operands. They hold within one process
/// only. MLIR's OperationFingerPrint says the same by SHA-1, which is slow.
class ModuleDigest {
public:
  explicit ModuleDigest(mlir::ModuleOp module);

  bool operator==(const ModuleDigest &other) const {
    return hash == other.hash;
  }

private:
  llvm::XXH128_hash_t hash;
};

} // namespace mp

#endif // MPOPT_API_MODULEDIGEST_H
