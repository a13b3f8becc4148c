// RUN: mp-opt %s --mp-set-policy=allow=my.Frob --mp-classify --mp-assign \
// RUN:   --remarks-filter=mp-precision --remark-format=emitRemark \
// RUN:   --verify-diagnostics

// Why every node has its precision.
module attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>):
    // expected-remark@below {{[Passed] precision | Category:mp-precision | Bytes=32, From=f32, Node="node 'mm' (MatMul-13)", Reason="built-in list", To=bf16}}
    %0 = "onnx.MatMul"(%x, %x) {onnx.name = "mm"} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    // expected-remark@below {{[Missed] precision | Category:mp-precision | Bytes=4, From=f32, Node="node 'conv' (Conv-11)", Reason="Conv-11 does not admit bf16, opset 22 does", To=f32}}
    %1 = "onnx.Conv"(%0, %x) {onnx.name = "conv"} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    // expected-remark@below {{[Analysis] precision | Category:mp-precision | Bytes=4, From=f32, Node="node 'sm' (Softmax-13)", Reason="built-in list: sums of exponentials, of which 16 bit loses small terms", To=f32}}
    %2 = "onnx.Softmax"(%1) {onnx.name = "sm"} : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
    // expected-remark@below {{[Missed] precision | Category:mp-precision | Bytes=4, From=f32, Node="node 'frob' (my.Frob)", Reason="custom op", To=f32}}
    // expected-remark@below {{[Analysis] precision}}
    %3 = onnx.custom "my" "Frob" (%2) attributes {onnx.name = "frob"} : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
    onnx.yield %3 : tensor<1x1x1x1xf32>
  }
}
