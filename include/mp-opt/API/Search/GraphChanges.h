//===- GraphChanges.h - Changes that make a model smaller -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function lists the changes of one kind that a model admits, or applies
// some of them. A change is named by texts of the model, so that it can be
// applied to another copy of the same model. All of them concern the main
// graph; nodes in bodies of control flow stay or go with their node.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SEARCH_GRAPHCHANGES_H
#define MPOPT_API_SEARCH_GRAPHCHANGES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mp {

using Changes = std::vector<std::string>;
using ChangeRange = llvm::ArrayRef<std::string>;

/// The nodes by the name of their first result, in order.
Changes listNodes(mlir::ModuleOp module);
/// Removes nodes. Values that other nodes read become inputs, and values that
/// nobody reads any more become outputs. False if no output is left or a new
/// input or output is not a tensor.
bool removeNodes(mlir::ModuleOp module, ChangeRange names);

/// The outputs by name; each can be dropped.
Changes listOutputs(mlir::ModuleOp module);
/// False if no output is left.
bool dropOutputs(mlir::ModuleOp module, ChangeRange names);

/// The nodes with an operand of the type of their only result that is read.
Changes listBypasses(mlir::ModuleOp module);
/// Lets readers of a node's result read that operand.
bool bypassNodes(mlir::ModuleOp module, ChangeRange names);

/// The content of float initializers.
enum class Filling { Zeros, Ones, Rounded };
/// The float initializers that `filling` would change. Big ones are not
/// rounded.
Changes listFillings(mlir::ModuleOp module, Filling filling);
bool fillInitializers(mlir::ModuleOp module, ChangeRange names,
                      Filling filling);

/// Sizes that can be made smaller: "name:batch" for symbolic ones, "size:768"
/// for each other size of an input or initializer, greatest first, and
/// "input:x:0" for one axis of an input.
Changes listSizes(mlir::ModuleOp module);
/// Sets all axes of these sizes to `size`: those of inputs, of initializers,
/// which keep their first elements, and numbers in small integer constants,
/// which are lists of sizes. Types are forgotten: import infers them again and
/// refuses contradictions.
bool setSizes(mlir::ModuleOp module, ChangeRange sizes, int64_t size);

/// "result/attribute" for each attribute of a node.
Changes listAttributes(mlir::ModuleOp module);
/// Removes attributes, so that their defaults hold; import refuses a model that
/// needs them.
bool removeAttributes(mlir::ModuleOp module, ChangeRange attributes);

/// Kinds of metadata that the model has.
Changes listMetadata(mlir::ModuleOp module);
bool dropMetadata(mlir::ModuleOp module, ChangeRange kinds);

/// "node" and "value" if short names would differ from the present ones.
Changes listNames(mlir::ModuleOp module);
/// Gives short names to nodes or to inner values.
bool shortenNames(mlir::ModuleOp module, ChangeRange kinds);

/// Removes nodes, inputs, initializers and functions that no output needs, and
/// descriptions of inner values.
void removeUnused(mlir::ModuleOp module);

/// The numbers of a model for messages.
struct GraphSize {
  size_t nodes = 0, inputs = 0, outputs = 0;
  /// Elements of initializers.
  uint64_t elements = 0;

  explicit GraphSize(mlir::ModuleOp module);
  /// "12 nodes, 2 inputs, 1 output, 40 weights".
  std::string describe() const;
};

} // namespace mp

#endif // MPOPT_API_SEARCH_GRAPHCHANGES_H
