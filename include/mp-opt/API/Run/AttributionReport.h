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
#include "mp-opt/API/Run/ErrorSearch.h"

#include "llvm/Support/JSON.h"

namespace mp {

/// The error of a node that rounds alone.
struct NodeEffect {
  mlir::Operation *op = nullptr;
  /// "node 'fc' (MatMul-13)", and the parts of it.
  std::string node, name, type;
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
  /// The prediction without flips at kinks.
  double firstOrder = 0;
  /// The part of roundings that --excess-precision drops: of results of
  /// products that only fp32 nodes read. And their number.
  double excess = 0;
  unsigned excessRoundings = 0;
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
  /// Marks the nodes and the module (ErrorMarks.h), for reports. `target` is
  /// the error to stay within, if there is one.
  void mark(mlir::ModuleOp module, std::optional<double> target) const;
};

/// Reads the batches of a model or a training step.
using BatchSource =
    std::function<llvm::Expected<std::vector<DataSet>>(mlir::ModuleOp)>;

/// Attributes the error of a conversion, in callbacks of ConversionOptions. It
/// must live as long as the conversion.
class Attributor {
public:
  struct Request {
    BatchSource readBatches;
    AttributionOptions options;
    /// The number of nodes whose errors are measured alone, too, those with the
    /// greatest shares first.
    uint64_t measured = 0;
    /// The error to stay within; absent for the assignment that moves the
    /// fewest bytes.
    std::optional<double> target = {};
    /// Measure the time of the model as it is, to compare with.
    bool measuresTime = false;
    /// Measure the error of the conversion, mark its nodes, and print a note.
    bool announces = false;
  };

  explicit Attributor(Request request) : request(std::move(request)) {}

  /// Sets the callbacks.
  void addTo(ConversionOptions &conversion);
  /// Frees the programs, which need the context of the model. The callback
  /// after the decision does so, too.
  void release() { errors.reset(); }

  const AttributionReport &getReport() const { return report; }
  /// The result of the search, if there is a target.
  const std::optional<FoundPrecision> &getFound() const { return found; }
  /// True if fp32 itself is further off float64 than the target: the callbacks
  /// have failed for that.
  bool isMissed() const { return missed; }

private:
  llvm::Error prepare(mlir::ModuleOp module,
                      const MixedPrecisionRequest &mixed);
  llvm::Error evaluate(mlir::ModuleOp module);
  llvm::Error search(mlir::ModuleOp module, const MixedPrecisionRequest &mixed);
  llvm::Error checkFirstOrder();
  llvm::Error addNodes();
  void addExcess();
  void announce(mlir::ModuleOp module) const;

  Request request;
  std::unique_ptr<ErrorAttribution> errors;
  std::optional<FoundPrecision> found;
  std::vector<unsigned> active;
  AttributionReport report;
  bool missed = false;
};

/// The error of a model in fp32 against float64, and the output that has it.
struct OwnError {
  double error = 0;
  std::string output;
};

/// Measures the error on a batch, if a target is so small that it may exceed
/// it; otherwise, and for training steps, it is 0.
llvm::Expected<OwnError> measureOwnError(mlir::ModuleOp module,
                                         const DataSet &batch,
                                         const AttributionOptions &options,
                                         double target);
/// The error for a target that fp32 misses.
llvm::Error refuseTarget(double target, const OwnError &own);

/// Prints a number; JSON has no infinity, which becomes null.
void printNumber(llvm::json::OStream &json, llvm::StringRef name, double value);

} // namespace mp

#endif // MPOPT_API_RUN_ATTRIBUTIONREPORT_H
