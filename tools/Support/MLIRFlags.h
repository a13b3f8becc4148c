//===- MLIRFlags.h - What MLIR's own flags ask for --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MlirOptMain does all of this for MLIR input and output; this file is for
// tools with their own flags that read and write other formats as well.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_MLIRFLAGS_H
#define MPOPT_TOOLS_SUPPORT_MLIRFLAGS_H

#include "Flags.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mp {

/// The flags of mlir-opt, including passes and pipelines, which LLVM's parser
/// reads. Flags of LLVM itself, e.g. of its code generators, are excluded.
class MLIRFlags : public OtherFlags {
public:
  /// Must be created after passes are registered.
  explicit MLIRFlags(mlir::DialectRegistry &registry);

  bool isKnown(llvm::StringRef name) const override { return find(name); }
  bool needsValue(llvm::StringRef name) const override;
  std::vector<std::string> getNames() const override;

  /// Parses the given flags. Fails if a value is wrong, or if a flag would load
  /// a plugin that this tool cannot use.
  llvm::Error parse();
  /// Prints LLVM's list of the flags to standard output.
  void printHelp() const;

private:
  llvm::cl::Option *find(llvm::StringRef name) const;

  /// The options that were registered before MLIR's.
  llvm::DenseSet<llvm::cl::Option *> foreign;
};

/// Applies --remarks-filter and similar flags.
mlir::LogicalResult setUpRemarks(const mlir::MlirOptMainConfig &config,
                                 mlir::MLIRContext &context);

/// Implements --verify-roundtrip: text and bytecode must preserve the module.
mlir::LogicalResult verifyRoundtrip(mlir::ModuleOp module,
                                    const mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_MLIRFLAGS_H
