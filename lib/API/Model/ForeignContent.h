//===- ForeignContent.h - Recognizes files that are not models --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_MODEL_FOREIGNCONTENT_H
#define MPOPT_LIB_API_MODEL_FOREIGNCONTENT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mp {

/// Recognizes files that are often mistaken for models by their first bytes,
/// e.g. "a NumPy archive (.npz), which holds tensors and no model". Empty if
/// the file may be a model.
std::string describeForeignContent(llvm::StringRef content);

/// True if the first word may begin MLIR text.
bool beginsLikeMLIR(llvm::StringRef text);

/// "text that begins with 'import torch'".
std::string describeText(llvm::StringRef text);

} // namespace mp

#endif // MPOPT_LIB_API_MODEL_FOREIGNCONTENT_H
