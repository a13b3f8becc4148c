//===- SpotPrograms.h - Roundings, and their effects, in a graph -*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Let y be the outputs of a graph that matter, z vectors of independent random
// signs, and phi = <z, y>. With a = d phi / d x at a marker with the elements
// x, and with r(x), the elements rounded to 16 bit, the marker's error term is
//
//   E = sum a^2 (r(x) - x)^2,
//
// an estimate of the mean of |dy|^2 if x is rounded, to first order. Terms of
// independent roundings add. E needs one forward and one backward pass for all
// markers.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_ATTRIBUTION_SPOTPROGRAMS_H
#define MPOPT_ATTRIBUTION_SPOTPROGRAMS_H

#include "mp-opt/Schema/Schema.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mp {

/// The outputs whose errors count.
struct MeasuredOutputs {
  std::vector<std::string> names;
  /// True if they are gradients of a training step, whose errors count
  /// together; otherwise each output's error is relative to the output.
  bool areGradients = false;
};

/// Makes the values whose errors count the only outputs: the output `metric`
/// or, if that is empty, the gradients of a training graph, else all outputs
/// that are floats. Erases nodes that only others need. Must be called while
/// the training vocabulary is in place. The result is empty if there is no such
/// output.
MeasuredOutputs keepMeasuredOutputs(mlir::ModuleOp module,
                                    llvm::StringRef metric = "");

// The following functions rewrite copies of one model with markers, in standard
// operators of opset 18 or later. Kinks (lib/Attribution/Kinks.h) are those of
// training graphs.

struct RoundingInputs {
  /// The last input: a vector of float32 with one number per marker.
  std::string scales;
  /// For each kink, true if it is the choice of a pool.
  std::vector<bool> kinks;
};

/// Rounds at each marker i to `kind` by the share s = scales[i]: x becomes
/// x + s (r(x) - x). 0 rounds nothing, and 1 all of it. The source of each
/// kink, the value whose errors cause flips, is one more output.
RoundingInputs addRoundings(mlir::ModuleOp module, unsigned numMarkers,
                            ElementKind kind, bool hasKinks);

struct ErrorInputs {
  /// One input for the z of each output, and of each kink's source, in their
  /// order and of their types.
  std::vector<std::string> probes, kinkProbes;
  /// The deviation of each kink's source, a vector of float32; empty without
  /// kinks.
  std::string deviations;
};

/// Replaces the outputs by vectors of float32: the error term of each marker,
/// and, with kinks, the effect of each kink and its expected number of flips.
/// An element x that is not finite in 16 bit counts as an error of 10^12 x.
/// Fails, with a diagnostic, if a node on a path to an output has no
/// derivative.
mlir::FailureOr<ErrorInputs> addErrorTerms(mlir::ModuleOp module,
                                           unsigned numMarkers,
                                           ElementKind kind, bool hasKinks);

} // namespace mp

#endif // MPOPT_ATTRIBUTION_SPOTPROGRAMS_H
