//===- AttributionReport.h - The errors of a model by its nodes -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_ATTRIBUTIONREPORT_H
#define MPOPT_API_RUN_ATTRIBUTIONREPORT_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/API/Model/ModelConversion.h"
#include "mp-opt/API/Run/ErrorAttribution.h"

#include "llvm/Support/JSON.h"

namespace mp {

/// The error of a node that rounds alone.
struct NodeEffect {
  /// "node 'fc' (MatMul-13)", and the parts of it.
  std::string node, name, op;
  double predicted = 0;
  /// Absent if it was not run.
  std::optional<double> measured = {};
  /// The part of the predicted squared error of all nodes together.
  double share = 0;
};

struct AttributionReport {
  std::string precision;
  bool areGradients = false;
  size_t batches = 0;
  /// Nodes of the main graph.
  unsigned nodesTotal = 0;
  /// The error of the conversion.
  double predicted = 0, measured = 0;
  /// The relative deviation of the squared prediction between probes.
  double spread = 0;
  /// The measured error over that of residuals of a quarter: 4 where the first
  /// order holds.
  double curvature = 0;
  ErrorAttribution::KinkEffect kinks;
  /// Reasons not to rely on the prediction.
  std::vector<std::string> doubts;
  /// The greatest share first.
  std::vector<NodeEffect> nodes;
  ErrorAttribution::Figures figures;

  /// Prints totals, doubts and the nodes with the greatest shares.
  void print(llvm::raw_ostream &os, size_t limit) const;
  void printJSON(llvm::raw_ostream &os) const;
};

/// Attributes the error that a conversion of the model would cause. The error
/// of each of the first `measured` nodes is measured, too, in a run per batch.
/// The model is left as it is in the middle of the conversion.
llvm::Expected<AttributionReport>
attributeErrors(Model &model, ConversionOptions conversion,
                llvm::ArrayRef<std::string> dims, std::vector<DataSet> batches,
                AttributionOptions options, uint64_t measured);

/// Prints a number; JSON has no infinity, which becomes null.
void printNumber(llvm::json::OStream &json, llvm::StringRef name, double value);

} // namespace mp

#endif // MPOPT_API_RUN_ATTRIBUTIONREPORT_H
