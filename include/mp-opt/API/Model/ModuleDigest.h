//===- ModuleDigest.h - Finds out if a module has changed -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_MODULEDIGEST_H
#define MPOPT_API_MODEL_MODULEDIGEST_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/xxhash.h"

namespace mp {

/// A 128-bit hash of a module and its contents: its ops, their attributes,
/// types, locations and operands. It is valid only within one process. MLIR's
/// OperationFingerPrint computes the same by SHA-1, which is slow.
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

#endif // MPOPT_API_MODEL_MODULEDIGEST_H
