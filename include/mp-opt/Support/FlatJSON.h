//===- FlatJSON.h - JSON with bounds ----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's JSON parser recurses for each level, and keeps the last of several
// values of a key. JSON that was not written by this process must be read with
// these functions (or with those of ConfigFile.h, for trees with line numbers).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_FLATJSON_H
#define MPOPT_SUPPORT_FLATJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mp {

/// Parses JSON of at most `maxDepth` levels. No object may have a key twice.
llvm::Expected<llvm::json::Value> parseFlatJSON(llvm::StringRef text,
                                                unsigned maxDepth);

} // namespace mp

#endif // MPOPT_SUPPORT_FLATJSON_H
