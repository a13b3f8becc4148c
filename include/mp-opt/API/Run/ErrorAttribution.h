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

#include <cmath>

namespace mp {

struct AttributionOptions {
  CompileOptions compile;
  /// Messages refer to the model by this name.
  std::string name;
  /// The number of random probes, over all batches; at least one per batch.
  unsigned probes = 2;
  /// The name of the one output, a scalar, whose error counts; empty for all
  /// outputs, or the gradients.
  std::string metric = {};
};

class MarkedModel;

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

  /// Compiles the second program and computes the terms. Effects of kinks
  /// refer to the errors that these spots cause together. A loss scale with
  /// which these spots overflow is halved first, as a scaler would do it.
  llvm::Error attribute(llvm::ArrayRef<unsigned> active);

  ~ErrorAttribution();

  llvm::ArrayRef<RoundingSpot> getSpots() const;
  /// The spots that round once mp-assign has decided.
  std::vector<unsigned> findActive() const;
  bool areGradients() const;

  /// The estimate for a spot: its squared error to first order, and its share
  /// of the variance at kinks. With a share b, kinks add `error` * sqrt(b).
  struct Term {
    double error = 0, kinkShare = 0;
  };
  Term getTerm(const RoundingSpot &spot) const { return terms[spot.marker]; }
  /// The squared error that flips at kinks cause, and their expected number in
  /// all batches. Predictions have no part for fewer than three: with more than
  /// 5 % none happens, and their mean is not a typical value.
  struct KinkEffect {
    double error = 0, flips = 0;
    bool counts() const { return flips >= 3; }
  };
  const KinkEffect &getKinks() const { return kinks; }
  /// The relative deviation of the squared error between probes.
  double getSpread() const { return spread; }

  /// The predicted error if the spots with these indices round.
  double predict(llvm::ArrayRef<unsigned> active) const;
  /// The same without flips at kinks.
  double predictFirstOrder(llvm::ArrayRef<unsigned> active) const {
    return std::sqrt(sum(active).error);
  }
  /// The part of these spots in to the squared error of all.
  double getContribution(llvm::ArrayRef<unsigned> some) const;
  /// The measured error, in one run per batch; infinite if an output is not
  /// finite. Each residual is multiplied by `share`.
  llvm::Expected<double> measure(llvm::ArrayRef<unsigned> active,
                                 float share = 1);

  /// Compiles the model as it is, and adds the time of a run per batch to the
  /// figures.
  llvm::Error measureTime();

  /// Calls of programs so far, and the seconds that they and compilation took.
  struct Figures {
    unsigned runs = 0, probes = 0;
    double runSeconds = 0, probeSeconds = 0, compileSeconds = 0;
    /// The time of a run per batch in fp32; 0 if it was not measured.
    double plainSeconds = 0;
  };
  const Figures &getFigures() const;
  size_t getNumBatches() const;

private:
  /// The reference outputs of one batch, in float64, and their squared norms.
  struct Reference {
    std::vector<std::vector<double>> outputs;
    std::vector<double> norms;
    std::vector<Tensor> kinks;
  };
  using Tensors = std::vector<NamedTensor>;

  explicit ErrorAttribution(std::unique_ptr<MarkedModel> model);
  llvm::Error runReference();
  std::vector<float> getScales(llvm::ArrayRef<unsigned> active,
                               float share) const;
  double getSquaredError(llvm::ArrayRef<NamedTensor> results,
                         const Reference &reference) const;

  Term sum(llvm::ArrayRef<unsigned> some) const;
  llvm::Error settleLossScale(llvm::ArrayRef<unsigned> active);
  llvm::Error measureKinks(llvm::ArrayRef<unsigned> active);
  llvm::Expected<Tensors> makeProbes(size_t batch, uint64_t seed,
                                     llvm::ArrayRef<double> kinkWeights) const;
  /// The outputs of the second program: error terms, effects of kinks, flips.
  using Found = std::vector<std::vector<double>>;
  llvm::Expected<Found> probe(size_t batch, uint64_t seed,
                              llvm::ArrayRef<double> kinkWeights);
  llvm::Error probeOutputs();
  llvm::Error probeKinks(llvm::ArrayRef<unsigned> active);

  std::unique_ptr<MarkedModel> model;
  std::vector<llvm::SmallVector<int64_t>> outputSizes;
  std::vector<Reference> references;
  std::vector<Term> terms;
  /// For each kink: the deviation of its source, and its squared effect.
  std::vector<float> deviations;
  std::vector<double> kinkErrors;
  KinkEffect kinks;
  double spread = 0;
};

} // namespace mp

#endif // MPOPT_API_RUN_ERRORATTRIBUTION_H
