//===- Comparer.h - Models against one of them in float64 -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_COMPARER_H
#define MPOPT_TOOLS_COMPARER_H

#include "Model.h"

#include "mp-opt/API/InnerValues.h"
#include "mp-opt/API/OutputDifferences.h"

namespace mp {

/// One of the models that are compared.
struct Candidate {
  /// Reads or makes the model, each time it is needed; returns an exit code.
  using LoadFn = std::function<int(std::unique_ptr<Model> &model)>;

  /// What a user knows it by.
  std::string title;
  LoadFn load;

  /// What comes out.
  std::vector<OutputDifference> differences;
  std::vector<NodeError> nodes;
  std::vector<NamedTensor> outputs;

  std::vector<InnerValue> values;
  llvm::StringMap<Tensor> inner;
};

/// Runs models on the same data, and a reference in float64.
class Comparer {
public:
  struct Options {
    CompileOptions compile;
    Tolerance tolerance;
    /// How many nodes are to be found, by a second run; none if 0.
    uint64_t nodes = 5;
  };

  /// `reference` is the model that becomes float64; its inputs get `data`.
  Comparer(Options options, Candidate reference, DataSet data,
           DataFlags dataFlags);
  void add(Candidate candidate) { candidates.push_back(std::move(candidate)); }

  /// Returns an exit code; errors have been printed.
  int run();

  llvm::ArrayRef<Candidate> getCandidates() const { return candidates; }
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;

private:
  int readInputs();
  int compute(Candidate &candidate, bool isWide,
              const llvm::StringSet<> &exposed);
  int computeInner();

  Options options;
  /// What all get, by name.
  DataSet inputs;
  DataFlags dataFlags;
  Candidate reference;
  std::vector<Candidate> candidates;
};

} // namespace mp

#endif // MPOPT_TOOLS_COMPARER_H
