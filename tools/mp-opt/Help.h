//===- Help.h - What --help prints ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The texts are help/*.txt.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_HELP_H
#define MPOPT_TOOLS_HELP_H

#include "llvm/ADT/StringRef.h"

namespace mp::help {
/// The texts of --help, --help=train, --help=code, --help=data and of the
/// commands.
extern const llvm::StringLiteral options, training, code, data, diff, attribute,
    tune, bisect, reduce;
} // namespace mp::help

#endif // MPOPT_TOOLS_HELP_H
