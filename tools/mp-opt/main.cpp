//===- main.cpp - mp-opt --------------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

int main(int argc, char **argv) { return mp::runOptProgram(argc, argv); }
