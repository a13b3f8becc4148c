//===- ModelContent.h - Identifies a model for the code cache ---*- C++ -*-===//
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

/// A hash of everything that lowering reads of a model: its nodes with their
/// names, attributes and types, and small constants. The elements of constants
/// that are resources are not included, since lowering does not read those of
/// initializers and Constant nodes. Two models with the same hash have the same
/// attributes and nodes in the same order, so their numbers are
/// interchangeable. While this is in use, only lowering may change the model.
class ModelContent {
public:
  explicit ModelContent(mlir::ModuleOp module);

  const llvm::BLAKE3Result<> &getHash() const { return hash; }

  /// The number of an attribute or of a part of one, by first appearance;
  /// absent if the model does not have it.
  std::optional<uint32_t> getNumber(mlir::Attribute attribute) const;
  /// Returns null for an unknown number.
  mlir::Attribute getAttribute(uint32_t number) const {
    return number < attributes.size() ? attributes[number] : nullptr;
  }
  llvm::ArrayRef<mlir::Attribute> getAttributes() const { return attributes; }

  /// The number of the first op with this location; absent if there is none.
  std::optional<uint32_t> getNumber(mlir::Location location) const;
  /// Returns the module's location for an unknown number.
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
