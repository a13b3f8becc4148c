//===- PassFailures.cpp - Messages of passes that fail --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No known model makes a pass of MLIR fail, so that a pass fails here: with an
// error of MLIR, without one, and with an error of mp-opt.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/PassFailures.h"
#include "Expect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
/// Fails after an error at a node, if there is a text.
struct Failing : PassWrapper<Failing, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Failing)

  explicit Failing(std::string text) : text(std::move(text)) {}

  StringRef getName() const override { return "Failing"; }

  void runOnOperation() override {
    Builder b(&getContext());
    Location node = NameLoc::get(b.getStringAttr("node 'h' (MatMul-13)"),
                                 b.getUnknownLoc());
    if (!text.empty())
      emitError(node) << text;
    signalPassFailure();
  }

  std::string text;
};

/// Returns the messages of a run, each with its notes in parentheses.
std::string run(const std::string &text) {
  MLIRContext context;
  std::string seen;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    seen += diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      seen += " (" + note.str() + ")";
    seen += "\n";
  });
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  PassManager pm(&context);
  pm.addPass(std::make_unique<Failing>(text));
  mp::PassFailures failures(pm);
  expect(failed(pm.run(*module)), "the pass has not failed");
  failures.report(*module);
  return seen;
}
} // namespace

int main() {
  const std::string advice =
      "cannot be compiled: pass 'Failing' has failed, which is a fault of "
      "mp-opt: please report it with the model, as SECURITY.md says";
  auto check = [](const std::string &text, const std::string &expected) {
    std::string found = run(text);
    expect(found == expected, "expected " + expected + "found " + found);
  };
  const std::string ofMLIR = "'linalg.generic' op not bufferizable";
  check(ofMLIR,
        "node 'h' (MatMul-13): " + advice + " (MLIR: " + ofMLIR + ")\n");
  check("", advice + "\n");
  const std::string own = "node 'h' (MatMul-13): expected rank 2, got 3";
  check(own, own + "\n");
  const std::string ofNode = "'onnx.MatMul' op expected rank 2";
  check(ofNode, ofNode + "\n");
  return isGood ? 0 : 1;
}
