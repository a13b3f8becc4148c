// RUN: mp-opt %s --mp-mixed-precision=precision=bf16 | FileCheck %s

// The operands and results of a Scan have types of their own: a source that
// carries one state in fp16 and another in fp32 keeps both.
module attributes {onnx.opset_import = [["", 22]]} {
  // CHECK-LABEL: onnx.graph
  onnx.graph {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf16>):
    // CHECK: "onnx.Scan"
    // CHECK: (tensor<4xf32>, tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>)
    %0:2 = "onnx.Scan"(%a, %b) ({
    ^bb0(%s: tensor<4xf32>, %t: tensor<4xf16>):
      %1 = "onnx.Relu"(%s) {onnx.results = ["s1"]} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = "onnx.Relu"(%t) {onnx.results = ["t1"]} : (tensor<4xf16>) -> tensor<4xf16>
      onnx.yield %1, %2 : tensor<4xf32>, tensor<4xf16> {onnx.inputs = [{name = "s"}, {name = "t"}], onnx.outputs = [{name = "s1"}, {name = "t1"}]}
    }) {num_scan_inputs = 0 : i64, onnx.regions = ["body"], onnx.results = ["x", "y"]} : (tensor<4xf32>, tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>)
    onnx.yield %0#0, %0#1 : tensor<4xf32>, tensor<4xf16> {onnx.inputs = [{name = "a"}, {name = "b"}], onnx.outputs = [{name = "x"}, {name = "y"}]}
  }
}
