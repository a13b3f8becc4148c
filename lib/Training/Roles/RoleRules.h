//===- RoleRules.h - Roles from positions -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_ROLERULES_H
#define MPOPT_LIB_TRAINING_ROLES_ROLERULES_H

#include "BatchFlow.h"
#include "ConstantContents.h"
#include "WeightOperandRoles.h"

#include "mp-opt/Training/ParameterRoles.h"

namespace mp {

/// A place where a value computed from a constant meets the batch.
struct ParameterSite {
  mlir::Operation *node = nullptr;
  unsigned operand = 0;
  /// True if a sine or cosine lies between the constant and the node.
  bool isPeriodic = false;
};

/// Judges the sites of one constant.
class RoleRules {
public:
  /// `isParameter` is true if the exporter says so.
  RoleRules(const BatchFlow &flow, mlir::Operation *constant,
            llvm::StringRef name, bool isParameter);

  ParameterUse judge(const ParameterSite &site) const;
  bool isSingle() const { return elements && elements->size() == 1; }
  bool isUniform() const { return bool(uniform); }

private:
  ParameterUse judgeProduct(const ParameterSite &site) const;
  ParameterUse judgeElementwise(const ParameterSite &site,
                                WeightOperandRole operandRole) const;
  ParameterUse judgeSingle(const ParameterSite &site,
                           WeightOperandRole operandRole) const;
  ParameterUse judgeUniform(const ParameterSite &site,
                            WeightOperandRole operandRole) const;
  ParameterUse judgeBiasOrScale(const ParameterSite &site, ParameterRole role,
                                double neutral) const;
  ParameterUse judgeState() const;
  ParameterUse judgeTable(const ParameterSite &site) const;
  ParameterUse judgePart() const;
  ParameterUse takeUnlessFixed(ContentUse use, ParameterRole role) const;
  /// Refuses the role of a parameter for a reason that an exporter's statement
  /// outweighs.
  ParameterUse refuse(const llvm::Twine &reason,
                      WeightOperandRole operandRole) const;
  /// The operand, other than the site's, that depends most on the batch.
  mlir::Value getOther(const ParameterSite &site) const;

  const BatchFlow &flow;
  mlir::Operation *constant;
  std::optional<FloatElements> elements;
  std::optional<double> uniform;
  bool isGenerated, isParameter;
};

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_ROLERULES_H
