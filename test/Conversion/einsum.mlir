// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// The equation becomes maps.

// Of two operands: a contraction.
// CHECK-LABEL: mp.name = "product"
// CHECK: kernel.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3x4xf32>) outs(%{{.*}} : tensor<4x2xf32>)
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%product: tensor<2x3xf32>, %b: tensor<3x4xf32>):
    %0 = "onnx.Einsum"(%product, %b) {equation = "ij,jk->ki"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
    onnx.yield %0 : tensor<4x2xf32> {onnx.inputs = [{name = "product"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Of one: what no index of the result names is summed.
// CHECK-LABEL: mp.name = "turned"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}} : tensor<2x3x4xf32>) outs(%{{.*}} : tensor<4x2xf32>)
// CHECK: arith.addf
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%turned: tensor<2x3x4xf32>):
    %0 = "onnx.Einsum"(%turned) {equation = "ijk->ki"} : (tensor<2x3x4xf32>) -> tensor<4x2xf32>
    onnx.yield %0 : tensor<4x2xf32> {onnx.inputs = [{name = "turned"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>, %b: tensor<4x5xf32>):
    // expected-error @below {{an axis of the sizes 3 and 4}}
    %0 = "onnx.Einsum"(%x, %b) {equation = "ij,jk->ik"} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    onnx.yield %0 : tensor<2x5xf32> {onnx.inputs = [{name = "x"}, {name = "b"}], onnx.outputs = [{name = "y"}]}
  }
}
