// RUN: mp-opt %s --mp-mixed-precision="precision=fp16 runtime=onnxruntime-cpu" \
// RUN:   | FileCheck %s

// The product computes in fp32, since the runtime does: its weight is stored in
// 16 bit. Left alone: a weight that an fp32 node reads as well, a small one, and
// one that fp16 does not hold.
// CHECK-DAG: %[[W:.*]] = onnx.initializer "w" {{.*}} : tensor<64x64xf16>
// CHECK-DAG: %[[C:.*]] = "onnx.Cast"(%[[W]]) {{.*}} -> tensor<64x64xf32>
// CHECK-DAG: onnx.initializer "shared" {{.*}} : tensor<64x64xf32>
// CHECK-DAG: onnx.initializer "huge" {{.*}} : tensor<64x64xf32>
// CHECK-DAG: onnx.initializer "small" {{.*}} : tensor<64x1xf32>
// CHECK-DAG: %[[T:.*]] = "onnx.Transpose"(%[[C]])
// CHECK-DAG: "onnx.MatMul"(%{{.*}}, %[[T]]) {{.*}} -> tensor<4x64xf32>
// CHECK-NOT: f16
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x64xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<64x64xf32> : tensor<64x64xf32>
    %s = onnx.initializer "shared" dense<0.5> : tensor<64x64xf32> : tensor<64x64xf32>
    %h = onnx.initializer "huge" dense<1.0e6> : tensor<64x64xf32> : tensor<64x64xf32>
    %l = onnx.initializer "small" dense<0.5> : tensor<64x1xf32> : tensor<64x1xf32>
    %t = "onnx.Transpose"(%w) {onnx.name = "t", onnx.results = ["t"]} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %0 = "onnx.MatMul"(%x, %t) {onnx.name = "a", onnx.results = ["a"]} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %1 = "onnx.MatMul"(%0, %s) {onnx.name = "b", onnx.results = ["b"]} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %2 = "onnx.Softmax"(%s) {onnx.name = "c", onnx.results = ["c"]} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = "onnx.MatMul"(%1, %h) {onnx.name = "d", onnx.results = ["d"]} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %4 = "onnx.MatMul"(%3, %l) {onnx.name = "e", onnx.results = ["e"]} : (tensor<4x64xf32>, tensor<64x1xf32>) -> tensor<4x1xf32>
    onnx.yield %2, %4 : tensor<64x64xf32>, tensor<4x1xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "c"}, {name = "e"}]}
  }
}
