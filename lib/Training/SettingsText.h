//===- SettingsText.h - Lists of key=value ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses the text after the last colon of a flag: "beta=0.5,weights=1,2,3". A
// part without `=` continues the value before it.
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

/// The text without surrounding braces.
llvm::StringRef stripBraces(llvm::StringRef text);

/// True if `text` begins with a setting.
bool startsWithSetting(llvm::StringRef text);
llvm::SmallVector<Setting> splitSettings(llvm::StringRef text);

/// Reads a finite number.
std::optional<double> parseNumber(llvm::StringRef text);
/// Reads finite numbers separated by commas, or @FILE: text with a number a
/// line, or an .npy. There must be at least one.
llvm::Expected<std::vector<double>> parseNumbers(llvm::StringRef text);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_SETTINGSTEXT_H
