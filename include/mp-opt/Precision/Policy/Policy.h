//===- Policy.h - Classes of operators --------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy gives every operator a class: a built-in profile per 16-bit type,
// overridden by the user's lists of operators. It is a value and does not
// depend on a graph. NodeOverrides handles the user's rules for nodes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_POLICY_H
#define MPOPT_PRECISION_POLICY_POLICY_H

#include "mp-opt/Precision/Policy/PolicyOptions.h"
#include "mp-opt/Schema/Schema.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace mp {

/// A class of the built-in profile, and the reason for it.
struct ProfileClass {
  OpClass opClass;
  llvm::StringRef reason;
};

/// The class that the built-in profile for `low` (BFloat16 or Float16) gives
/// an operator; absent if it is on no list.
std::optional<ProfileClass> getProfileClass(ElementKind low,
                                            llvm::StringRef domain,
                                            llvm::StringRef opType);

/// The built-in profile as lists, with the domain before each name.
OperatorLists getProfileLists(ElementKind low);

/// Operators by name, each with the entry of a list that claims it.
class OperatorTable {
public:
  struct Claim {
    OpClass opClass;
    /// The place of the entry, and its text if that is not the operator.
    llvm::StringRef place, alias;
  };
  using EmitErrorFn = llvm::function_ref<mlir::InFlightDiagnostic()>;

  /// Fails if an operator is on two lists or twice on one. `lists` must outlive
  /// the table.
  mlir::LogicalResult add(const OperatorLists &lists, EmitErrorFn emitError);
  const Claim *lookup(llvm::StringRef domain, llvm::StringRef opType) const;

private:
  mlir::LogicalResult addName(const PolicyEntry &entry, OpClass opClass,
                              llvm::StringRef name, EmitErrorFn emitError);
  mlir::LogicalResult addShared(const PolicyEntry &entry, OpClass opClass,
                                llvm::ArrayRef<const char *> names,
                                EmitErrorFn emitError);

  llvm::StringMap<Claim> claims;
};

class PrecisionPolicy {
public:
  using EmitErrorFn = OperatorTable::EmitErrorFn;

  /// Fails with a diagnostic for an unknown precision, for an operator on two
  /// lists or twice on one, and for an allowed operator if the policy is
  /// float32.
  static mlir::FailureOr<PrecisionPolicy> create(PolicyOptions options,
                                                 EmitErrorFn emitError);

  /// A class and its origin.
  struct Verdict {
    OpClass opClass;
    llvm::StringRef reason;
    /// True if it comes from the built-in lists, or if the operator is on no
    /// list.
    bool isBuiltin = false;
    /// The place where the user asked for it; empty if there is none.
    llvm::StringRef place;
  };

  const PolicyOptions &getOptions() const { return *options; }
  ElementKind getLowKind() const { return lowKind; }
  /// True if the policy is float32, which denies every node.
  bool changesNothing() const { return isFloat32; }

  /// The class of an operator from the user's lists or the built-in ones.
  Verdict classifyOp(llvm::StringRef domain, llvm::StringRef opType) const;

  /// Fails if an operator on a list is neither known to `schemas` nor the type
  /// of a custom op in `module`; the error names the nearest known one.
  mlir::LogicalResult checkOperators(mlir::ModuleOp module,
                                     const SchemaRegistry &schemas) const;

private:
  mlir::LogicalResult setPrecision(EmitErrorFn emitError);

  /// The owner of the tables' strings, whose addresses never change.
  std::shared_ptr<const PolicyOptions> options;
  ElementKind lowKind = ElementKind::BFloat16;
  bool isFloat32 = false;
  OperatorTable users, defaults;
};

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICY_H
