//===- ParameterTable.h - Table of trained parameters -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `mp-select-parameters` stores its decisions on the module, as
// `mp.parameters`; reports read them from there.
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
  /// The reason why it is not trained.
  std::string reason;
  /// A hint for the reader: "in doubt", "matched, not trained".
  std::string note;
  /// The type of the elements in the model: "float", "float16".
  std::string type;
  int64_t elements = 0, bytes = 0;
  /// The parameter that it is a copy of; empty if it is not a copy.
  std::string splitFrom;
  /// The modules that share it, if there are several.
  std::vector<std::string> sharers;
};

void setParameterTable(mlir::ModuleOp module,
                       const std::vector<ParameterRecord> &records);
/// The module's table; empty if it has none.
std::vector<ParameterRecord> getParameterTable(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_TRAINING_PARAMETERTABLE_H
