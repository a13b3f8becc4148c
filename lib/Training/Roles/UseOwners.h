//===- UseOwners.h - Modules that own uses ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters keep one initializer for equal ones, under the name of one of them.
// Remaining traces of the other names show which module a use belongs to.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_USEOWNERS_H
#define MPOPT_LIB_TRAINING_ROLES_USEOWNERS_H

#include "mp-opt/Training/ParameterRoles.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mp {

struct UseOwner {
  enum Kind : uint8_t { Unknown, Own, Foreign } kind = Unknown;
  /// The exporter's name of a foreign initializer, if it is known.
  std::string name;
};

class UseOwners {
public:
  explicit UseOwners(onnxir::GraphOp graph);

  UseOwner find(const ParameterCandidate &candidate,
                const ParameterUse &use) const;

private:
  std::optional<UseOwner> findInCall(const ParameterCandidate &candidate,
                                     const ParameterUse &use) const;

  /// Names in torch's calls by initializer, and the set of all such names.
  llvm::StringMap<std::string> originals;
  llvm::StringSet<> known;
};

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_USEOWNERS_H
