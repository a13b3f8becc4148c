//===- PolicyFlags.cpp - Flags of a policy --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyFlags.h"

using namespace llvm;

namespace mp {

PolicyFlags::PolicyFlags(cl::OptionCategory &category) {
  for (const PolicyField &field : getPolicyFields()) {
    if (field.flag.empty())
      continue;
    Flag flag;
    flag.field = &field;
    cl::desc help(field.help);
    StringRef name = field.flag;
    cl::value_desc value(field.namesFiles ? "file" : "");
    if (field.text)
      flag.text = std::make_unique<cl::opt<std::string>>(name, help, value,
                                                         cl::cat(category));
    else if (field.list)
      flag.list = std::make_unique<cl::list<std::string>>(name, help, value,
                                                          cl::cat(category));
    else
      flag.isOn =
          std::make_unique<cl::opt<bool>>(name, help, cl::cat(category));
    if (field.hasCommas)
      flag.list->setMiscFlag(cl::CommaSeparated);
    flags.push_back(std::move(flag));
  }
}

bool PolicyFlags::Flag::isGiven() const {
  return text   ? text->getNumOccurrences()
         : list ? list->getNumOccurrences()
                : isOn->getNumOccurrences();
}

bool PolicyFlags::isGiven(StringRef name) const {
  return any_of(flags, [&](const Flag &flag) {
    // A file that holds a policy says itself that precision is mixed.
    bool isAsked = name.empty() ? !flag.text : flag.field->flag == name;
    return isAsked && flag.isGiven();
  });
}

PolicyRequest PolicyFlags::getRequest() const {
  PolicyRequest request;
  for (const Flag &flag : flags) {
    if (flag.text)
      request.*flag.field->text = flag.text->getValue();
    else if (flag.list)
      (request.*flag.field->list).assign(flag.list->begin(), flag.list->end());
    else
      request.*flag.field->isOn = flag.isOn->getValue();
  }
  return request;
}

} // namespace mp
