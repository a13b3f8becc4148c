//===- Programs.cpp - The programs as a part of a library -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A statically linked program has 70 MB, and a Python package would contain
// three of them. There, the programs are parts of libmp-opt.so, and the
// installed executables (Launcher.c) only call it.
//
//===----------------------------------------------------------------------===//

#include "../mp-opt/Program.h"
#include "../mp-run/Program.h"

#include <cstring>

extern "C" __attribute__((visibility("default"))) int
mp_opt_run_program(const char *name, int argc, char **argv) {
  if (!std::strcmp(name, "mp-opt"))
    return mp::runOptProgram(argc, argv);
  return mp::runRunProgram(argc, argv);
}
