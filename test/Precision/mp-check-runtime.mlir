// RUN: not mp-opt %s --mp-check-runtime=runtime=tensorrt:11.2 --split-input-file \
// RUN:   -o %t 2>&1 | FileCheck %s
// RUN: mp-opt %s --mp-check-runtime="runtime=tensorrt:11.2 lenient" \
// RUN:   --split-input-file -o %t 2>&1 | FileCheck %s --check-prefix=LENIENT
// RUN: not mp-opt %s --mp-check-runtime=runtime=tensorrt-dla --split-input-file \
// RUN:   -o %t 2>&1 | FileCheck %s --check-prefix=DLA

// One message names the first node, notes the others.
// CHECK: error: tensorrt 11.2 cannot run the model: node 'u' (Unique-11): tensorrt 11.2 has no kernel for Unique-11, and 2 more; --check=lenient makes this a warning
// CHECK: note: node 'bn' (BatchNormalization-15): has operands of bf16 and f32, which must be one type for tensorrt 11.2
// CHECK: note: {{.*}}(my.Op): tensorrt 11.2 has no kernel for my.Op
// LENIENT: warning: tensorrt 11.2 cannot run the model: node 'u'
// DLA: error: tensorrt-dla 11.4 cannot run the model: input 'x' has unknown sizes, expected all to be known
module attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x3xbf16>, %b: tensor<3xf32>):
    %0 = "onnx.Unique"(%b) {onnx.name = "u", onnx.results = ["u"]} : (tensor<3xf32>) -> tensor<?xf32>
    %1 = "onnx.BatchNormalization"(%x, %b, %b, %b, %b) {onnx.name = "bn", onnx.results = ["n"]} : (tensor<?x3xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3xbf16>
    %2 = onnx.custom "my" "Op"(%1) : (tensor<?x3xbf16>) -> tensor<?x3xbf16>
    onnx.yield %0, %2 : tensor<?xf32>, tensor<?x3xbf16> {onnx.inputs = [{name = "x"}, {name = "b"}], onnx.outputs = [{name = "u"}, {name = "o"}]}
  }
}

// -----

// CHECK: error: tensorrt 11.2 cannot run the model: the model has opset 25, tensorrt 11.2 reads 9 to 24
module attributes {onnx.opset_import = [["", 25]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf16>):
    %0 = "onnx.Relu"(%x) {onnx.name = "r", onnx.results = ["r"]} : (tensor<4xf16>) -> tensor<4xf16>
    onnx.yield %0 : tensor<4xf16> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "r"}]}
  }
}
