//===- Module.cpp - The extension module of Python ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// A thin layer over the C API: handles, arrays without copies, and calls
// without Python's lock.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

using namespace mp::python;

NB_MODULE(_mp_opt, module) {
  // Objects may still be used while the interpreter shuts down.
  nb::set_leak_warnings(false);
  module.def("version", &mp_opt_version);
  module.def("api_version", &mp_opt_api_version);
  module.def("close", &closeCalls);
  addModels(module);
  addPrograms(module);
}
