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

/// An array of zeros without C++'s library; empty if there is no memory.
template <typename T> class Array {
public:
  Array() = default;
  ~Array() { std::free(data); }
  Array(const Array &) = delete;

  /// Anew: nothing of what was there remains.
  bool resize(uint64_t count) {
    std::free(data);
    // One more: nothing is no failure.
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
