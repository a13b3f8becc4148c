// RUN: mp-opt %s --split-input-file --mp-annotate-composites | FileCheck %s

// The mean is of something else.
// CHECK-LABEL: @not_mean_of_other
// CHECK-NOT: mp.composite
module @not_mean_of_other attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %z: tensor<2x4x8xf32>):
    %m = "onnx.ReduceMean"(%z) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %y = "onnx.Sub"(%x, %m) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// Nothing is squared.
// CHECK-LABEL: @not_centering_alone
// CHECK-NOT: mp.composite
module @not_centering_alone attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %y = "onnx.Sub"(%x, %m) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// A contraction makes data of the mean.
// CHECK-LABEL: @not_squeeze_excite
// CHECK-NOT: mp.composite
module @not_squeeze_excite attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8x8xf32>):
    %w = onnx.initializer "w" dense<1.000000e+00> : tensor<4x4x1x1xf32> : tensor<4x4x1x1xf32>
    %m = "onnx.GlobalAveragePool"(%x) {onnx.results = ["m"]} : (tensor<2x4x8x8xf32>) -> tensor<2x4x1x1xf32>
    %s = "onnx.Conv"(%m, %w) {onnx.results = ["s"]} : (tensor<2x4x1x1xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x1x1xf32>
    %g = "onnx.Sigmoid"(%s) {onnx.results = ["g"]} : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
    %y = "onnx.Mul"(%x, %g) {onnx.results = ["y"]} : (tensor<2x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x8x8xf32>
    onnx.yield %y : tensor<2x4x8x8xf32>
  }
}

// -----

// Nothing is divided.
// CHECK-LABEL: @not_gate_by_mean
// CHECK-NOT: mp.composite
module @not_gate_by_mean attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8x8xf32>):
    %m = "onnx.GlobalAveragePool"(%x) {onnx.results = ["m"]} : (tensor<2x4x8x8xf32>) -> tensor<2x4x1x1xf32>
    %g = "onnx.Sigmoid"(%m) {onnx.results = ["g"]} : (tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
    %y = "onnx.Mul"(%x, %g) {onnx.results = ["y"]} : (tensor<2x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<2x4x8x8xf32>
    onnx.yield %y : tensor<2x4x8x8xf32>
  }
}

// -----

// The exponentials are of something else.
// CHECK-LABEL: @not_divided_by_other
// CHECK-NOT: mp.composite
module @not_divided_by_other attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %z: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %p = "onnx.Exp"(%z) {onnx.results = ["p"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%p, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %y = "onnx.Div"(%x, %s) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// A sum of products is a contraction.
// CHECK-LABEL: @not_contraction
// CHECK-NOT: mp.composite
module @not_contraction attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %z: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %p = "onnx.Mul"(%x, %z) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.ReduceSum"(%p, %ax) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    onnx.yield %y : tensor<2x4x1xf32>
  }
}

// -----

// An exponential that nothing bounds.
// CHECK-LABEL: @not_exp_alone
// CHECK-NOT: mp.composite
module @not_exp_alone attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %two = onnx.initializer "two" dense<2.000000e+00> : tensor<f32> : tensor<f32>
    %e = "onnx.Exp"(%x) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Mul"(%e, %two) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}
