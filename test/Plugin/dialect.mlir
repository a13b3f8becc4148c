// RUN: mlir-opt --load-dialect-plugin=%mp_plugin --canonicalize %s \
// RUN:   | FileCheck %s
// RUN: not mlir-opt --canonicalize %s 2>&1 | FileCheck %s --check-prefix=ALONE
// REQUIRES: mlir-opt

// Stock mlir-opt knows the dialect's operators and what they do: results print
// under their ONNX names, and unused nodes without effects go.

// ALONE: unregistered dialect

module attributes {onnx.opset_import = [["", 17]]} {
  // CHECK-LABEL: func.func @remove_unused_nodes
  //  CHECK-SAME:   (%[[X:.*]]: tensor<2x3xf32>)
  //  CHECK-NEXT:   %positive = "onnx.Relu"(%[[X]])
  //  CHECK-NEXT:   return %positive
  func.func @remove_unused_nodes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "onnx.Relu"(%x) {onnx.results = ["positive"]}
      : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = "onnx.Sqrt"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
