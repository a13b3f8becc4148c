//===- ModuleScopes.h - The modules that nodes come from --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters store the path of the module that made a node: torch's newer one in
// the metadata `pkg.torch.onnx.name_scopes`, its older one, and those of Keras,
// in the node's name.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_MODULESCOPES_H
#define MPOPT_LIB_TRAINING_ROLES_MODULESCOPES_H

#include "mlir/IR/Operation.h"

#include <string>

namespace mp {

/// For example "encoder.layer.0.norm"; empty if the node's module is unknown.
std::string getModuleScope(mlir::Operation *node);

/// The scope without the numbers that torch's older exporter appends to a
/// module that is called again: "encoder.layer_1" is "encoder.layer".
std::string withoutCallNumbers(llvm::StringRef scope);

/// True if one of torch's exporters has written the model that holds `op`.
bool isTorchExport(mlir::Operation *op);

/// True for names that exporters make up for constants of expressions
/// ("onnx::Mul_12", "/attn/Constant_output_0", "val_3"), false for names that
/// the model's author gave to a parameter or buffer.
bool isGeneratedName(llvm::StringRef name);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_MODULESCOPES_H
