//===- MarkedModel.h - A model with roundings and probes --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of an attribution, each compiled once: one rounds at markers,
// one computes error terms (Attribution/SpotPrograms.h), one does neither.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_RUN_MARKEDMODEL_H
#define MPOPT_LIB_API_RUN_MARKEDMODEL_H

#include "mp-opt/API/Run/ErrorAttribution.h"

namespace mp {

class MarkedModel {
public:
  using Tensors = std::vector<NamedTensor>;

  /// Marks a copy of the module, and compiles the program that rounds.
  static llvm::Expected<std::unique_ptr<MarkedModel>>
  create(mlir::ModuleOp module, ElementKind kind, std::vector<DataSet> batches,
         AttributionOptions options);

  const RoundingSpots &getSpots() const { return spots; }
  const MeasuredOutputs &getOutputs() const { return outputs; }
  size_t getNumBatches() const { return batches.size(); }
  /// For each kink, true if it is the choice of a pool.
  const std::vector<bool> &getKinks() const { return roundingInputs.kinks; }
  const AttributionOptions &getOptions() const { return options; }
  ErrorAttribution::Figures &getFigures() { return figures; }

  /// The measured outputs, then the sources of kinks, with roundings by these
  /// scales, one for each marker.
  llvm::Expected<Tensors> round(size_t batch, llvm::ArrayRef<float> scales);

  /// Makes the program with error terms, and returns the inputs that `probe`
  /// needs. `makeProbes` gives inputs of the right sizes, to compile for.
  llvm::Error
  openAdjoint(llvm::function_ref<llvm::Expected<Tensors>(const ErrorInputs &)>
                  makeProbes);
  const ErrorInputs &getErrorInputs() const { return errorInputs; }
  /// Error terms, effects of kinks, flips.
  llvm::Expected<std::vector<std::vector<double>>>
  probe(size_t batch, llvm::ArrayRef<NamedTensor> probes);

  /// Halves the loss scale of a step in fp16, which begins with that of the
  /// model. False if it has none, or if it is one already.
  bool halveLossScale();

  /// Adds the time of a run per batch of the model as it is to the figures.
  llvm::Error measureTime();

private:
  MarkedModel(ElementKind kind, std::vector<DataSet> batches,
              AttributionOptions options)
      : kind(kind), batches(std::move(batches)), options(std::move(options)) {}
  llvm::Error prepare(mlir::ModuleOp module);
  llvm::Error openRounding();
  llvm::Error addTerms(Model &model);
  llvm::Expected<Session> open(std::unique_ptr<Model> model,
                               llvm::ArrayRef<NamedTensor> others);
  llvm::Error bind(Session &session, size_t batch,
                   llvm::ArrayRef<NamedTensor> others);

  const ElementKind kind;
  const std::vector<DataSet> batches;
  const AttributionOptions options;
  RoundingSpots spots;
  MeasuredOutputs outputs;
  /// The model with markers, in standard operators.
  std::unique_ptr<Model> marked;
  RoundingInputs roundingInputs;
  ErrorInputs errorInputs;
  std::optional<Session> rounding, adjoint;
  /// The input with the loss scale; empty without one, and its present value.
  std::string lossScaleName;
  Tensor lossScale;
  ErrorAttribution::Figures figures;
};

/// A vector of float32.
llvm::Expected<Tensor> makeVector(llvm::ArrayRef<float> elements);

} // namespace mp

#endif // MPOPT_LIB_API_RUN_MARKEDMODEL_H
