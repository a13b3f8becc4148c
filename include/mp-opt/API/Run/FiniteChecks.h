//===- FiniteChecks.h - Finds nodes with non-finite results -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model that outputs one number for each value that its nodes compute: zero
// if the value is finite. Values therefore live no longer than in the original
// model.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_FINITECHECKS_H
#define MPOPT_API_RUN_FINITECHECKS_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/API/Run/InnerValues.h"

namespace mp {

class FiniteChecks {
public:
  /// Compiles the checks for inputs of these sizes.
  static llvm::Expected<std::unique_ptr<FiniteChecks>>
  create(std::unique_ptr<Model> model, llvm::ArrayRef<NamedTensor> inputs,
         const CompileOptions &options);

  /// Runs one call with this number. Returns the indices, in the model's order,
  /// of values that are not finite. Infinite scores are not reported if a
  /// softmax takes them.
  llvm::Expected<std::vector<unsigned>> run(llvm::ArrayRef<NamedTensor> inputs,
                                            int64_t number);
  const InnerValue &getValue(unsigned place) const { return values[place]; }
  /// The default of an input; an empty tensor if it has none.
  Tensor getDefault(llvm::StringRef input) const;

private:
  FiniteChecks() = default;
  void addChecks(mlir::ModuleOp module);

  /// The order matters: the program needs the model's context.
  std::unique_ptr<Model> model;
  std::unique_ptr<Program> program;
  /// One entry per output of the program.
  std::vector<InnerValue> values;
};

} // namespace mp

#endif // MPOPT_API_RUN_FINITECHECKS_H
