// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign | FileCheck %s

// The node with the greatest error stays fp32: the others are within the limit.
// Chains are so long that 16 bit pays for the casts at their ends.
// CHECK-LABEL: @greatest
// CHECK-SAME: mp.predicted_error = 1.414{{[0-9]*}}E-4
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16, reason = "within the error limit: its roundings cause {0}", values = ["1.0e-04"]
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "for the error limit: 16 bit would cause {0}", values = ["1.0e-02"]
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
module @greatest attributes {onnx.opset_import = [["", 17]], mp.error_limit = #mp.error_limit<1.0e-3 : f64>} {
  onnx.graph {
  ^bb0(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>, %z: tensor<64x64xf32>):
    %x0 = "onnx.MatMul"(%x, %x) {mp.rounding_error = #mp.rounding_error<[1.0e-8, 0.0, 0.0]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %x1 = "onnx.Relu"(%x0) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x2 = "onnx.Relu"(%x1) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x3 = "onnx.Relu"(%x2) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x4 = "onnx.Relu"(%x3) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x5 = "onnx.Relu"(%x4) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x6 = "onnx.Relu"(%x5) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x7 = "onnx.Relu"(%x6) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y0 = "onnx.MatMul"(%y, %y) {mp.rounding_error = #mp.rounding_error<[1.0e-4, 0.0, 0.0]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %y1 = "onnx.Relu"(%y0) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-4]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y2 = "onnx.Relu"(%y1) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-4]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y3 = "onnx.Relu"(%y2) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-4]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y4 = "onnx.Relu"(%y3) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-4]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y5 = "onnx.Relu"(%y4) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-4]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y6 = "onnx.Relu"(%y5) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-4]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y7 = "onnx.Relu"(%y6) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-4]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %z0 = "onnx.MatMul"(%z, %z) {mp.rounding_error = #mp.rounding_error<[1.0e-8, 0.0, 0.0]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %z1 = "onnx.Relu"(%z0) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %z2 = "onnx.Relu"(%z1) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %z3 = "onnx.Relu"(%z2) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %z4 = "onnx.Relu"(%z3) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %z5 = "onnx.Relu"(%z4) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %z6 = "onnx.Relu"(%z5) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %z7 = "onnx.Relu"(%z6) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    onnx.yield %x7, %y7, %z7 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// An operand's error counts only where the value is fp32 until then: with both
// products in 16 bit, the error is that of the first one's result.
// CHECK-LABEL: @operand
// CHECK-SAME: mp.predicted_error = 9.9{{[0-9]*}}E-4
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
module @operand attributes {onnx.opset_import = [["", 17]], mp.error_limit = #mp.error_limit<1.0e-3 : f64>} {
  onnx.graph {
  ^bb0(%x: tensor<64x64xf32>):
    %x0 = "onnx.MatMul"(%x, %x) {mp.rounding_error = #mp.rounding_error<[9.9e-7, 0.0, 0.0]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %x1 = "onnx.Relu"(%x0) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x2 = "onnx.Relu"(%x1) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x3 = "onnx.Relu"(%x2) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y0 = "onnx.MatMul"(%x3, %x3) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7, 9.9e-7]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %y1 = "onnx.Relu"(%y0) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y2 = "onnx.Relu"(%y1) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y3 = "onnx.Relu"(%y2) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y4 = "onnx.Relu"(%y3) {mp.rounding_error = #mp.rounding_error<[0.0, 9.9e-7]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    onnx.yield %y4 : tensor<64x64xf32>
  }
}

// -----

// At kinks the squared error grows with the root of the share: half of the
// variance has 0.71 of the effect.
// CHECK-LABEL: @kinks
// CHECK-SAME: mp.predicted_error = 0.0084{{[0-9]*}} : f64
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32
module @kinks attributes {onnx.opset_import = [["", 17]], mp.error_limit = #mp.error_limit<9.0e-3 : f64, kinks = 1.0e-4 : f64>} {
  onnx.graph {
  ^bb0(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>):
    %x0 = "onnx.MatMul"(%x, %x) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0, 0.0], kinks = [0.5, 0.0, 0.0]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %x1 = "onnx.Relu"(%x0) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.5]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x2 = "onnx.Relu"(%x1) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.5]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x3 = "onnx.Relu"(%x2) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.5]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x4 = "onnx.Relu"(%x3) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.5]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x5 = "onnx.Relu"(%x4) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.5]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x6 = "onnx.Relu"(%x5) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.5]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x7 = "onnx.Relu"(%x6) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.5]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y0 = "onnx.MatMul"(%y, %y) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0, 0.0], kinks = [0.6, 0.0, 0.0]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %y1 = "onnx.Relu"(%y0) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.6]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y2 = "onnx.Relu"(%y1) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.6]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y3 = "onnx.Relu"(%y2) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.6]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y4 = "onnx.Relu"(%y3) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.6]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y5 = "onnx.Relu"(%y4) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.6]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y6 = "onnx.Relu"(%y5) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.6]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %y7 = "onnx.Relu"(%y6) {mp.rounding_error = #mp.rounding_error<[0.0, 0.0], kinks = [0.0, 0.6]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    onnx.yield %x7, %y7 : tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// Nodes without errors, and nothing within the limit: all is fp32.
// CHECK-LABEL: @nothing
// CHECK-SAME: mp.predicted_error = 0.0
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "its error is not known"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "for the error limit
module @nothing attributes {onnx.opset_import = [["", 17]], mp.error_limit = #mp.error_limit<1.0e-6 : f64>} {
  onnx.graph {
  ^bb0(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>):
    %w = "onnx.MatMul"(%y, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %x0 = "onnx.MatMul"(%x, %x) {mp.rounding_error = #mp.rounding_error<[1.0e-8, 0.0, 0.0]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %x1 = "onnx.Relu"(%x0) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x2 = "onnx.Relu"(%x1) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x3 = "onnx.Relu"(%x2) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x4 = "onnx.Relu"(%x3) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x5 = "onnx.Relu"(%x4) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x6 = "onnx.Relu"(%x5) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %x7 = "onnx.Relu"(%x6) {mp.rounding_error = #mp.rounding_error<[0.0, 1.0e-8]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    onnx.yield %w, %x7 : tensor<64x64xf32>, tensor<64x64xf32>
  }
}
