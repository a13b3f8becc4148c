//===- SensitiveValues.h - Values whose last digits decide ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of digits that a value needs does not follow from its operator,
// but from its readers. The analysis searches backward from readers that turn a
// small relative error into a large absolute one:
//
//  - an angle (Sin, Cos): the error of a phase of 1000 rad is 1000 times as
//    large. fp32 up to and including the product, unless the phase is small;
//  - an integer (Cast to more than 16 bits, or to 8 of values that no deep
//    product has made), a value whose whole part is subtracted, and
//    coordinates (boxes, grids, regions of interest): fp32 elementwise, and
//    including products that are arithmetic on positions;
//  - a choice (ArgMin, ArgMax, TopK, Equal) between results of the first
//    product: fp32 including this product;
//  - a difference that may be near zero and whose logarithm, root, reciprocal
//    or quotient is taken: fp32 operands.
//
// It searches forward from nodes that certainly lose digits:
//
//  - a constant that is added or subtracted, or the mean of a
//    BatchNormalization, which is large compared with the spread that follows
//    from the divisor, the variance or the other operand;
//  - squared distances x^2 - 2xc + c^2, whose terms cancel;
//  - repeated multiplication by factors near one;
//  - in fp16, products of integers of unknown range.
//
// Products of products (Deep) are most of a model's work. If keeping them for
// the readers would cost more than a tenth of it, these products stay 16 bit,
// and the result lists them so that a warning can name them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_SENSITIVEVALUES_H
#define MPOPT_PRECISION_ANALYSIS_SENSITIVEVALUES_H

#include "mp-opt/Precision/Analysis/HazardAnalysis.h"

#include "llvm/ADT/MapVector.h"

namespace mp {

struct SensitiveValues {
  /// The reasons why nodes must stay fp32.
  Hazards hazards;
  /// Products that stay 16 bit because of their cost, in order, with the
  /// reason that would keep them fp32.
  std::vector<std::pair<mlir::Operation *, std::string>> costly;
  /// Inputs of the main graph whose last digits decide results, each with its
  /// first reason.
  llvm::MapVector<mlir::BlockArgument, std::string> inputs;
};

/// Searches all scopes of the module in their present form.
SensitiveValues findSensitiveValues(mlir::ModuleOp module,
                                    RangeAnalysis &ranges, ElementKind low);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_SENSITIVEVALUES_H
