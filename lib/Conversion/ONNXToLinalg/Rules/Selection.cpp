//===- Selection.cpp - Results whose size the data tells
//-------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

ArrayRef<LoweringRule> getSelectionLowerings() { return {}; }

} // namespace mp
