//===- Arrays.cpp - Arrays of Python as tensors, and back -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"

namespace mp::python {

/// The number of an element type in ONNX; 0 if it has none.
static int32_t getType(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1)
    return 0;
  switch (Code(type.code)) {
  case Code::Float:
    return type.bits == 32   ? 1
           : type.bits == 64 ? 11
           : type.bits == 16 ? 10
                             : 0;
  case Code::Bfloat:
    return type.bits == 16 ? 16 : 0;
  case Code::Int:
    return type.bits == 64   ? 7
           : type.bits == 32 ? 6
           : type.bits == 8  ? 3
           : type.bits == 16 ? 5
                             : 0;
  case Code::UInt:
    return type.bits == 8    ? 2
           : type.bits == 64 ? 13
           : type.bits == 32 ? 12
           : type.bits == 16 ? 4
                             : 0;
  case Code::Bool:
    return 9;
  case Code::Complex:
    return type.bits == 64 ? 14 : type.bits == 128 ? 15 : 0;
  default:
    return 0;
  }
}

/// The type and bytes of elements that numpy represents as others: bfloat16 as
/// uint16.
static nb::dlpack::dtype getDType(int32_t type, bool isNumpy) {
  auto make = [](nb::dlpack::dtype_code code, uint8_t bits) {
    return nb::dlpack::dtype{uint8_t(code), bits, 1};
  };
  using Code = nb::dlpack::dtype_code;
  switch (type) {
  case 1:
    return make(Code::Float, 32);
  case 2:
    return make(Code::UInt, 8);
  case 3:
    return make(Code::Int, 8);
  case 4:
    return make(Code::UInt, 16);
  case 5:
    return make(Code::Int, 16);
  case 6:
    return make(Code::Int, 32);
  case 7:
    return make(Code::Int, 64);
  case 9:
    return make(Code::Bool, 8);
  case 10:
    return make(Code::Float, 16);
  case 11:
    return make(Code::Float, 64);
  case 12:
    return make(Code::UInt, 32);
  case 13:
    return make(Code::UInt, 64);
  case 14:
    return make(Code::Complex, 64);
  case 15:
    return make(Code::Complex, 128);
  case 16:
    return isNumpy ? make(Code::UInt, 16) : make(Code::Bfloat, 16);
  default:
    return make(Code::UInt, 8);
  }
}

Arrays::Arrays(nb::object names, nb::sequence values, nb::object prepare) {
  size_t count = nb::len(values);
  inputs.reserve(count);
  strings.reserve(count);
  shapes.reserve(count);
  for (size_t index = 0; index < count; ++index) {
    const char *name = nullptr;
    if (!names.is_none()) {
      strings.push_back(nb::cast<std::string>(names[index]));
      name = strings.back().c_str();
    }
    add(name, values[index], prepare);
  }
}

void Arrays::add(const char *name, nb::object value, nb::object prepare) {
  Input input;
  int32_t type = 0;
  if (!nb::try_cast(value, input, /*convert=*/false)) {
    auto made = nb::cast<nb::tuple>(prepare(value, name ? name : ""));
    kept.append(made[0]);
    type = nb::cast<int32_t>(made[1]);
    input = nb::cast<Input>(made[0]);
  }
  if (!type)
    type = getType(input.dtype());
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < input.ndim(); ++axis)
    sizes.push_back(int64_t(input.shape(axis)));
  shapes.push_back(std::move(sizes));
  arrays.push_back({name, type, int32_t(input.ndim()), shapes.back().data(),
                    const_cast<void *>(input.data()), input.nbytes()});
  inputs.push_back(std::move(input));
}

/// Makes an array of a tensor of the library: (array, number of its type). The
/// tensor lives as long as the array. `form` is "numpy" or "torch".
static nb::object makeArray(BufferHandle buffer, bool isTorch) {
  mp_opt_array array;
  if (mp_opt_buffer_array(buffer.get(), &array) != MP_OPT_STATUS_OK)
    throw std::runtime_error(mp_opt_error_text());
  nb::capsule owner(buffer.release(), [](void *handle) noexcept {
    mp_opt_buffer_destroy(static_cast<mp_opt_buffer *>(handle));
  });
  std::vector<size_t> sizes(array.sizes, array.sizes + array.rank);
  nb::dlpack::dtype type = getDType(array.type, !isTorch);
  if (isTorch)
    return nb::cast(nb::ndarray<nb::pytorch>(
        array.data, sizes.size(), sizes.data(), owner, nullptr, type));
  return nb::cast(nb::ndarray<nb::numpy>(array.data, sizes.size(), sizes.data(),
                                         owner, nullptr, type));
}

/// [(name, type, array)]
nb::list makeArrays(std::vector<BufferHandle> buffers, bool isTorch) {
  nb::list made;
  for (BufferHandle &buffer : buffers) {
    mp_opt_array array;
    mp_opt_buffer_array(buffer.get(), &array);
    std::string name = array.name;
    int32_t type = array.type;
    made.append(
        nb::make_tuple(name, type, makeArray(std::move(buffer), isTorch)));
  }
  return made;
}

nb::tuple describeValue(const mp_opt_value &value) {
  nb::list sizes;
  for (int32_t axis = 0; axis < value.rank; ++axis)
    sizes.append(value.sizes[axis]);
  return nb::make_tuple(std::string(value.name), value.type, nb::tuple(sizes),
                        value.has_default != 0);
}

} // namespace mp::python
