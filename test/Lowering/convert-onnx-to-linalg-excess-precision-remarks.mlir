// RUN: mp-opt %s --convert-onnx-to-linalg=excess-precision \
// RUN:   --remarks-filter=mp-precision --remark-format=emitRemark \
// RUN:   --verify-diagnostics

// Each node whose rounding is dropped has a remark; a transpose rounds nothing.
module attributes {onnx.opset_import = [["", 17]]} {
  // expected-remark@below {{excess precision: 1 rounding is dropped: 'p' of node 'mm' (MatMul-13) to bf16}}
  onnx.graph {
  ^bb0(%x: tensor<4x8xbf16>, %w: tensor<8x5xbf16>):
    // expected-remark@below {{[Passed] excess-precision | Category:mp-precision | From=bf16, Node="node 'mm' (MatMul-13)", To=f32, Value=p}}
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "mm", onnx.results = ["p"]} : (tensor<4x8xbf16>, tensor<8x5xbf16>) -> tensor<4x5xbf16>
    %1 = "onnx.Transpose"(%0) {onnx.name = "t", onnx.results = ["t"], perm = [1, 0]} : (tensor<4x5xbf16>) -> tensor<5x4xbf16>
    %2 = "onnx.Cast"(%1) {onnx.results = ["y"], to = 1 : i64} : (tensor<5x4xbf16>) -> tensor<5x4xf32>
    onnx.yield %2 : tensor<5x4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}
