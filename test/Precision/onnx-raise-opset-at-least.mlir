// RUN: mp-opt %s --split-input-file --onnx-raise-opset=at-least=18 | FileCheck %s
// RUN: not mp-opt %s --split-input-file --onnx-raise-opset=at-least=999 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: cannot raise opset 17 to 999, which is not known

// What is older is raised.
// CHECK-LABEL: module @older
// CHECK-SAME: {{\[}}["", 18]]
// CHECK: %[[AXES:.*]] = "onnx.Constant"() {{.*}}dense<1> : tensor<1xi64>
// CHECK: "onnx.ReduceMean"(%x, %[[AXES]])
module @older attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.ReduceMean"(%x) {axes = array<i64: 1>, onnx.results = ["y"]} : (tensor<4x4xf32>) -> tensor<4x1xf32>
    onnx.yield %0 : tensor<4x1xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// What is as new or newer stays.
// CHECK-LABEL: module @newer
// CHECK-SAME: {{\[}}["", 21]]
module @newer attributes {onnx.opset_import = [["", 21]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
