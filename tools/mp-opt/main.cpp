//===- main.cpp - mp-opt and mp-run
//-----------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../mp-run/Program.h"
#include "Program.h"

#include "llvm/Support/Path.h"

/// One program file has two names, since both need the same parts of MLIR.
int main(int argc, char **argv) {
  if (argc > 0 && llvm::sys::path::filename(argv[0]).starts_with("mp-run"))
    return mp::runRunProgram(argc, argv);
  return mp::runOptProgram(argc, argv);
}
