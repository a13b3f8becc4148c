//===- ParameterTable.h - What is trained, for the reader -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `mp-select-parameters` leaves what it has decided on the module, as
// `mp.parameters`; reports take it from there.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_PARAMETERTABLE_H
#define MPOPT_TRAINING_PARAMETERTABLE_H

#include "mlir/IR/BuiltinOps.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include <string>
#include <vector>

namespace mp {

struct ParameterRecord {
  std::string name;
  /// "weight", "bias", ...: ParameterRole.
  std::string role;
  /// "trained", "frozen", "not a parameter": ParameterChoice::State.
  std::string state;
  /// Why it is not trained.
  std::string reason;
  /// A hint for the reader: "in doubt", "matched, not trained".
  std::string note;
  /// Of the elements in the model: "float", "float16".
  std::string type;
  int64_t elements = 0, bytes = 0;
  /// The parameter that it is a copy of; empty if it is none.
  std::string splitFrom;
  /// The modules that share it, where there are several.
  std::vector<std::string> sharers;
};

void setParameterTable(mlir::ModuleOp module,
                       const std::vector<ParameterRecord> &records);
/// Empty if there is none.
std::vector<ParameterRecord> getParameterTable(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_TRAINING_PARAMETERTABLE_H
