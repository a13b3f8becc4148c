//===- SizeNames.h - Meaningful names of sizes ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_SIZENAMES_H
#define MPOPT_GRAPH_SIZENAMES_H

#include "llvm/ADT/StringRef.h"

namespace mp {

/// True if all sizes of this name (`dim_param`) are the same size. Exporters
/// also write "?", "-1" and "None" there for any unknown size.
bool isSizeName(llvm::StringRef name);

} // namespace mp

#endif // MPOPT_GRAPH_SIZENAMES_H
