//===- ContractToLoops.cpp - Kernels for contractions ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/ContractToLoops.h"
#include "Contract/Blocked.h"
#include "Convolution/Depthwise/Depthwise.h"
#include "Convolution/Winograd/Winograd.h"
#include "mp-opt/Codegen/CPU/Strategy.h"

using namespace mlir;

namespace mp::kernel {

LogicalResult lowerContract(ContractOp op) {
  if (failed(verifyStrategy(op)))
    return failure();
  LoopBuilder e(op.getLoc(), op);
  switch (op.getConfig()->getStrategy()) {
  case Strategy::Blocked:
    emitBlocked(e, op);
    break;
  case Strategy::Depthwise:
    emitDepthwise(e, op);
    break;
  case Strategy::Winograd:
    emitWinograd(e, op);
    break;
  case Strategy::WinogradWeights:
    emitWinogradWeights(e, op);
    break;
  }
  op.erase();
  return success();
}

} // namespace mp::kernel
