//===- Verification.h - Running what is about to be written -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the result of a run with its input with every float as float64, on
// data or on random numbers (--verify).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_VERIFICATION_H
#define MPOPT_API_RUN_VERIFICATION_H

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/Execution/CodeCache.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

#include <optional>
#include <vector>

namespace mp {

struct VerificationOptions {
  /// A file of data (DataSet.h); random numbers without one.
  std::string data;
  /// The tolerated root mean square error of outputs relative to the values;
  /// absent to use the error that rounding explains (Roundings.h).
  std::optional<double> tolerance;
  /// NAME=SIZE of symbolic dimensions.
  std::vector<std::string> dims;
  /// The device that runs the result. The input, as float64, runs on the
  /// processor.
  DeviceKind device = DeviceKind::CPU;
  FP32Products fp32Products = FP32Products::IEEE;
  /// As for CompileOptions, for the result.
  bool excessPrecision = false;
  /// The cache of compiled code.
  CodeCacheOptions cache;
  /// The name of the compiling program in progress messages.
  std::string title;
  /// Receives messages about the data, and doubts and failures.
  MessageFn onMessage;
};

struct Verdict {
  bool isVerified = false;
  /// One line: "verified: all 3 outputs are within ...", "NOT verified: ...",
  /// "nothing compared: ...", or, if random data prove little, "ran: ...".
  std::string text;
};

/// Runs the input with every float as float64, and the result as it is. Prints
/// a table of the differences, and of the nodes that cause them, to `table`.
/// Messages refer to the model as `name`.
llvm::Expected<Verdict>
verifyResult(mlir::ModuleOp input, mlir::ModuleOp result,
             const VerificationOptions &options, llvm::StringRef name,
             mlir::TimingScope &timing, llvm::raw_ostream &table);

} // namespace mp

#endif // MPOPT_API_RUN_VERIFICATION_H
