//===- PolicyOptionSet.h - Pass options of a policy -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PRECISION_POLICYOPTIONSET_H
#define MPOPT_PASSES_PRECISION_POLICYOPTIONSET_H

#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "mlir/Pass/PassOptions.h"

#include <memory>

namespace mp {

/// An option of a pass or a pipeline for each of getPolicyFields(). The types
/// are those that the owner has for its options.
template <typename Text, typename Switch, typename List> class PolicyOptionSet {
public:
  template <typename Owner> explicit PolicyOptionSet(Owner &owner) {
    for (const PolicyField &field : getPolicyFields()) {
      llvm::cl::desc help(field.help);
      if (field.text)
        texts.emplace_back(
            &field, std::make_unique<Text>(owner, field.option, help,
                                           llvm::cl::init(std::string())));
      else if (field.list)
        lists.emplace_back(&field,
                           std::make_unique<List>(owner, field.option, help));
      else
        switches.emplace_back(
            &field, std::make_unique<Switch>(owner, field.option, help,
                                             llvm::cl::init(false)));
    }
  }

  PolicyRequest get() const {
    PolicyRequest request;
    for (const auto &[field, option] : texts)
      request.*field->text = option->getValue();
    for (const auto &[field, option] : lists)
      (request.*field->list).assign(option->begin(), option->end());
    for (const auto &[field, option] : switches)
      request.*field->isOn = option->getValue();
    return request;
  }

  /// Sets the options for which the request differs from the default.
  void set(const PolicyRequest &request) {
    for (const auto &[field, option] : texts)
      if (!(request.*field->text).empty())
        *option = request.*field->text;
    for (const auto &[field, option] : lists)
      if (!(request.*field->list).empty())
        *option = llvm::ArrayRef<std::string>(request.*field->list);
    for (const auto &[field, option] : switches)
      if (request.*field->isOn)
        *option = true;
  }

private:
  template <typename Option>
  using Entries =
      std::vector<std::pair<const PolicyField *, std::unique_ptr<Option>>>;
  Entries<Text> texts;
  Entries<List> lists;
  Entries<Switch> switches;
};

} // namespace mp

#endif // MPOPT_PASSES_PRECISION_POLICYOPTIONSET_H
