//===- main.cpp - A project that uses an installed mp-opt -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs registered passes on a small module of the dialect, and then a model
// through the API: from its text to bf16, to code, to numbers.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Session.h"
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

static constexpr const char *modelText = R"(
<ir_version: 9, opset_import: ["" : 21]>
net (float[2,2] x) => (float[2,2] y)
<float[2,2] w = {0, 1, 1, 0}>
{ y = MatMul(x, w) }
)";

static bool runPasses() {
  mp::registerAllPasses();
  mlir::MLIRContext context;
  context.loadDialect<mp::onnxir::ONNXDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    return false;
  auto passes = mlir::parsePassPipeline(pipeline);
  if (mlir::failed(passes))
    return false;
  mlir::PassManager manager(&context);
  static_cast<mlir::OpPassManager &>(manager) = std::move(*passes);
  if (mlir::failed(manager.run(*module)))
    return false;
  module->print(llvm::outs());
  return true;
}

static llvm::Error runModel() {
  mlir::DialectRegistry registry;
  mp::registerModelDialects(registry);
  auto model = mp::Model::parse(modelText, "net.onnxtxt", registry);
  if (!model)
    return model.takeError();
  mp::ConversionOptions conversion;
  conversion.mixed.emplace().policy.precision = "bf16";
  if (llvm::Error failed = (*model)->convert(conversion))
    return failed;
  auto x = mp::Tensor::create(mp::ElementKind::Float, {2, 2});
  if (!x)
    return x.takeError();
  for (unsigned i = 0; i < 4; ++i)
    x->get<float>()[i] = float(i);
  mp::DataSet data;
  data.inputs = {{"x", *x}};
  auto session = mp::Session::create(std::move(*model), data, {});
  if (!session)
    return session.takeError();
  auto outputs = session->run();
  if (!outputs)
    return outputs.takeError();
  for (const mp::NamedTensor &output : *outputs) {
    llvm::outs() << output.name << ":";
    for (float number : output.tensor.get<float>())
      llvm::outs() << " " << int(number);
    llvm::outs() << "\n";
  }
  return llvm::Error::success();
}

int main() {
  if (!runPasses())
    return 1;
  if (llvm::Error failed = runModel()) {
    llvm::errs() << toString(std::move(failed)) << "\n";
    return 1;
  }
  return 0;
}
