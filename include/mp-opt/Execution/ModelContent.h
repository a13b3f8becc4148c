//===- ModelContent.h - What of a model code depends on ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_MODELCONTENT_H
#define MPOPT_EXECUTION_MODELCONTENT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/BLAKE3.h"

#include <vector>

namespace mp {

/// A hash of all that lowering reads of a model: its nodes, their names,
/// attributes and types, and small constants. Not the elements of constants
/// that are resources: nothing that lowers a model looks into those of
/// initializers and of Constant nodes. Two models with one hash have the same
/// attributes and nodes in the same order, so that numbers of one are good for
/// the other. The model is not to change while this is in use, but for what
/// lowering does.
class ModelContent {
public:
  explicit ModelContent(mlir::ModuleOp module);

  const llvm::BLAKE3Result<> &getHash() const { return hash; }

  /// Of attributes and their parts, by their first appearance; absent for one
  /// that the model has not.
  std::optional<uint32_t> getNumber(mlir::Attribute attribute) const;
  /// Null for a number that there is not.
  mlir::Attribute getAttribute(uint32_t number) const {
    return number < attributes.size() ? attributes[number] : nullptr;
  }
  llvm::ArrayRef<mlir::Attribute> getAttributes() const { return attributes; }

  /// Of the first op that is there; absent where there is none.
  std::optional<uint32_t> getNumber(mlir::Location location) const;
  /// The module's for a number that there is not.
  mlir::Location getLocation(uint32_t number) const {
    return locations[number < locations.size() ? number : 0];
  }

private:
  class Writer;

  llvm::BLAKE3Result<> hash;
  llvm::DenseMap<mlir::Attribute, uint32_t> numbers;
  std::vector<mlir::Attribute> attributes;
  std::vector<mlir::Location> locations;
};

} // namespace mp

#endif // MPOPT_EXECUTION_MODELCONTENT_H
