//===- PolicyRequest.h - Flags of a policy ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table maps flags of mp-opt and options of passes to members of a request.
// Tools read flags with it, passes and pipelines get their options from it, and
// it prints pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_POLICYREQUEST_H
#define MPOPT_PRECISION_POLICY_POLICYREQUEST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace mp {

/// The values of flags and pass options; files are still names.
struct PolicyRequest {
  /// "bf16", "fp16", or empty to use the files' setting.
  std::string precision;
  std::vector<std::string> allow, deny, promote;
  std::vector<std::string> allowFiles, denyFiles, promoteFiles;
  std::vector<std::string> allowNodes, denyNodes;
  /// Names of files; empty for none.
  std::string gaudiConfig;
  /// A file, or a policy of Keras by its name.
  std::string policy;
  bool strict = false;
  /// Texts of files that have been read, by their names: a file is read once,
  /// as it may be a pipe.
  std::map<std::string, std::string> texts;

  /// The names of all files. Names that are not files, e.g. a policy of Keras,
  /// may be among them.
  std::vector<std::string> getFiles() const;
};

/// One member of a request: a text, a list or a switch.
struct PolicyField {
  /// mp-opt's flag without its dashes; empty if it has none of that name.
  llvm::StringLiteral flag;
  /// The option of mp-set-policy and of mp-mixed-precision.
  llvm::StringLiteral option;
  llvm::StringLiteral help;
  std::string PolicyRequest::*text = nullptr;
  std::vector<std::string> PolicyRequest::*list = nullptr;
  bool PolicyRequest::*isOn = nullptr;
  /// True if the flag takes several values at once: "--allow=Gelu,Erf".
  bool hasCommas = false;
  /// True if values name files that are read.
  bool namesFiles = false;
};

llvm::ArrayRef<PolicyField> getPolicyFields();

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICYREQUEST_H
