//===- Policy.h - What the user and the field want in 16 bit ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy gives every operator a class: a built-in profile per 16-bit type,
// over it the user's lists of operators. It is a value; it knows nothing of
// graphs. What the user says about nodes is for NodeOverrides.
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

/// A class of the built-in profile, and why an operator has it.
struct ProfileClass {
  OpClass opClass;
  llvm::StringRef reason;
};

/// The class that the built-in profile for `low` (BFloat16 or Float16) gives
/// an operator; absent if it is on no list.
std::optional<ProfileClass> getProfileClass(ElementKind low,
                                            llvm::StringRef domain,
                                            llvm::StringRef opType);

/// The built-in profile as lists, with the domain in front of each name.
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

  /// Fails for an operator on two lists or twice on one. `lists` must stay.
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

  /// Fails with a diagnostic for an unknown precision, an operator on two
  /// lists or twice on one, and an allowed one where nothing may change.
  static mlir::FailureOr<PrecisionPolicy> create(PolicyOptions options,
                                                 EmitErrorFn emitError);

  /// A class and where it comes from.
  struct Verdict {
    OpClass opClass;
    llvm::StringRef reason;
    /// From the built-in lists, or on none.
    bool isBuiltin = false;
    /// The place where the user asked for it; empty if nobody did.
    llvm::StringRef place;
  };

  const PolicyOptions &getOptions() const { return *options; }
  ElementKind getLowKind() const { return lowKind; }
  /// The policy is float32: every node is denied.
  bool changesNothing() const { return isFloat32; }

  /// The class of an operator, by the user's lists or the built-in ones.
  Verdict classifyOp(llvm::StringRef domain, llvm::StringRef opType) const;

  /// Fails if an operator on a list is neither known to `schemas` nor the
  /// type of a custom op in `module`, naming the nearest known one.
  mlir::LogicalResult checkOperators(mlir::ModuleOp module,
                                     const SchemaRegistry &schemas) const;

private:
  mlir::LogicalResult setPrecision(EmitErrorFn emitError);

  /// Where the tables' strings live, at one address for good.
  std::shared_ptr<const PolicyOptions> options;
  ElementKind lowKind = ElementKind::BFloat16;
  bool isFloat32 = false;
  OperatorTable users, defaults;
};

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICY_H
