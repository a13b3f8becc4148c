//===- main.cpp - A project that uses an installed mp-opt -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the dialect and runs registered passes on a small module.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "InitAllPasses.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

static constexpr llvm::StringLiteral source = R"mlir(
  module attributes {onnx.opset_import = [["", 17]]} {
    onnx.graph {
    ^bb0(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>):
      %0 = "onnx.MatMul"(%x, %w) {onnx.name = "mm", onnx.results = ["y"]}
        : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
      onnx.yield %0 : tensor<2x3xf32> {
        onnx.inputs = [{name = "x"}, {name = "w"}],
        onnx.outputs = [{name = "y"}]}
    }
  }
)mlir";
static constexpr llvm::StringLiteral pipeline =
    "builtin.module(mp-set-policy{precision=bf16},mp-classify,mp-assign,mp-"
    "insert-casts)";

int main() {
  mp::registerAllPasses();
  mlir::MLIRContext context;
  context.loadDialect<mp::onnxir::ONNXDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    return 1;
  auto passes = mlir::parsePassPipeline(pipeline);
  if (mlir::failed(passes))
    return 1;
  mlir::PassManager manager(&context);
  static_cast<mlir::OpPassManager &>(manager) = std::move(*passes);
  if (mlir::failed(manager.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
