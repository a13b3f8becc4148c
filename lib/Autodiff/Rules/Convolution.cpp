//===- Convolution.cpp - Gradients of convolutions ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"
#include "../WindowGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Attributes of the gradient. Pads are explicit if they are known, because
/// runtimes do not compute other pads there.
static SmallVector<NamedAttribute> getGradAttributes(NodeAdjoint &op,
                                                     const Windows &windows) {
  Operation *node = op.getNode();
  auto attributes = getAttributes(op.b, windows, op.getInt("group"));
  bool hasPads = llvm::any_of(attributes, [](NamedAttribute entry) {
    return entry.getName() == "pads";
  });
  SmallVector<Size> kernel = llvm::map_to_vector(
      windows, [](const WindowAxis &axis) { return axis.kernel; });
  if (auto known = getKnown(kernel))
    attributes.push_back(op.b.attr("kernel_shape", *known));
  for (StringRef name : {"auto_pad", "output_shape", "output_padding"})
    if (Attribute value = node->getAttr(name))
      if (!hasPads || name == "output_padding")
        attributes.emplace_back(op.b.getBuilder().getStringAttr(name), value);
  return attributes;
}

static LogicalResult convolve(NodeAdjoint &op, bool isTransposed) {
  Convolution convolution{op.getNode(), op.grad(), op.in(0), op.in(1),
                          isTransposed};
  auto windows = readConvolution(op.b, convolution);
  if (!windows)
    return op.fail("expected operands of known rank, and attributes that fit");
  std::array<bool, 3> wanted{op.wants(0), op.wants(1), op.wants(2)};
  if (getTensorElementType(op.in(0).getType()).isBF16()) {
    auto found = getConvGradients(op.b, convolution, *windows, wanted);
    for (unsigned index : {0, 1, 2})
      op.set(index, found[index]);
    return success();
  }
  SmallVector<Type> types;
  for (unsigned index : {0, 1, 2})
    types.push_back(wanted[index] ? op.in(index).getType()
                                  : op.b.getBuilder().getNoneType());
  while (isa<NoneType>(types.back()))
    types.pop_back();
  Operation *made = op.b.createNode(
      isTransposed ? "com.microsoft.ConvTransposeGrad"
                   : "com.microsoft.ConvGrad",
      {op.grad(), op.in(0), op.in(1)}, types, getGradAttributes(op, *windows));
  for (unsigned index = 0; index < types.size(); ++index)
    op.set(index, made->getResult(index));
  return success();
}

static LogicalResult convRule(NodeAdjoint &op) {
  return convolve(op, /*isTransposed=*/false);
}

static LogicalResult convTransposeRule(NodeAdjoint &op) {
  return convolve(op, /*isTransposed=*/true);
}

static constexpr GradientRule convolutionGradients[] = {
    {"Conv", convRule}, {"ConvTranspose", convTransposeRule}};

ArrayRef<GradientRule> getConvolutionGradients() {
  return convolutionGradients;
}

} // namespace mp
