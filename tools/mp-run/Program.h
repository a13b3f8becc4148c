//===- Program.h - A run of mp-run ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_RUN_PROGRAM_H
#define MPOPT_TOOLS_RUN_PROGRAM_H

namespace mp {

/// Runs the whole program for `main`; returns the exit code.
int runRunProgram(int argc, char **argv);

} // namespace mp

#endif // MPOPT_TOOLS_RUN_PROGRAM_H
