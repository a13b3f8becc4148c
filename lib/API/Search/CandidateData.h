//===- CandidateData.h - Data of a model that gets smaller ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_SEARCH_CANDIDATEDATA_H
#define MPOPT_LIB_API_SEARCH_CANDIDATEDATA_H

#include "mp-opt/API/Model/Model.h"

namespace mp {

/// Tensors by the names of values of the model that is reduced.
class CandidateData {
public:
  explicit CandidateData(DataSet data);
  /// Fails unless all of `data` fit the inputs of `model`.
  static llvm::Error check(Model &model, const DataSet &data);

  /// Tensors for all inputs of `model` without a default: known ones, their
  /// first elements if sizes have become smaller, and random numbers. Fails if
  /// they do not fit.
  llvm::Expected<std::vector<NamedTensor>> bind(Model &model) const;

  /// Runs a model, which is consumed, with tensors for its inputs. Outputs are
  /// the tensors of all values that the main graph computes.
  static llvm::Expected<std::vector<NamedTensor>>
  run(std::unique_ptr<Model> model, llvm::ArrayRef<NamedTensor> inputs,
      bool exposesValues);
  /// Replaces the known tensors.
  void set(llvm::ArrayRef<NamedTensor> inputs,
           llvm::ArrayRef<NamedTensor> values);

private:
  llvm::StringMap<Tensor> known;
  /// Inputs by position, for data without names.
  std::vector<NamedTensor> unnamed;
};

} // namespace mp

#endif // MPOPT_LIB_API_SEARCH_CANDIDATEDATA_H
