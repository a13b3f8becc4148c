// RUN: mp-opt %s --mp-mixed-precision="precision=fp16 assign=first-operand" \
// RUN:   --remarks-filter=mp-precision --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s

// What conversion makes of weights, and which stay fp32 because of it. Nothing
// is said of a weight that loses no more than roundings.
// CHECK-NOT: initializer 'plain'
// CHECK: remark: [Passed]{{.*}}Constant="initializer 'tiny'", From=f32, Reason="of 4 elements 1 became zero, the largest of them 1e-08, 2 lost precision as subnormals", To=fp16
// CHECK: remark: [Missed]{{.*}}Constant="initializer 'huge'", From=f32, Reason="constant 'huge' holds -70000, fp16 ends at 65504; of 4 elements 2 overflow, 1 become zero", To=f32
// CHECK: remark: [Passed]{{.*}}Constant="initializer 'mask'", From=f32, Reason="only masks a softmax: -1e+09 became -32752", To=fp16
// CHECK: mp.summary = {{{.*}}elements_to_zero = 1 : i64, masks_clamped = 1 : i64
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %m: tensor<2x2xi1>):
    %p = onnx.initializer "plain" dense<[[1.0, 0.1], [0.0, 0x7FC00000]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %t = onnx.initializer "tiny" dense<[[1.0, 1.0e-8], [1.0e-7, -6.0e-5]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %h = onnx.initializer "huge" dense<[[1.0, 66000.0], [-70000.0, 1.0e-8]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %k = onnx.initializer "mask" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %0 = "onnx.MatMul"(%x, %p) {onnx.results = ["a"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.MatMul"(%0, %t) {onnx.results = ["b"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.MatMul"(%1, %h) {onnx.results = ["c"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Where"(%m, %1, %k) {onnx.results = ["d"]} : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %4 = "onnx.Softmax"(%3) {onnx.results = ["e"]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %2, %4 : tensor<2x2xf32>, tensor<2x2xf32>
  }
}
