//===- Convolutions.h - Convolutions and their gradients --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All are contractions (kernel.contract): reads beyond the image are zeros, so
// pads take no memory. The gradient of the image at a stride s is one
// contraction for each remainder of positions by s.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_CONVOLUTIONS_H
#define MPOPT_LIB_CONVERSION_CONVOLUTIONS_H

#include "SlidingWindows.h"

namespace mp {

struct ContractionEnd;

struct ConvolutionEmitter {
  Emitter &e;
  SlidingWindows windows;
  int64_t groups = 1;
  mlir::Type element;

  /// image: N x C x sizes, weight: F x C/groups x kernel, bias: F or null.
  /// Returns N x F x counts.
  TensorValue forward(TensorValue image, TensorValue weight, TensorValue bias);
  /// grad: N x F x counts, weight: F x C/groups x kernel, bias: C or null.
  /// Returns N x C x image. A transposed convolution computes the same.
  TensorValue backwardData(TensorValue grad, TensorValue weight,
                           TensorValue bias);
  /// grad: N x F x counts, image: N x C x sizes. Returns F x C/groups x kernel.
  TensorValue backwardWeights(TensorValue grad, TensorValue image);

private:
  unsigned getRank() const { return windows.size(); }
  /// Splits axis `axis` into the groups and the axis within a group.
  TensorValue split(TensorValue tensor, unsigned axis);
  TensorValue merge(TensorValue tensor, unsigned axis);
  /// Adds the pads to the image, if they are computed or loops cannot read
  /// beyond the image.
  TensorValue materializePads(TensorValue image);
  /// The form for stride 1 and known sizes (FlattenedConvolutions.cpp). `image`
  /// is an image, or for the gradient of an image that of the result; it is
  /// split into groups like `weight`. Null if this form does not apply.
  TensorValue flattened(TensorValue image, TensorValue weight,
                        const ContractionEnd &end, bool isGradient);
  TensorValue backwardDataByPhases(TensorValue grad, TensorValue weight,
                                   TensorValue bias);
  TensorValue backwardDataDilated(TensorValue grad, TensorValue weight,
                                  TensorValue bias);
  TensorValue backwardDataAtStrideOne(TensorValue grad, TensorValue weight,
                                      TensorValue bias);
};

/// Reads the attributes of a Conv of `image` and `weight`, and checks that they
/// fit.
mlir::FailureOr<ConvolutionEmitter>
readConvolution(NodeLowering &node, TensorValue image, TensorValue weight);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_CONVOLUTIONS_H
