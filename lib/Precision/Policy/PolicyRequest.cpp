//===- PolicyRequest.cpp - Flags of a policy ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "llvm/ADT/STLExtras.h"

namespace mp {

static constexpr RequestField<PolicyRequest> policyFields[] = {
    {"", "precision",
     "16-bit type: bf16 or fp16; by default what the policy says, else bf16",
     &PolicyRequest::precision},
    {"allow", "allow", "operators that run in 16 bit", &PolicyRequest::allow,
     "OP,...",
     /*hasCommas=*/true},
    {"deny", "deny", "operators that stay fp32", &PolicyRequest::deny, "OP,...",
     /*hasCommas=*/true},
    {"promote", "promote",
     "operators that run in the widest type of their operands",
     &PolicyRequest::promote, "OP,...", /*hasCommas=*/true},
    {"allow-node", "allow-nodes",
     "regular expressions for whole names of nodes that run in 16 bit",
     &PolicyRequest::allowNodes, "REGEX"},
    {"deny-node", "deny-nodes",
     "regular expressions for whole names of nodes that stay fp32",
     &PolicyRequest::denyNodes, "REGEX"},
    {"", "deny-names", "names of nodes that stay fp32",
     &PolicyRequest::denyNames},
    {"allow-file", "allow-files",
     "files with operators that run in 16 bit, one a line",
     &PolicyRequest::allowFiles, "FILE", false, /*namesFiles=*/true},
    {"deny-file", "deny-files", "files with operators that stay fp32",
     &PolicyRequest::denyFiles, "FILE", false, /*namesFiles=*/true},
    {"promote-file", "promote-files",
     "files with operators that run in their widest type",
     &PolicyRequest::promoteFiles, "FILE", false, /*namesFiles=*/true},
    {"gaudi-config", "gaudi-config", "gaudi_config.json with operator lists",
     &PolicyRequest::gaudiConfig, "FILE", false, /*namesFiles=*/true},
    {"policy", "policy", "policy in YAML, or a policy of Keras by its name",
     &PolicyRequest::policy, "FILE", false, /*namesFiles=*/true},
    {"io", "io", "types of graph inputs and outputs, all or by name",
     &PolicyRequest::io, "TYPE|REGEX=TYPE,..."},
    {"strict", "strict", "make it an error that a wish cannot be granted",
     &PolicyRequest::strict},
};

llvm::ArrayRef<RequestField<PolicyRequest>> PolicyRequest::getFields() {
  return policyFields;
}

std::vector<std::string> PolicyRequest::getFiles() const {
  std::vector<std::string> files;
  for (const RequestField<PolicyRequest> &field : policyFields) {
    if (!field.namesFiles)
      continue;
    if (auto *text = std::get_if<std::string PolicyRequest::*>(&field.member))
      files.push_back(this->**text);
    else
      llvm::append_range(
          files,
          this->*std::get<RequestField<PolicyRequest>::List PolicyRequest::*>(
                     field.member));
  }
  return files;
}

} // namespace mp
