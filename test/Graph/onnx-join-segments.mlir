// RUN: mp-opt %s --split-input-file --onnx-join-segments | FileCheck %s

// Bags of one length become an axis. The result keeps its name.
// CHECK-LABEL: module @even
// CHECK-NOT: "onnx.Slice"
// CHECK: %[[R:.*]] = "onnx.Reshape"(%x{{.*}} -> tensor<2x3x4xf32>
// CHECK: %[[Y:.*]] = "onnx.ReduceMean"(%[[R]]{{.*}}onnx.results = ["y"]{{.*}} -> tensor<2x4xf32>
// CHECK: onnx.yield %[[Y]]
module @even attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<6x4xf32>):
    %zero = onnx.initializer "zero" dense<0> : tensor<1xi64> : tensor<1xi64>
    %three = onnx.initializer "three" dense<3> : tensor<1xi64> : tensor<1xi64>
    %six = onnx.initializer "six" dense<6> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.Slice"(%x, %zero, %three) {onnx.results = ["a"]} : (tensor<6x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x4xf32>
    %1 = "onnx.ReduceMean"(%0, %zero) {onnx.results = ["b"]} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %2 = "onnx.Slice"(%x, %three, %six) {onnx.results = ["c"]} : (tensor<6x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x4xf32>
    %3 = "onnx.ReduceMean"(%2, %zero) {onnx.results = ["d"]} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %4 = "onnx.Concat"(%1, %3) {axis = 0 : i64, onnx.results = ["y"]} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    onnx.yield %4 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// As torch's older exporter writes bags: indices are sliced, then looked up.
// Bags of different length are added where they belong.
// CHECK-LABEL: module @lookup
// CHECK: %[[ROWS:.*]] = "onnx.Gather"(%w, %i)
// CHECK: "onnx.ScatterND"(%{{.*}}, %{{.*}}, %[[ROWS]]) {{.*}}onnx.results = ["y"], reduction = "add"
// CHECK-NOT: "onnx.Slice"
module @lookup attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<9x4xf32>, %i: tensor<5xi64>):
    %zero = onnx.initializer "zero" dense<0> : tensor<1xi64> : tensor<1xi64>
    %two = onnx.initializer "two" dense<2> : tensor<1xi64> : tensor<1xi64>
    %five = onnx.initializer "five" dense<5> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.Slice"(%i, %zero, %two) {onnx.results = ["a"]} : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %1 = "onnx.Gather"(%w, %0) {onnx.results = ["b"]} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    %2 = "onnx.ReduceSum"(%1, %zero) {keepdims = 0 : i64, onnx.results = ["c"]} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<4xf32>
    %3 = "onnx.Unsqueeze"(%2, %zero) {onnx.results = ["d"]} : (tensor<4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %4 = "onnx.Slice"(%i, %two, %five) {onnx.results = ["e"]} : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
    %5 = "onnx.Gather"(%w, %4) {onnx.results = ["f"]} : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
    %6 = "onnx.ReduceSum"(%5, %zero) {keepdims = 0 : i64, onnx.results = ["g"]} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<4xf32>
    %7 = "onnx.Unsqueeze"(%6, %zero) {onnx.results = ["h"]} : (tensor<4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %8 = "onnx.Concat"(%3, %7) {axis = 0 : i64, onnx.results = ["y"]} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    onnx.yield %8 : tensor<2x4xf32> {onnx.inputs = [{name = "w"}, {name = "i"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Rows between the slices are missing; a factor has rows of its own.
// CHECK-LABEL: module @kept
// CHECK-COUNT-4: "onnx.ReduceSum"
module @kept attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<6x4xf32>, %m: tensor<3x4xf32>):
    %zero = onnx.initializer "zero" dense<0> : tensor<1xi64> : tensor<1xi64>
    %two = onnx.initializer "two" dense<2> : tensor<1xi64> : tensor<1xi64>
    %three = onnx.initializer "three" dense<3> : tensor<1xi64> : tensor<1xi64>
    %six = onnx.initializer "six" dense<6> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.Slice"(%x, %zero, %two) {onnx.results = ["a"]} : (tensor<6x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x4xf32>
    %1 = "onnx.ReduceSum"(%0, %zero) {onnx.results = ["b"]} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %2 = "onnx.Slice"(%x, %three, %six) {onnx.results = ["c"]} : (tensor<6x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x4xf32>
    %3 = "onnx.ReduceSum"(%2, %zero) {onnx.results = ["d"]} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %4 = "onnx.Concat"(%1, %3) {axis = 0 : i64, onnx.results = ["y"]} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    %5 = "onnx.Slice"(%x, %zero, %three) {onnx.results = ["e"]} : (tensor<6x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x4xf32>
    %6 = "onnx.Mul"(%5, %m) {onnx.results = ["f"]} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %7 = "onnx.ReduceSum"(%6, %zero) {onnx.results = ["g"]} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %8 = "onnx.Mul"(%2, %m) {onnx.results = ["h"]} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %9 = "onnx.ReduceSum"(%8, %zero) {onnx.results = ["i"]} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
    %10 = "onnx.Concat"(%7, %9) {axis = 0 : i64, onnx.results = ["z"]} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    onnx.yield %4, %10 : tensor<2x4xf32>, tensor<2x4xf32> {onnx.inputs = [{name = "x"}, {name = "m"}], onnx.outputs = [{name = "y"}, {name = "z"}]}
  }
}
