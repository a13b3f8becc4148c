//===- GraphPorts.h - Types of inputs and outputs ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_GRAPHPORTS_H
#define MPOPT_REPORT_GRAPHPORTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace mp {

/// An input or output of the main graph.
struct GraphPort {
  std::string name;
  /// "fp32", "fp16" or "bf16", ONNX's name of another type ("int64"), or the
  /// type in MLIR's form if it is not a tensor; `before` the conversion, too.
  std::string type, before;
};

struct GraphPorts {
  std::vector<GraphPort> inputs, outputs;

  /// The types that the model has, and those that mp-classify has found.
  static GraphPorts read(mlir::ModuleOp module);

  /// Prints inputs or outputs by type if one of them is 16 bit or has changed.
  void print(llvm::raw_ostream &os) const;
  /// Writes the attributes `graph_inputs` and `graph_outputs` of a JSON object.
  void write(llvm::json::OStream &json) const;
};

} // namespace mp

#endif // MPOPT_REPORT_GRAPHPORTS_H
