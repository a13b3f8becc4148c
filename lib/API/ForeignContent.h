//===- ForeignContent.h - Files that are no models --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_FOREIGNCONTENT_H
#define MPOPT_LIB_API_FOREIGNCONTENT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mp {

/// What a file is that is often taken for a model, by its first bytes: "a NumPy
/// archive (.npz), which holds tensors and no model". Empty if it may be one.
std::string describeForeignContent(llvm::StringRef content);

/// Whether text could be MLIR, by its first word.
bool beginsLikeMLIR(llvm::StringRef text);

/// "text that begins with 'import torch'".
std::string describeText(llvm::StringRef text);

} // namespace mp

#endif // MPOPT_LIB_API_FOREIGNCONTENT_H
