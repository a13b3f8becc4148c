//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_DATA_NPY_H
#define MPOPT_LIB_DATA_NPY_H

#include "mp-opt/Data/DataFiles.h"

namespace mp {

/// The bytes of a file before the elements.
llvm::Expected<std::string> makeNpyHeader(const Tensor &tensor);

inline llvm::StringRef getBytes(const Tensor &tensor) {
  return {static_cast<const char *>(tensor.getData()), tensor.getNumBytes()};
}

} // namespace mp

#endif // MPOPT_LIB_DATA_NPY_H
