//===- WireFormat.h - Big tensors in and out of protobuf data ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are never copied for inspection. On import, the raw_data of every big
// tensor is cut out of the mapped file before protobuf parses it and replaced
// by a token. On export, tokens are expanded while the file is written. A token
// is an empty raw_data plus a reserved field that holds the index of the data.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_WIREFORMAT_H
#define MPOPT_LIB_TARGET_ONNX_WIREFORMAT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace mp {

/// A model's bytes with its big tensors cut out.
struct StrippedModel {
  std::string bytes;
  /// Slices of the original bytes; tokens are indices here.
  std::vector<llvm::StringRef> pieces;
};

/// Cuts raw_data of at least `threshold` bytes out of a ModelProto. Malformed
/// bytes are passed on unchanged, and the parser refuses them.
StrippedModel stripTensors(llvm::StringRef model, uint64_t threshold);

/// The token in a parsed tensor, if it has one.
std::optional<uint64_t> getToken(const ::onnx::TensorProto &tensor);
void setToken(::onnx::TensorProto &tensor, uint64_t index);
void clearToken(::onnx::TensorProto &tensor);

/// Calls `found` for the location of every external tensor in the bytes of a
/// ModelProto, as slices of `model`. Bytes that are not a model have no
/// locations.
void findExternalLocations(llvm::StringRef model,
                           llvm::function_ref<void(llvm::StringRef)> found);

/// Writes the ModelProto `stripped` with expanded tokens: `emit` receives
/// bytes, `emitPiece` the index of a piece whose data must be written there,
/// and `pieceSize` returns its size in bytes.
void expandTensors(llvm::StringRef stripped,
                   llvm::function_ref<uint64_t(uint64_t)> pieceSize,
                   llvm::function_ref<void(llvm::StringRef)> emit,
                   llvm::function_ref<void(uint64_t)> emitPiece);

/// The bytes of a ModelProto: `model`, which has no graph, with a graph of the
/// fields `nodes` and `rest` inserted at its position in protobuf's order.
std::string addGraph(llvm::StringRef model, llvm::StringRef nodes,
                     llvm::StringRef rest);

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_WIREFORMAT_H
