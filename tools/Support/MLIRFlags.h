//===- MLIRFlags.h - What MLIR's own flags ask for --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MlirOptMain does all of this for MLIR in and MLIR out; these are for tools
// that have flags of their own, and read and write other forms as well.
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

/// The flags of mlir-opt, passes and pipelines among them, which LLVM's parser
/// reads. Those of LLVM itself, its code generators' say, are none of them.
class MLIRFlags : public OtherFlags {
public:
  /// To be made once passes are registered.
  explicit MLIRFlags(mlir::DialectRegistry &registry);

  bool isKnown(llvm::StringRef name) const override { return find(name); }
  bool needsValue(llvm::StringRef name) const override;
  std::vector<std::string> getNames() const override;

  /// Reads what has been given; fails where a value is wrong, or if there is a
  /// flag that would load a plugin that this tool cannot take.
  llvm::Error parse();
  /// LLVM's list of them, to standard output.
  void printHelp() const;

private:
  llvm::cl::Option *find(llvm::StringRef name) const;

  /// Those that were there before MLIR's.
  llvm::DenseSet<llvm::cl::Option *> foreign;
};

/// --remarks-filter and its like.
mlir::LogicalResult setUpRemarks(const mlir::MlirOptMainConfig &config,
                                 mlir::MLIRContext &context);

/// --verify-roundtrip: text and bytecode must say all that the module says.
mlir::LogicalResult verifyRoundtrip(mlir::ModuleOp module,
                                    const mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_MLIRFLAGS_H
