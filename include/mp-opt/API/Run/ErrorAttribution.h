//===- ErrorAttribution.h - What each rounding does to outputs --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates the error that rounding to 16 bit causes at each node, from one
// forward and one backward pass per probe, and measures the error of any set of
// roundings. Errors are relative root mean squares: of an inference model, the
// root of the mean over its float outputs of |dy|^2 / |y|^2; of a training
// step, |dg| / |g| of all gradients together. Two programs are compiled, each
// once, of the model with markers (Attribution/RoundingSpots.h): one rounds at
// the markers that are switched on, the other has the error terms as output
// (Attribution/SpotPrograms.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_ERRORATTRIBUTION_H
#define MPOPT_API_RUN_ERRORATTRIBUTION_H

#include "mp-opt/API/Run/Session.h"
#include "mp-opt/Attribution/RoundingSpots.h"
#include "mp-opt/Attribution/SpotPrograms.h"

namespace mp {

struct AttributionOptions {
  CompileOptions compile;
  /// Messages refer to the model by this name.
  std::string name;
  /// The number of random probes, over all batches; at least one per batch.
  unsigned probes = 2;
  uint64_t seed = 0;
};

class ErrorAttribution {
public:
  /// `module` is a model, or a training step, whose nodes have classes
  /// (mp-classify) and which has no calls of functions; it must not change
  /// while this is used. `kind` is the 16-bit type. All batches have the same
  /// sizes. Compiles the first program and runs the reference. Fails, naming
  /// the output and the batch, if one is not finite.
  static llvm::Expected<std::unique_ptr<ErrorAttribution>>
  create(mlir::ModuleOp module, ElementKind kind, std::vector<DataSet> batches,
         AttributionOptions options);

  /// Compiles the second program and computes the terms.
  llvm::Error attribute();

  llvm::ArrayRef<RoundingSpot> getSpots() const { return spots.get(); }
  /// The spots that round once mp-assign has decided.
  std::vector<unsigned> findActive() const { return spots.findActive(); }
  bool areGradients() const { return outputs.areGradients; }
  /// The squared error that rounding at a spot causes, to first order, and its
  /// relative deviation between probes.
  double getTerm(const RoundingSpot &spot) const { return terms[spot.marker]; }
  double getSpread() const { return spread; }

  /// The predicted error if the spots with these indices round.
  double predict(llvm::ArrayRef<unsigned> active) const;
  /// The measured error, in one run per batch; infinite if an output is not
  /// finite. Each residual is multiplied by `share`.
  llvm::Expected<double> measure(llvm::ArrayRef<unsigned> active,
                                 float share = 1);

  /// Calls of programs so far, and the seconds that they and compilation took.
  struct Figures {
    unsigned runs = 0, probes = 0;
    double runSeconds = 0, probeSeconds = 0, compileSeconds = 0;
  };
  const Figures &getFigures() const { return figures; }
  size_t getNumBatches() const { return batches.size(); }

private:
  /// The reference outputs of one batch, in float64, and their norms.
  struct Reference {
    std::vector<std::vector<double>> outputs;
    std::vector<double> norms;
  };

  ErrorAttribution(AttributionOptions options) : options(std::move(options)) {}
  llvm::Error prepare(mlir::ModuleOp module);
  llvm::Error bind(Session &session, size_t batch,
                   llvm::ArrayRef<NamedTensor> others);
  llvm::Expected<Session> open(std::unique_ptr<Model> model,
                               llvm::ArrayRef<NamedTensor> others);
  llvm::Error runReference();
  llvm::Expected<std::vector<NamedTensor>> run(size_t batch,
                                               llvm::ArrayRef<float> scales);
  llvm::Expected<std::vector<NamedTensor>> makeProbes(size_t batch,
                                                      uint64_t seed) const;
  llvm::Error addTerms(Model &model);
  llvm::Expected<std::vector<double>> probe(size_t batch, uint64_t seed);
  double getSquaredError(llvm::ArrayRef<NamedTensor> results,
                         const Reference &reference) const;

  AttributionOptions options;
  ElementKind kind = ElementKind::BFloat16;
  std::vector<DataSet> batches;
  RoundingSpots spots;
  MeasuredOutputs outputs;
  /// The model with markers, in standard operators.
  std::unique_ptr<Model> marked;
  std::string scalesName;
  std::vector<std::string> probeNames;
  std::vector<llvm::SmallVector<int64_t>> outputSizes;
  std::optional<Session> rounding, adjoint;
  std::vector<Reference> references;
  std::vector<double> terms;
  double spread = 0;
  Figures figures;
};

} // namespace mp

#endif // MPOPT_API_RUN_ERRORATTRIBUTION_H
