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

  /// image: N x C x sizes, weight: F x C/groups x kernel, bias: F or null;
  /// N x F x counts.
  TensorValue forward(TensorValue image, TensorValue weight, TensorValue bias);
  /// grad: N x F x counts, weight: F x C/groups x kernel, bias: C or null;
  /// N x C x image. Also what a transposed convolution is.
  TensorValue backwardData(TensorValue grad, TensorValue weight,
                           TensorValue bias);
  /// grad: N x F x counts, image: N x C x sizes; F x C/groups x kernel.
  TensorValue backwardWeights(TensorValue grad, TensorValue image);

private:
  unsigned getRank() const { return windows.size(); }
  /// Splits axis `axis` into groups and what is in each.
  TensorValue split(TensorValue tensor, unsigned axis);
  TensorValue merge(TensorValue tensor, unsigned axis);
  /// The image with its pads, where these are computed or loops cannot read
  /// beyond it.
  TensorValue materializePads(TensorValue image);
  /// At stride 1 and for known sizes (FlattenedConvolutions.cpp): `image` is
  /// one, or for the gradient of one that of the result, split into groups like
  /// `weight`. Null where this does not suit.
  TensorValue flattened(TensorValue image, TensorValue weight,
                        const ContractionEnd &end, bool isGradient);
  TensorValue backwardDataByPhases(TensorValue grad, TensorValue weight,
                                   TensorValue bias);
  TensorValue backwardDataDilated(TensorValue grad, TensorValue weight,
                                  TensorValue bias);
  TensorValue backwardDataAtStrideOne(TensorValue grad, TensorValue weight,
                                      TensorValue bias);
};

/// Reads what a Conv of `image` and `weight` is, and checks that they fit.
mlir::FailureOr<ConvolutionEmitter>
readConvolution(NodeLowering &node, TensorValue image, TensorValue weight);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_CONVOLUTIONS_H
