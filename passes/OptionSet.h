//===- OptionSet.h - Pass options of a request ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_OPTIONSET_H
#define MPOPT_PASSES_OPTIONSET_H

#include "mp-opt/Support/RequestField.h"

#include "mlir/Pass/PassOptions.h"

#include <memory>

namespace mp {

/// An option of a pass or a pipeline for each of Request::getFields() that has
/// one. `Option` and `ListOption` are those of the owner.
template <typename Request, template <typename...> class Option,
          template <typename...> class ListOption>
class OptionSet {
public:
  template <typename Owner> explicit OptionSet(Owner &owner) {
    for (const RequestField<Request> &field : Request::getFields())
      if (!field.option.empty())
        std::visit([&](auto member) { add(owner, field, member); },
                   field.member);
  }

  Request get() const {
    Request request;
    for (const auto &entry : entries)
      entry->get(request);
    return request;
  }

  /// Sets the options for which the request differs from the default.
  void set(const Request &request) {
    for (const auto &entry : entries)
      entry->set(request);
  }

private:
  using Texts = std::vector<std::string>;

  struct Entry {
    virtual ~Entry() = default;
    virtual void get(Request &request) const = 0;
    virtual void set(const Request &request) = 0;
  };

  template <typename Type> struct Value : Entry {
    template <typename Owner>
    Value(Owner &owner, const RequestField<Request> &field,
          Type Request::*member)
        : member(member),
          option(owner, field.option, llvm::cl::desc(field.help),
                 llvm::cl::init(Request().*member)) {}

    void get(Request &request) const override {
      request.*member = option.getValue();
    }
    void set(const Request &request) override {
      if (request.*member != Request().*member)
        option = request.*member;
    }

    Type Request::*member;
    Option<Type> option;
  };

  struct List : Entry {
    template <typename Owner>
    List(Owner &owner, const RequestField<Request> &field,
         Texts Request::*member)
        : member(member),
          option(owner, field.option, llvm::cl::desc(field.help)) {}

    void get(Request &request) const override {
      (request.*member).assign(option.begin(), option.end());
    }
    void set(const Request &request) override {
      if (!(request.*member).empty())
        option = llvm::ArrayRef<std::string>(request.*member);
    }

    Texts Request::*member;
    ListOption<std::string> option;
  };

  template <typename Owner, typename Type>
  void add(Owner &owner, const RequestField<Request> &field,
           Type Request::*member) {
    using Made =
        std::conditional_t<std::is_same_v<Type, Texts>, List, Value<Type>>;
    entries.push_back(std::make_unique<Made>(owner, field, member));
  }

  std::vector<std::unique_ptr<Entry>> entries;
};

} // namespace mp

#endif // MPOPT_PASSES_OPTIONSET_H
