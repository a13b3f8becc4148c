//===- ReferenceComparison.h - Models against one in float64 ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_REFERENCECOMPARISON_H
#define MPOPT_API_REFERENCECOMPARISON_H

#include "mp-opt/API/InnerValues.h"
#include "mp-opt/API/OutputDifferences.h"
#include "mp-opt/API/Roundings.h"
#include "mp-opt/API/Session.h"

namespace mp {

/// One of the models that are compared, and what comes out.
struct ComparedModel {
  /// Reads or makes the model, each time it is needed.
  using LoadFn = std::function<llvm::Expected<std::unique_ptr<Model>>()>;

  ComparedModel(std::string title, LoadFn load, bool isReference = false)
      : title(std::move(title)), load(std::move(load)),
        isReference(isReference) {}

  /// What a user knows it by.
  std::string title;
  LoadFn load;
  /// It is the reference, as it is before its floats are widened.
  bool isReference;

  std::vector<NamedTensor> outputs;
  /// Of the outputs, from those of the reference.
  std::vector<OutputDifference> differences;
  /// Those that add most to the errors of their operands, the worst first.
  std::vector<NodeError> nodes;
  /// The first one, in the graph's order, whose error is far from what rounding
  /// explains.
  std::optional<NodeError> unexplained;

  /// Of its last run: what its nodes compute, and the values of those that were
  /// asked for.
  std::vector<InnerValue> values;
  llvm::StringMap<Tensor> inner;
  /// Where it rounds to 16 bit, and how often on the way to each output.
  std::vector<Rounding> roundings;
  llvm::StringMap<RoundingDepth> depths;
};

struct ReferenceComparisonOptions {
  CompileOptions compile;
  /// What each element may differ by, or the relative root mean square error
  /// of each output. Without either, outputs have the bounds that rounding
  /// gives them.
  std::optional<Tolerance> tolerance;
  std::optional<double> relative;
  /// How many nodes are to be found, by a second run; none if 0.
  uint64_t nodes = 5;
  /// How inputs are found; the random numbers are the same for all models.
  BindingOptions binding;
};

/// Runs models on the same data, and one of them, the reference, with every
/// float as float64.
class ReferenceComparison {
public:
  /// `data` are for the reference as it is before its floats are widened.
  ReferenceComparison(ReferenceComparisonOptions options,
                      ComparedModel reference, DataSet data);
  void add(ComparedModel model) { models.push_back(std::move(model)); }

  /// Fails if a model cannot be loaded, compiled or run, or models have inputs
  /// or outputs of other names.
  llvm::Error run();

  /// In the order of `add`.
  llvm::ArrayRef<ComparedModel> getModels() const { return models; }
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;

private:
  llvm::Error readInputs();
  llvm::Expected<Session> open(std::unique_ptr<Model> model,
                               const DataSet &from, DeviceKind device);
  llvm::Error compute(ComparedModel &compared, bool isWide,
                      const llvm::StringSet<> &exposed);
  llvm::Error compareOutputs(ComparedModel &model);
  llvm::StringSet<> getCommonValues(const ComparedModel &model) const;
  llvm::Error rankNodes(ComparedModel &model, const llvm::StringSet<> &common);
  llvm::Error setBounds(ComparedModel &model, const llvm::StringSet<> &exposed);
  llvm::Expected<llvm::StringMap<double>>
  measureRounding(const ComparedModel &model, const llvm::StringSet<> &exposed);
  llvm::Expected<Session> openOnGrids(const ComparedModel &model,
                                      const llvm::StringSet<> &exposed,
                                      unsigned &numScales);

  ReferenceComparisonOptions options;
  /// What all get, by name.
  DataSet inputs;
  ComparedModel reference;
  std::vector<ComparedModel> models;
};

} // namespace mp

#endif // MPOPT_API_REFERENCECOMPARISON_H
