//===- FiniteChecks.h - Which node yields what is not finite ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model whose outputs are one number for each value that its nodes compute:
// zero where that is finite. So no value lives longer than in the model itself.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_FINITECHECKS_H
#define MPOPT_API_FINITECHECKS_H

#include "mp-opt/API/InnerValues.h"
#include "mp-opt/API/Model.h"

namespace mp {

class FiniteChecks {
public:
  /// Compiles them for inputs of these sizes.
  static llvm::Expected<std::unique_ptr<FiniteChecks>>
  create(std::unique_ptr<Model> model, llvm::ArrayRef<NamedTensor> inputs,
         const CompileOptions &options);

  /// One call, of this number: by their places in the model's order, the values
  /// that are not finite. Infinite scores are none of them where a softmax
  /// takes these.
  llvm::Expected<std::vector<unsigned>> run(llvm::ArrayRef<NamedTensor> inputs,
                                            int64_t number);
  const InnerValue &getValue(unsigned place) const { return values[place]; }
  /// The default of an input; an empty tensor if it has none.
  Tensor getDefault(llvm::StringRef input) const;

private:
  FiniteChecks() = default;
  void addChecks(mlir::ModuleOp module);

  /// In this order: the program needs the model's context.
  std::unique_ptr<Model> model;
  std::unique_ptr<Program> program;
  /// One for each output of the program.
  std::vector<InnerValue> values;
};

} // namespace mp

#endif // MPOPT_API_FINITECHECKS_H
