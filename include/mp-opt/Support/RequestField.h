//===- RequestField.h - Members of a request by name ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A request is a struct of values. Its table, Request::getFields(), maps flags
// of mp-opt and options of passes to members. Tools read flags with it, passes
// and pipelines get their options from it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_REQUESTFIELD_H
#define MPOPT_SUPPORT_REQUESTFIELD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace mp {

/// One member of a request. Its default is that of an empty request.
template <typename Request> struct RequestField {
  using List = std::vector<std::string>;

  /// mp-opt's flag without its dashes; empty if it has none of that name.
  llvm::StringRef flag;
  /// The option of passes and pipelines; empty if they have none.
  llvm::StringRef option;
  llvm::StringRef help;
  std::variant<std::string Request::*, List Request::*, bool Request::*,
               int64_t Request::*, double Request::*>
      member;
  /// The placeholder of a text in the help of flags: "FILE".
  llvm::StringRef value = "";
  /// True if the flag takes several values at once: "--allow=Gelu,Erf".
  bool hasCommas = false;
  /// True if values name files that are read.
  bool namesFiles = false;
  /// Names of the flag in other programs; empty for none.
  llvm::StringRef foreignNames[2] = {};
  /// All valid values of a text; empty if they cannot be listed.
  llvm::ArrayRef<llvm::StringRef> choices = {};
};

} // namespace mp

#endif // MPOPT_SUPPORT_REQUESTFIELD_H
