//===- PolicyRequest.h - Flags of a policy ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_POLICYREQUEST_H
#define MPOPT_PRECISION_POLICY_POLICYREQUEST_H

#include "mp-opt/Support/RequestField.h"

#include <map>

namespace mp {

/// The values of flags and pass options; files are still names.
struct PolicyRequest {
  /// "bf16", "fp16", or empty to use the files' setting.
  std::string precision;
  std::vector<std::string> allow, deny, promote;
  std::vector<std::string> allowFiles, denyFiles, promoteFiles;
  std::vector<std::string> allowNodes, denyNodes;
  /// Names of nodes that stay fp32, which have no flag: a search gives them
  /// (API/Search/Bisection.h).
  std::vector<std::string> denyNames;
  /// "TYPE" and "PATTERN=TYPE" of graph inputs and outputs (InterfaceTypes.h).
  std::vector<std::string> io;
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

  static llvm::ArrayRef<RequestField<PolicyRequest>> getFields();
};

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICYREQUEST_H
