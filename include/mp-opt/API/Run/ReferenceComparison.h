//===- ReferenceComparison.h - Models against one in float64 ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_REFERENCECOMPARISON_H
#define MPOPT_API_RUN_REFERENCECOMPARISON_H

#include "mp-opt/API/Run/DiscreteValues.h"
#include "mp-opt/API/Run/InnerValues.h"
#include "mp-opt/API/Run/OutputDifferences.h"
#include "mp-opt/API/Run/Roundings.h"
#include "mp-opt/API/Run/Session.h"

namespace mp {

/// One of the compared models, with its results.
struct ComparedModel {
  /// Reads or makes the model.
  using LoadFn = std::function<llvm::Expected<std::unique_ptr<Model>>()>;

  ComparedModel(std::string title, LoadFn load, bool isReference = false)
      : title(std::move(title)), load(std::move(load)),
        isReference(isReference) {}

  /// The name by which users know it.
  std::string title;
  LoadFn load;
  /// True for the reference before its floats are widened.
  bool isReference;

  std::vector<NamedTensor> outputs;
  /// Differences of the outputs from those of the reference.
  std::vector<OutputDifference> differences;
  /// Nodes that add most to the outputs' errors, the worst first.
  std::vector<NodeError> nodes;
  /// The first node, in the graph's order, whose error is far from the error
  /// that rounding explains.
  std::optional<NodeError> unexplained;
  /// The first value, in the graph's order, that has other integers than the
  /// reference in its own types.
  std::optional<DiscreteDifference> discrete;

  /// The values that its nodes compute, and those that are exposed as outputs.
  std::vector<InnerValue> values;
  std::vector<DiscreteValue> discretes;
  llvm::StringMap<Tensor> inner;
  /// The roundings to 16 bit, and their number on the path to each output.
  std::vector<Rounding> roundings;
  llvm::StringMap<RoundingDepth> depths;
  /// The model after loading and before compilation.
  std::unique_ptr<Model> model;
};

struct ReferenceComparisonOptions {
  CompileOptions compile;
  /// The tolerance of each element, or the relative root mean square error of
  /// each output. Without either, outputs have the bounds that rounding
  /// explains.
  std::optional<Tolerance> tolerance;
  std::optional<double> relative;
  /// The number of nodes to report; 0 for none.
  uint64_t nodes = 5;
  /// Options for binding inputs. Random numbers are the same for all models.
  BindingOptions binding;
};

/// Runs models on the same data, and one of them, the reference, with every
/// float as float64. Each program is compiled once:
///  - every model, with the requested values as outputs;
///  - the reference in its own types, with the same values, and with switches
///    that round the values that a model rounds (Roundings.h). It gives the
///    integers of the reference (DiscreteValues.h), the bounds, and the errors
///    that nodes add;
///  - the reference in float64.
class ReferenceComparison {
public:
  /// `data` are for the reference as it is before its floats are widened.
  ReferenceComparison(ReferenceComparisonOptions options,
                      ComparedModel reference, DataSet data);
  /// At most one model may be other than the reference.
  void add(ComparedModel model) { models.push_back(std::move(model)); }

  /// Fails if the data have no rows, a model cannot be loaded, compiled or run,
  /// or models have inputs or outputs of other names.
  llvm::Error run();

  /// Ordered as the calls of `add`.
  llvm::ArrayRef<ComparedModel> getModels() const { return models; }
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;

private:
  /// The reference in its own types, once with nothing rounded on grids.
  struct OwnRun {
    std::optional<Session> session;
    unsigned numScales = 0;
    std::vector<NamedTensor> outputs;
    llvm::StringMap<Tensor> inner;
  };

  unsigned countPrograms() const;
  mlir::LogicalResult filter(mlir::Diagnostic &message);
  llvm::Error readInputs();
  llvm::Error prepare(ComparedModel &compared);
  llvm::Error prepareAll();
  void expose(Model &model, const ComparedModel &compared);
  llvm::Expected<Session> open(std::unique_ptr<Model> model,
                               const DataSet &from, DeviceKind device);
  llvm::Error runOwn();
  llvm::Error runWide();
  llvm::Error runModel(ComparedModel &model);
  DeviceKind getOwnDevice() const;

  llvm::Error runAll();
  llvm::Error compareOutputs(ComparedModel &model);
  llvm::Error compareToOwn(ComparedModel &model);
  llvm::Error judge(ComparedModel &model);

  llvm::Expected<std::vector<NamedTensor>>
  runOnGrids(llvm::ArrayRef<float> scales);
  llvm::Expected<llvm::StringMap<double>> measureRounding();
  llvm::StringMap<double> measureFloats() const;
  llvm::Error setBounds(ComparedModel &model);
  llvm::Error rankNodes(ComparedModel &model);
  llvm::Error measureNode(NodeError &node, const ComparedModel &model);

  ReferenceComparisonOptions options;
  /// The data of all models, by name.
  DataSet inputs;
  ComparedModel reference;
  std::vector<ComparedModel> models;
  /// Outputs of the models, without those that are exposed.
  size_t numOutputs = 0;
  /// The number of outputs exposed in the last model.
  unsigned numWatched = 0;
  /// The names of the values that are outputs of all programs.
  llvm::StringSet<> exposed;
  /// Outputs that do not depend on any data.
  llvm::StringSet<> constants;
  OwnRun own;
  /// Programs that have been opened, and warnings that have been passed on.
  unsigned numOpened = 0;
  llvm::StringSet<> warned;
};

} // namespace mp

#endif // MPOPT_API_RUN_REFERENCECOMPARISON_H
