//===- PolicyFile.h - Policies in files -------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects settings from flags, list files, gaudi_config.json and a policy in
// YAML. All sources are equal: one may repeat a setting of another, but not
// contradict it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_POLICYFILE_H
#define MPOPT_PRECISION_POLICY_POLICYFILE_H

#include "mp-opt/Precision/Policy/Policy.h"
#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

/// Reads all files that `request` names, and keeps their texts in it. Errors
/// name file and line.
llvm::Expected<PolicyOptions> loadPolicy(PolicyRequest &request);

/// The names that a policy may have instead of a file.
llvm::ArrayRef<llvm::StringLiteral> getKerasPolicies();

/// Adds a list file: one operator a line, `#` starts a comment.
llvm::Error addListFile(llvm::StringRef text, llvm::StringRef file,
                        OpClass opClass, PolicyOptions &options);
/// Adds the operator lists of optimum-habana's gaudi_config.json.
llvm::Error addGaudiConfig(llvm::StringRef text, llvm::StringRef file,
                           PolicyOptions &options);
/// Adds a YAML policy; examples/policies/policy.yaml shows all of its keys.
llvm::Error addPolicyYAML(llvm::StringRef text, llvm::StringRef file,
                          PolicyOptions &options);
/// Adds the policy in the model's metadata, if one is requested.
llvm::Error addModelPolicy(mlir::ModuleOp module, PolicyOptions &options);

/// Sets the precision; fails if it is already set to another one.
llvm::Error setPrecision(llvm::StringRef precision, llvm::StringRef place,
                         PolicyOptions &options);

/// The origin of the rules that PolicyRequest::denyNames makes.
inline constexpr llvm::StringLiteral denyNamesPlace = "mp-opt bisect";

/// Prints the policy in the form that addPolicyYAML reads, with the origin of
/// each entry as a comment. Without `hasDefaults`, the built-in lists are left
/// out, and a program that reads the policy uses its own.
void printPolicy(const PrecisionPolicy &policy, llvm::raw_ostream &os,
                 bool hasDefaults = true);

/// The text as a scalar of YAML on one line.
std::string quoteYAML(llvm::StringRef text);

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICYFILE_H
