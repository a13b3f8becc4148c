//===- YAMLBounds.h - Checks of YAML before it is parsed --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_SUPPORT_YAMLBOUNDS_H
#define MPOPT_LIB_SUPPORT_YAMLBOUNDS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mp {

/// Fails if the text has lists or maps in brackets with empty entries or more
/// than `maxDepth` levels, or anything else for which LLVM's parser would call
/// itself more than 100 times. `file` is the name in messages.
llvm::Error checkYAMLBounds(llvm::StringRef text, llvm::StringRef file,
                            unsigned maxDepth);

} // namespace mp

#endif // MPOPT_LIB_SUPPORT_YAMLBOUNDS_H
