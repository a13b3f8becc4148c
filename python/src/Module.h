//===- Module.h - What the extension module has -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PYTHON_MODULE_H
#define MPOPT_PYTHON_MODULE_H

#include "Calls.h"

namespace mp::python {

void addModels(nb::module_ &module);
void addPrograms(nb::module_ &module);

} // namespace mp::python

#endif // MPOPT_PYTHON_MODULE_H
