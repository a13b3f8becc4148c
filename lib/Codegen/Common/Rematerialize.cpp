//===- Rematerialize.cpp - Values that are computed again -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/Rematerialize.h"

using namespace mlir;

namespace mp {

void rematerialize(OpBuilder &b, IRMapping &mapping, Value value,
                   function_ref<Value(Value)> findArgument) {
  SmallVector<std::pair<Value, bool>> worklist{{value, false}};
  while (!worklist.empty()) {
    auto [next, isReady] = worklist.pop_back_val();
    if (mapping.contains(next))
      continue;
    if (isReady) {
      b.clone(*next.getDefiningOp(), mapping);
      continue;
    }
    if (Value argument = findArgument(next)) {
      mapping.map(next, argument);
      continue;
    }
    worklist.emplace_back(next, true);
    for (Value operand : llvm::reverse(next.getDefiningOp()->getOperands()))
      worklist.emplace_back(operand, false);
  }
}

} // namespace mp
