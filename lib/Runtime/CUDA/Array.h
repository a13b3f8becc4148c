//===- Array.h - An array of zeros ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_CUDA_ARRAY_H
#define MPOPT_LIB_RUNTIME_CUDA_ARRAY_H

#include <cstdint>
#include <cstdlib>

namespace mp::runtime {

/// A zero-initialized array that does not use the C++ library; empty if there
/// is no memory.
template <typename T> class Array {
public:
  Array() = default;
  ~Array() { std::free(data); }
  Array(const Array &) = delete;

  /// Allocates new zeros; old elements are lost.
  bool resize(uint64_t count) {
    std::free(data);
    // One more element, so that a count of zero does not look like a failure.
    data = static_cast<T *>(std::calloc(count + 1, sizeof(T)));
    return data != nullptr;
  }
  T &operator[](uint64_t index) { return data[index]; }
  const T &operator[](uint64_t index) const { return data[index]; }
  T *get() { return data; }

private:
  T *data = nullptr;
};

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_CUDA_ARRAY_H
