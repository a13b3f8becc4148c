//===- PolicyFile.h - Policies in files -------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects what flags, list files, gaudi_config.json and a policy in YAML say.
// All of them speak with one voice: what one says another may repeat but not
// contradict.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_POLICYFILE_H
#define MPOPT_PRECISION_POLICY_POLICYFILE_H

#include "mp-opt/Precision/Policy/Policy.h"
#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

/// Reads all that `request` names, and keeps the texts in it. Errors name file
/// and line.
llvm::Expected<PolicyOptions> loadPolicy(PolicyRequest &request);

/// The names that a policy may have instead of a file.
llvm::ArrayRef<llvm::StringLiteral> getKerasPolicies();

/// One operator a line, `#` starts a comment.
llvm::Error addListFile(llvm::StringRef text, llvm::StringRef file,
                        OpClass opClass, PolicyOptions &options);
/// The operator lists of optimum-habana's gaudi_config.json.
llvm::Error addGaudiConfig(llvm::StringRef text, llvm::StringRef file,
                           PolicyOptions &options);
/// A policy with every notion; examples/policies/policy.yaml shows them.
llvm::Error addPolicyYAML(llvm::StringRef text, llvm::StringRef file,
                          PolicyOptions &options);
/// The policy that the model holds in its metadata, if one is asked for.
llvm::Error addModelPolicy(mlir::ModuleOp module, PolicyOptions &options);

/// Sets the precision; fails if it is another already.
llvm::Error setPrecision(llvm::StringRef precision, llvm::StringRef place,
                         PolicyOptions &options);

/// Prints the policy in the form that addPolicyYAML reads, with the lists that
/// are built in, and where each entry comes from as a comment.
void printPolicy(const PrecisionPolicy &policy, llvm::raw_ostream &os);

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICYFILE_H
