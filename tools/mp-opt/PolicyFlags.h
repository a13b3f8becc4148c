//===- PolicyFlags.h - Flags of a policy ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_POLICYFLAGS_H
#define MPOPT_TOOLS_POLICYFLAGS_H

#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "llvm/Support/CommandLine.h"

#include <memory>

namespace mp {

/// A flag for each of getPolicyFields() that has one.
class PolicyFlags {
public:
  explicit PolicyFlags(llvm::cl::OptionCategory &category);

  /// True if the flag of this name is there; without one, if any is that only
  /// makes sense with mixed precision.
  bool isGiven(llvm::StringRef flag = "") const;
  PolicyRequest getRequest() const;

private:
  struct Flag {
    const PolicyField *field;
    std::unique_ptr<llvm::cl::opt<std::string>> text;
    std::unique_ptr<llvm::cl::list<std::string>> list;
    std::unique_ptr<llvm::cl::opt<bool>> isOn;

    bool isGiven() const;
  };
  std::vector<Flag> flags;
};

} // namespace mp

#endif // MPOPT_TOOLS_POLICYFLAGS_H
