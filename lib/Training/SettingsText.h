//===- SettingsText.h - Lists of key=value ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows the last colon of a flag: "beta=0.5,weights=1,2,3". A part
// without `=` continues the value before it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_SETTINGSTEXT_H
#define MPOPT_LIB_TRAINING_SETTINGSTEXT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace mp {

struct Setting {
  llvm::StringRef key, value;
};

/// Without the braces around it, where there are some.
llvm::StringRef stripBraces(llvm::StringRef text);

/// True if `text` begins as a list of settings does.
bool startsWithSetting(llvm::StringRef text);
llvm::SmallVector<Setting> splitSettings(llvm::StringRef text);

/// A finite number.
std::optional<double> parseNumber(llvm::StringRef text);
/// Finite numbers with commas between them, or @FILE: text with a number a
/// line, or an .npy. At least one.
llvm::Expected<std::vector<double>> parseNumbers(llvm::StringRef text);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_SETTINGSTEXT_H
