// RUN: mp-opt %s --split-input-file --onnx-raise-opset=to=18 --verify-diagnostics
// RUN: not mp-opt %s --split-input-file --onnx-raise-opset=to=9 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LOWER
// RUN: not mp-opt %s --split-input-file --onnx-raise-opset=to=999 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN

// LOWER: error: cannot raise opset 10 to 9, which is lower
// UNKNOWN: error: cannot raise opset 10 to 999, which is not known
module attributes {onnx.opset_import = [["", 10]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    // expected-error@below {{node 'bounds' (Clip-6): cannot be raised to opset 18: input 'min' is new in Clip-13}}
    %0 = "onnx.Clip"(%x) {onnx.name = "bounds", max = 1.0 : f32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}

// -----

// Without a split input, Split-18 wants the number of outputs.
module attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %s: tensor<2xi64>):
    %0:2 = "onnx.Split"(%x, %s) {onnx.name = "fine"} : (tensor<4x4xf32>, tensor<2xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    // expected-error@below {{node 'even' (Split-13): cannot be raised to opset 18: attribute 'num_outputs' is new in Split-18}}
    %1:2 = "onnx.Split"(%x) {onnx.name = "even"} : (tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    onnx.yield %0#0, %1#0 : tensor<2x4xf32>, tensor<2x4xf32>
  }
}

// -----

module attributes {onnx.opset_import = [["", 12]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    // expected-error@below {{node 'sm' (Softmax-11): cannot be raised to opset 18: attribute 'axis' has changed in Softmax-13}}
    %0 = "onnx.Softmax"(%x) {onnx.name = "sm"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}
