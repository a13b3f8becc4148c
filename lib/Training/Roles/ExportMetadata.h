//===- ExportMetadata.h - Metadata of torch's exporter ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch's newer exporter stores with each node the call that it was made for,
// as in `%y : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor]
// (args = (%x, %p_bias), kwargs = {})`, and with values whether they are
// parameters or buffers.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_ROLES_EXPORTMETADATA_H
#define MPOPT_LIB_TRAINING_ROLES_EXPORTMETADATA_H

#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "llvm/ADT/StringMap.h"

namespace mp {

/// Keys of the metadata of values: PARAMETER, BUFFER ...; BUFFER_MUTATION ...
inline constexpr llvm::StringLiteral inputKindKey =
    "pkg.torch.export.graph_signature.InputSpec.kind";
inline constexpr llvm::StringLiteral outputKindKey =
    "pkg.torch.export.graph_signature.OutputSpec.kind";
/// The key under which calls have a parameter's name.
inline constexpr llvm::StringLiteral originalNameKey =
    "pkg.torch.onnx.original_node_name";

/// The call; absent if another exporter was used.
std::optional<llvm::StringRef> getFxNode(mlir::Operation *node);

/// The argument at `index`, or of that name; absent if there is none.
std::optional<llvm::StringRef>
getFxArgument(llvm::StringRef call, unsigned index, llvm::StringRef name);

/// Names of the values that a call takes, without `%`.
llvm::SmallVector<llvm::StringRef> getFxOperands(llvm::StringRef call);

/// Buffers that the model updates, by the name of their next value: from the
/// signature of torch's newer exporter, or from `mp-opt.next_buffers` of the
/// model, a JSON object of names. Fails with an error if the object is
/// malformed, names a value that no node computes, or a value that does not fit
/// its buffer.
mlir::FailureOr<llvm::StringMap<std::string>>
findNextBuffers(onnxir::GraphOp graph);

/// True if `next` may be the next value of `buffer`, by their types.
bool mayHold(mlir::Value buffer, mlir::Value next);

/// Metadata of the values of a graph.
class ValueMetadata {
public:
  explicit ValueMetadata(onnxir::GraphOp graph);

  std::optional<llvm::StringRef> get(llvm::StringRef value,
                                     llvm::StringRef key) const;

private:
  llvm::StringMap<mlir::ArrayAttr> properties;
};

} // namespace mp

#endif // MPOPT_LIB_TRAINING_ROLES_EXPORTMETADATA_H
