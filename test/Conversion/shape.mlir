// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Other shapes of the same elements.

// What is left is computed; axes that go together need no memory.
// CHECK-LABEL: mp.name = "collapsed"
// CHECK-NOT: linalg.generic
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%collapsed: tensor<2x3x4xf32>):
    %shape = onnx.initializer "shape" dense<[-1, 4]> : tensor<2xi64> : tensor<2xi64>
    %0 = "onnx.Reshape"(%collapsed, %shape) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
    onnx.yield %0 : tensor<6x4xf32> {onnx.inputs = [{name = "collapsed"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Without a permutation the axes are reversed.
// CHECK-LABEL: mp.name = "reversed"
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x3x4xf32>) outs(%{{.*}} : tensor<4x3x2xf32>)
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%reversed: tensor<2x3x4xf32>):
    %0 = "onnx.Transpose"(%reversed) : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
    onnx.yield %0 : tensor<4x3x2xf32> {onnx.inputs = [{name = "reversed"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// At axis 1, which is the default.
// CHECK-LABEL: mp.name = "flat"
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<2x3x4xf32> into tensor<2x12xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%flat: tensor<2x3x4xf32>):
    %0 = "onnx.Flatten"(%flat) : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
    onnx.yield %0 : tensor<2x12xf32> {onnx.inputs = [{name = "flat"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A new axis.
// CHECK-LABEL: mp.name = "unsqueezed"
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [2, 1, 3]
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%unsqueezed: tensor<2x3xf32>):
    %axes = onnx.initializer "axes" dense<[1]> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.Unsqueeze"(%unsqueezed, %axes) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x1x3xf32>
    onnx.yield %0 : tensor<2x1x3xf32> {onnx.inputs = [{name = "unsqueezed"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %shape = onnx.initializer "shape" dense<[4, -1]> : tensor<2xi64> : tensor<2xi64>
    // expected-error @below {{cannot make 4 elements of 6}}
    %0 = "onnx.Reshape"(%x, %shape) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<4x?xf32>
    onnx.yield %0 : tensor<4x?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
