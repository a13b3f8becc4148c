//===- Adapters.h - Upgrades of single nodes --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An adapter changes a node from one version of its op to the next if the
// comparison of their schemas does not suffice. There is one entry per step,
// and an upgrade takes the steps one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRAPH_OPSET_ADAPTERS_H
#define MPOPT_LIB_GRAPH_OPSET_ADAPTERS_H

#include "NodeEditor.h"

namespace mp {

struct OpsetAdapter {
  llvm::StringLiteral opType;
  /// The version of the op that it brings a node to.
  int version;
  /// The reason why it cannot do so for a node, which may still be at an
  /// earlier version; empty if it can.
  std::string (*getObstacle)(mlir::Operation *node, int opset);
  void (*apply)(NodeEditor &editor);
  /// The op that the node becomes, at the same version or an earlier one;
  /// empty if it stays.
  llvm::StringLiteral becomes = "";
};

/// The adapter of the default domain's `opType` to `version`, or null.
const OpsetAdapter *findAdapter(llvm::StringRef opType, int version);

/// The families of adapters.
llvm::ArrayRef<OpsetAdapter> getInputAdapters();
llvm::ArrayRef<OpsetAdapter> getNormalizationAdapters();
llvm::ArrayRef<OpsetAdapter> getResizeAdapters();
llvm::ArrayRef<OpsetAdapter> getScanAdapters();

} // namespace mp

#endif // MPOPT_LIB_GRAPH_OPSET_ADAPTERS_H
