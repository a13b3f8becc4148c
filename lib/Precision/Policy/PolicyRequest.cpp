//===- PolicyRequest.cpp - Flags of a policy ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "llvm/ADT/STLExtras.h"

namespace mp {

using R = PolicyRequest;

static constexpr PolicyField fields[] = {
    {"", "precision",
     "16-bit type: bf16 or fp16; by default what the policy says, else bf16",
     &R::precision},
    {"allow", "allow", "operators that run in 16 bit", nullptr, &R::allow,
     nullptr, /*hasCommas=*/true},
    {"deny", "deny", "operators that stay fp32", nullptr, &R::deny, nullptr,
     /*hasCommas=*/true},
    {"promote", "promote",
     "operators that run in the widest type of their operands", nullptr,
     &R::promote, nullptr, /*hasCommas=*/true},
    {"allow-node", "allow-nodes",
     "regular expressions for whole names of nodes that run in 16 bit", nullptr,
     &R::allowNodes},
    {"deny-node", "deny-nodes",
     "regular expressions for whole names of nodes that stay fp32", nullptr,
     &R::denyNodes},
    {"allow-file", "allow-files",
     "files with operators that run in 16 bit, one a line", nullptr,
     &R::allowFiles, nullptr, false, /*namesFiles=*/true},
    {"deny-file", "deny-files", "files with operators that stay fp32", nullptr,
     &R::denyFiles, nullptr, false, /*namesFiles=*/true},
    {"promote-file", "promote-files",
     "files with operators that run in their widest type", nullptr,
     &R::promoteFiles, nullptr, false, /*namesFiles=*/true},
    {"gaudi-config", "gaudi-config", "gaudi_config.json with operator lists",
     &R::gaudiConfig, nullptr, nullptr, false, /*namesFiles=*/true},
    {"policy", "policy", "policy in YAML, or a policy of Keras by its name",
     &R::policy, nullptr, nullptr, false, /*namesFiles=*/true},
    {"strict", "strict", "make it an error that a wish cannot be granted",
     nullptr, nullptr, &R::strict},
};

llvm::ArrayRef<PolicyField> getPolicyFields() { return fields; }

std::vector<std::string> PolicyRequest::getFiles() const {
  std::vector<std::string> files;
  for (const PolicyField &field : fields) {
    if (field.namesFiles && field.text)
      files.push_back(this->*field.text);
    if (field.namesFiles && field.list)
      llvm::append_range(files, this->*field.list);
  }
  return files;
}

} // namespace mp
