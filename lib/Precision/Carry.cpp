//===- Carry.cpp - What becomes of large elements -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Carry.h"

#include "mp-opt/Precision/Policy.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

Carry getCarry(Operation *node, ElementKind low) {
  StringRef domain = getDomain(node), opType = getOpType(node);
  if (isa<CustomOp>(node))
    return Carry::Drops;
  if (getProfileClass(low, domain, opType) == OpClass::Allow)
    return Carry::Contracts;
  if (!domain.empty())
    return Carry::Drops;
  return llvm::StringSwitch<Carry>(opType)
      .Cases({"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze",
              "Flatten", "DepthToSpace", "SpaceToDepth", "Tile", "Expand",
              "Slice", "Gather", "GatherElements", "GatherND", "Compress",
              "TopK", "MaxPool"},
             Carry::Keeps)
      .Cases({"GlobalMaxPool", "ReverseSequence", "ReduceMax", "ReduceMin",
              "ReduceMean", "ReduceSum", "GlobalAveragePool", "AveragePool",
              "Unique", "Trilu", "CenterCropPad", "Split", "Pad", "Scatter",
              "ScatterElements", "ScatterND"},
             Carry::Keeps)
      .Cases({"Add", "Sum", "Mean", "Sub", "Neg", "Abs", "Where", "Concat",
              "Relu", "LeakyRelu", "PRelu", "Dropout"},
             Carry::Keeps)
      .Cases({"Min", "Max", "Clip"}, Carry::Bounds)
      .Case("Mul", Carry::Scales)
      .Case("Div", Carry::Divides)
      .Default(Carry::Drops);
}

} // namespace mp
