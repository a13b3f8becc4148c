// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Borders and fills.

// A border of a constant is a fill around the operand.
// CHECK-LABEL: mp.name = "padded"
// CHECK: linalg.fill {{.*}} -> tensor<2x5xf32>
// CHECK: tensor.insert_slice %{{.*}}[0, 1] [2, 3] [1, 1]
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%padded: tensor<2x3xf32>):
    %pads = onnx.initializer "pads" dense<[0, 1, 0, 1]> : tensor<4xi64> : tensor<4xi64>
    %0 = "onnx.Pad"(%padded, %pads) : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x5xf32>
    onnx.yield %0 : tensor<2x5xf32> {onnx.inputs = [{name = "padded"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// One of copies is loaded from the nearest cell.
// CHECK-LABEL: mp.name = "edge"
// CHECK-NOT: linalg.fill
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: tensor.extract %{{.*}} : tensor<2x3xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%edge: tensor<2x3xf32>):
    %pads = onnx.initializer "pads" dense<[0, 1, 0, 1]> : tensor<4xi64> : tensor<4xi64>
    %0 = "onnx.Pad"(%edge, %pads) {mode = "edge"} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x5xf32>
    onnx.yield %0 : tensor<2x5xf32> {onnx.inputs = [{name = "edge"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A class below zero counts from the end.
// CHECK-LABEL: mp.name = "classes"
// CHECK: arith.cmpi slt
// CHECK: arith.addi
// CHECK: arith.cmpi eq
// CHECK: linalg.yield %{{.*}} : f32
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%classes: tensor<2xi64>, %values: tensor<2xf32>):
    %depth = onnx.initializer "depth" dense<4> : tensor<i64> : tensor<i64>
    %0 = "onnx.OneHot"(%classes, %depth, %values) : (tensor<2xi64>, tensor<i64>, tensor<2xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "classes"}, {name = "values"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// The diagonal is that of the attribute.
// CHECK-LABEL: mp.name = "eye"
// CHECK: %[[K:.*]] = arith.constant 1 : index
// CHECK: %[[PLACE:.*]] = arith.addi %{{.*}}, %[[K]] : index
// CHECK: arith.cmpi eq, %[[PLACE]]
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%eye: tensor<3x3xf32>):
    %0 = "onnx.EyeLike"(%eye) {k = 1 : i64} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    onnx.yield %0 : tensor<3x3xf32> {onnx.inputs = [{name = "eye"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %pads = onnx.initializer "pads" dense<[0, 1, 0, 1]> : tensor<4xi64> : tensor<4xi64>
    // expected-error @below {{unknown mode 'other'}}
    %0 = "onnx.Pad"(%x, %pads) {mode = "other"} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x5xf32>
    onnx.yield %0 : tensor<2x5xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
