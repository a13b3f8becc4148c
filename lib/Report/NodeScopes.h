//===- NodeScopes.h - Module paths of nodes ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scope is the path of the modules that a node comes from, joined by '/'.
// torch's newer exporter stores it in the node's metadata
// (`pkg.torch.onnx.name_scopes`, or `namespace`), its older one and others in
// the name. Nodes that passes have made are named after the node or the value
// that they are made for (`<name>_grad/Mul`, `<name>/Cast`), and have its
// scope.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_NODESCOPES_H
#define MPOPT_LIB_REPORT_NODESCOPES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace mp {

/// The path in the exporter's metadata of a node; absent if there is none.
std::optional<std::string> getScopeFromMetadata(mlir::Operation *node);

/// Converts a dotted name: "encoder.layers.0.norm" is "encoder/layers.0/norm".
std::string getScopeOfDotted(llvm::StringRef name);

class NodeScopes {
public:
  /// The scope of a node called `name` (its own name, or that of a result).
  /// Nodes come in the order of the graph.
  std::string add(mlir::Operation *node, llvm::StringRef name);

private:
  /// The scope of the node or value from which `name` is derived; absent if
  /// none is known.
  std::optional<std::string> findOrigin(llvm::StringRef name) const;

  /// Scopes from metadata, by the names of nodes and values.
  llvm::StringMap<std::string> known;
};

} // namespace mp

#endif // MPOPT_LIB_REPORT_NODESCOPES_H
