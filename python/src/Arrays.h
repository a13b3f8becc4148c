//===- Arrays.h - Arrays of Python as tensors, and back ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PYTHON_ARRAYS_H
#define MPOPT_PYTHON_ARRAYS_H

#include "Calls.h"

#include <nanobind/ndarray.h>

namespace mp::python {

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// The arrays of a call, and the objects that own their data.
class Arrays {
public:
  /// `prepare` turns a value whose memory cannot be read directly into an
  /// array, and the number of its type or 0.
  Arrays(nb::object names, nb::sequence values, nb::object prepare);

  const mp_opt_array *data() const { return arrays.data(); }
  size_t size() const { return arrays.size(); }

private:
  void add(const char *name, nb::object value, nb::object prepare);

  std::vector<mp_opt_array> arrays;
  std::vector<Input> inputs;
  std::vector<std::string> strings;
  std::vector<std::vector<int64_t>> shapes;
  nb::list kept;
};

/// [(name, type, array)]: each tensor lives as long as its array. Arrays are
/// numpy's or torch's.
nb::list makeArrays(std::vector<BufferHandle> buffers, bool isTorch);

/// (name, type, sizes, whether it may be left out)
nb::tuple describeValue(const mp_opt_value &value);

} // namespace mp::python

#endif // MPOPT_PYTHON_ARRAYS_H
