//===- ONNXOps.cpp - The dialect's own ops: graphs, initializers ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "mp-opt/Dialect/ONNX/ONNXOps.cpp.inc"

namespace mp::onnxir {

/// Block arguments print under the names that the graph's yield holds.
static void nameBlockArguments(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  for (BlockArgument argument : region.front().getArguments())
    if (std::string name = getPrintableName(argument); !name.empty())
      setName(argument, name);
}

void GraphOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  nameBlockArguments(region, setName);
}

void FunctionOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  nameBlockArguments(region, setName);
}

void TrainingOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  nameBlockArguments(region, setName);
}

void InitializerOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (std::string name = getPrintableName(getResult()); !name.empty())
    setName(getResult(), name);
}

void AbsentOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "absent");
}

void OuterOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (std::string name = getPrintableName(getResult()); !name.empty())
    setName(getResult(), name);
}

void CustomOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  for (OpResult result : (*this)->getResults())
    if (std::string name = getPrintableName(result); !name.empty())
      setName(result, name);
}

} // namespace mp::onnxir
