// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// One loop nest, with the reduced axes innermost.

// Sums of 16 bit are formed in fp32 and rounded once.
// CHECK-LABEL: mp.name = "half"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<2x3xbf16>) outs(%{{.*}} : tensor<2xf32>)
// CHECK: arith.addf
// CHECK: arith.truncf
// CHECK: tensor.expand_shape %{{.*}} tensor<2xbf16> into tensor<2x1xbf16>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%half: tensor<2x3xbf16>):
    %axes = onnx.initializer "axes" dense<[1]> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.ReduceSum"(%half, %axes) : (tensor<2x3xbf16>, tensor<1xi64>) -> tensor<2x1xbf16>
    onnx.yield %0 : tensor<2x1xbf16> {onnx.inputs = [{name = "half"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Axes are an attribute up to opset 17; the mean divides once.
// CHECK-LABEL: mp.name = "by_attribute"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: return %{{.*}} : tensor<2xf32>
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%by_attribute: tensor<2x3xf32>):
    %0 = "onnx.ReduceMean"(%by_attribute) {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<2x3xf32>) -> tensor<2xf32>
    onnx.yield %0 : tensor<2xf32> {onnx.inputs = [{name = "by_attribute"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// No axes may mean that nothing is reduced.
// CHECK-LABEL: mp.name = "untouched"
// CHECK-NOT: reduction
// CHECK: return %{{.*}} : tensor<2x3xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%untouched: tensor<2x3xf32>):
    %0 = "onnx.ReduceMax"(%untouched) {noop_with_empty_axes = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "untouched"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %axes = onnx.initializer "axes" dense<[2]> : tensor<1xi64> : tensor<1xi64>
    // expected-error @below {{axis 2 of a tensor with 2 axes}}
    %0 = "onnx.ReduceSum"(%x, %axes) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
