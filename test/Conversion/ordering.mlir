// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Places of elements, and sums in their order.

// The first of the greatest; NaN is greater than all.
// CHECK-LABEL: mp.name = "greatest"
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<2x3xf32>) outs(%{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xi64>)
// CHECK: %[[I:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: kernel.arg_select gt %{{.*}}, %[[I]] over %{{.*}}, %{{.*}} : f32, i64
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%greatest: tensor<2x3xf32>):
    %0 = "onnx.ArgMax"(%greatest) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x1xi64>
    onnx.yield %0 : tensor<2x1xi64> {onnx.inputs = [{name = "greatest"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Indices are sorted by merging, and the first of them taken.
// CHECK-LABEL: mp.name = "sorted"
// CHECK: scf.while {{.*}} (index, tensor<8xi64>, tensor<8xi64>)
// CHECK: arith.constant 3 : index
// CHECK: tensor.insert %{{.*}} : tensor<2x3xf32>
// CHECK: tensor.insert %{{.*}} : tensor<2x3xi64>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%sorted: tensor<2x8xf32>):
    %k = onnx.initializer "k" dense<[3]> : tensor<1xi64> : tensor<1xi64>
    %values, %indices = "onnx.TopK"(%sorted, %k) : (tensor<2x8xf32>, tensor<1xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
    onnx.yield %values, %indices : tensor<2x3xf32>, tensor<2x3xi64> {onnx.inputs = [{name = "sorted"}], onnx.outputs = [{name = "y"}, {name = "out1"}]}
  }
}

// -----

// Each slice is added to the sum of those before.
// CHECK-LABEL: mp.name = "summed"
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}} : tensor<2x8xf32> to tensor<2xf32>
// CHECK: arith.addf
// CHECK: tensor.insert_slice %{{.*}} : tensor<2xf32> into tensor<2x8xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%summed: tensor<2x8xf32>):
    %axis = onnx.initializer "axis" dense<1> : tensor<i64> : tensor<i64>
    %0 = "onnx.CumSum"(%summed, %axis) : (tensor<2x8xf32>, tensor<i64>) -> tensor<2x8xf32>
    onnx.yield %0 : tensor<2x8xf32> {onnx.inputs = [{name = "summed"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @below {{axis 2 of a tensor with 2 axes}}
    %0 = "onnx.ArgMax"(%x) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x1xi64>
    onnx.yield %0 : tensor<2x1xi64> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
