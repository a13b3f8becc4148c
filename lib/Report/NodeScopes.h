//===- NodeScopes.h - Where in a model's modules nodes stand ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scope is the path of the modules that a node comes from, its parts joined
// by '/'. torch's newer exporter leaves it in the node's metadata
// (`pkg.torch.onnx.name_scopes`, or `namespace`), its older one and others in
// the name, between '/'. Nodes that passes have made are named after the node
// or the value that they are made for (`<name>_grad/Mul`, `<name>/Cast`), and
// have the scope of that.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_NODESCOPES_H
#define MPOPT_LIB_REPORT_NODESCOPES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace mp {

/// The path that the exporter has left in the metadata of a node; absent if it
/// has left none.
std::optional<std::string> getScopeFromMetadata(mlir::Operation *node);

/// Dots to parts: "encoder.layers.0.norm" is "encoder/layers.0/norm".
std::string getScopeOfDotted(llvm::StringRef name);

class NodeScopes {
public:
  /// The scope of a node called `name` (its own name, or that of a result).
  /// Nodes come in the order of the graph.
  std::string add(mlir::Operation *node, llvm::StringRef name);

private:
  /// That of the node or value that `name` is made of; absent if it is of
  /// none that is known.
  std::optional<std::string> findOrigin(llvm::StringRef name) const;

  /// By names of nodes and of values that have scopes by metadata.
  llvm::StringMap<std::string> known;
};

} // namespace mp

#endif // MPOPT_LIB_REPORT_NODESCOPES_H
