// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Results whose sizes the data decides.

// Counted first; then each chosen slice goes behind the last one.
// CHECK-LABEL: mp.name = "chosen"
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<4xi8>)
// CHECK: tensor.empty(%{{.*}}) : tensor<?x2xf32>
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tensor.insert_slice %{{.*}} : tensor<2xf32> into tensor<?x2xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%chosen: tensor<4x2xf32>, %mask: tensor<4xi1>):
    %0 = "onnx.Compress"(%chosen, %mask) {axis = 0 : i64} : (tensor<4x2xf32>, tensor<4xi1>) -> tensor<?x2xf32>
    onnx.yield %0 : tensor<?x2xf32> {onnx.inputs = [{name = "chosen"}, {name = "mask"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// The same of indices.
// CHECK-LABEL: mp.name = "nonzero"
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<4xf32>)
// CHECK: tensor.empty(%{{.*}}) : tensor<1x?xi64>
// CHECK: scf.if
// CHECK: tensor.insert %{{.*}} : tensor<1x?xi64>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%nonzero: tensor<4xf32>):
    %0 = "onnx.NonZero"(%nonzero) : (tensor<4xf32>) -> tensor<1x?xi64>
    onnx.yield %0 : tensor<1x?xi64> {onnx.inputs = [{name = "nonzero"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Equal elements are neighbours once they are sorted.
// CHECK-LABEL: mp.name = "unique"
// CHECK: scf.while
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}} : tensor<4xi64> to tensor<?xi64>
// CHECK: return %{{.*}} : tensor<?xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%unique: tensor<4xf32>):
    %0 = "onnx.Unique"(%unique) : (tensor<4xf32>) -> tensor<?xf32>
    onnx.yield %0 : tensor<?xf32> {onnx.inputs = [{name = "unique"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x2xf32>, %mask: tensor<2x2xi1>):
    // expected-error @below {{the condition has 2 axes, expected 1}}
    %0 = "onnx.Compress"(%x, %mask) {axis = 0 : i64} : (tensor<4x2xf32>, tensor<2x2xi1>) -> tensor<?x2xf32>
    onnx.yield %0 : tensor<?x2xf32> {onnx.inputs = [{name = "x"}, {name = "mask"}], onnx.outputs = [{name = "y"}]}
  }
}
