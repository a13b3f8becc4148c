//===- DroppedRoundings.cpp - Roundings that code may drop ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The list for callers that have a model and no code: of the main graph and of
// functions for one call, with names. Outputs that tools have added do not
// count as readers.
//
//===----------------------------------------------------------------------===//

#include "Findings.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Analysis/ExcessPrecision.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace mp;

/// A product whose readers are casts, in the main graph and in a function for
/// one call, and a product that is an output as well.
static constexpr const char *modelText = R"(
module attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.function "loc" "Head_1" attributes {mp.specialized = "Head", onnx.opset_import = [["", 17]]} {
  ^bb0(%x: tensor<4x8xf16>, %w: tensor<8x5xf16>):
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "inner", onnx.results = ["q"]} : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["y"], to = 1 : i64} : (tensor<4x5xf16>) -> tensor<4x5xf32>
    onnx.yield %1 : tensor<4x5xf32>
  }
  onnx.graph {
  ^bb0(%x: tensor<4x8xf16>, %w: tensor<8x5xf16>):
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "fc", onnx.results = ["p"]} : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["y"], to = 1 : i64} : (tensor<4x5xf16>) -> tensor<4x5xf32>
    %2 = "onnx.MatMul"(%x, %w) {onnx.name = "read", onnx.results = ["r"]} : (tensor<4x8xf16>, tensor<8x5xf16>) -> tensor<4x5xf16>
    %3 = "onnx.Cast"(%2) {onnx.results = ["z"], to = 1 : i64} : (tensor<4x5xf16>) -> tensor<4x5xf32>
    onnx.yield %1, %3, %2 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf16> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}, {name = "z"}, {name = "r"}]}
  }
}
)";

static void checkList(Findings &findings, ModuleOp module) {
  std::vector<DroppedRounding> found = findDroppableRoundings(module);
  findings.expect(found.size() == 2,
                  "expected 2 roundings, found " + Twine(found.size()));
  std::string line = listDroppedRoundings(found);
  findings.expect(
      line.find("2 roundings are dropped: ") == 0 &&
          StringRef(line).contains("'p' of node 'fc' (MatMul-13) to fp16") &&
          StringRef(line).contains("'q' of node 'inner' (MatMul-13) to fp16"),
      "found '" + line + "'");
}

static void checkWatched(Findings &findings, ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (!isa<onnxir::GraphOp>(op))
      continue;
    ExcessPrecision plain = ExcessPrecision::find(&op);
    findings.expect(plain.numProducts == 2 && plain.roundings.size() == 1,
                    "an output keeps a rounding");
    ExcessPrecision watched = ExcessPrecision::find(&op, /*numWatched=*/1);
    findings.expect(watched.roundings.size() == 2,
                    "a watched output keeps no rounding");
  }
}

static void checkLongList(Findings &findings) {
  std::vector<DroppedRounding> many(11, {"v", "node 'n' (Conv-11)", "bf16"});
  StringRef end = " and 3 more";
  findings.expect(StringRef(listDroppedRoundings(many)).ends_with(end),
                  "a long list does not end with its length");
}

int main() {
  MLIRContext context;
  context.loadDialect<onnxir::ONNXDialect, MPDialect>();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(modelText, &context);
  Findings findings;
  findings.expect(bool(module), "cannot read the model");
  if (module) {
    checkList(findings, *module);
    checkWatched(findings, *module);
  }
  checkLongList(findings);
  return findings.getExitCode();
}
