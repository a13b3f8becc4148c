//===- Tensor.h - Tensors as data -------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs and outputs of compiled models, and contents of data files: row-major
// elements with an element kind and sizes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_TENSOR_H
#define MPOPT_DATA_TENSOR_H

#include "mp-opt/Schema/Schema.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// Bytes of one element in memory; Bool has one. 0 for kinds that have no
/// fixed size or share bytes (strings, 4-bit integers).
unsigned getElementBytes(ElementKind kind);

/// The product of sizes times `elementBytes`; absent if a size is negative or
/// the product does not fit into int64.
std::optional<int64_t> getByteCount(llvm::ArrayRef<int64_t> sizes,
                                    int64_t elementBytes);

/// Copies of a tensor share its bytes.
class Tensor {
public:
  Tensor() = default;
  /// Allocates zeros at an address that is a multiple of 64. Fails if the sizes
  /// are negative, overflow or do not fit into memory.
  static llvm::Expected<Tensor> create(ElementKind kind,
                                       llvm::ArrayRef<int64_t> sizes);
  /// Bytes that someone else owns, through `owner`.
  Tensor(ElementKind kind, llvm::ArrayRef<int64_t> sizes, void *data,
         std::shared_ptr<void> owner);

  ElementKind getKind() const { return kind; }
  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }
  int64_t getRank() const { return sizes.size(); }
  int64_t getNumElements() const;
  size_t getNumBytes() const {
    return getNumElements() * getElementBytes(kind);
  }

  void *getData() const { return data; }
  template <typename T> llvm::MutableArrayRef<T> get() const {
    return {static_cast<T *>(data), static_cast<size_t>(getNumElements())};
  }

  /// Makes a copy with its own bytes.
  llvm::Expected<Tensor> clone() const;
  /// Returns the tensor itself if its bytes were allocated by `create` and are
  /// not shared, else a copy.
  static llvm::Expected<Tensor> makeOwn(Tensor tensor);
  /// Converts elements of any kind to float64. A complex element becomes two
  /// numbers, the real part first.
  std::vector<double> toDoubles() const;

private:
  ElementKind kind = ElementKind::Undefined;
  llvm::SmallVector<int64_t, 4> sizes;
  void *data = nullptr;
  std::shared_ptr<void> owner;
};

/// True if no element of a float tensor is a NaN or infinite. Tensors other
/// than floats of 16 to 64 bits are finite.
bool isFinite(const Tensor &tensor);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Returns `float[2,3]`, as in ONNX's text form; negative sizes are printed as
/// `?`.
std::string describeType(ElementKind kind, llvm::ArrayRef<int64_t> sizes);

} // namespace mp

#endif // MPOPT_DATA_TENSOR_H
