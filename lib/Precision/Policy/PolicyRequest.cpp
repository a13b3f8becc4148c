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

static constexpr RequestField<R> fields[] = {
    {"", "precision",
     "16-bit type: bf16 or fp16; by default what the policy says, else bf16",
     &R::precision},
    {"allow", "allow", "operators that run in 16 bit", &R::allow, "OP,...",
     /*hasCommas=*/true},
    {"deny", "deny", "operators that stay fp32", &R::deny, "OP,...",
     /*hasCommas=*/true},
    {"promote", "promote",
     "operators that run in the widest type of their operands", &R::promote,
     "OP,...", /*hasCommas=*/true},
    {"allow-node", "allow-nodes",
     "regular expressions for whole names of nodes that run in 16 bit",
     &R::allowNodes, "REGEX"},
    {"deny-node", "deny-nodes",
     "regular expressions for whole names of nodes that stay fp32",
     &R::denyNodes, "REGEX"},
    {"allow-file", "allow-files",
     "files with operators that run in 16 bit, one a line", &R::allowFiles,
     "FILE", false, /*namesFiles=*/true},
    {"deny-file", "deny-files", "files with operators that stay fp32",
     &R::denyFiles, "FILE", false, /*namesFiles=*/true},
    {"promote-file", "promote-files",
     "files with operators that run in their widest type", &R::promoteFiles,
     "FILE", false, /*namesFiles=*/true},
    {"gaudi-config", "gaudi-config", "gaudi_config.json with operator lists",
     &R::gaudiConfig, "FILE", false, /*namesFiles=*/true},
    {"policy", "policy", "policy in YAML, or a policy of Keras by its name",
     &R::policy, "FILE", false, /*namesFiles=*/true},
    {"strict", "strict", "make it an error that a wish cannot be granted",
     &R::strict},
};

llvm::ArrayRef<RequestField<R>> R::getFields() { return fields; }

std::vector<std::string> R::getFiles() const {
  std::vector<std::string> files;
  for (const RequestField<R> &field : fields) {
    if (!field.namesFiles)
      continue;
    if (auto *text = std::get_if<std::string R::*>(&field.member))
      files.push_back(this->**text);
    else
      llvm::append_range(
          files, this->*std::get<RequestField<R>::List R::*>(field.member));
  }
  return files;
}

} // namespace mp
