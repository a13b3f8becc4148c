// RUN: mp-opt %s --split-input-file --mp-annotate-shape-arithmetic | FileCheck %s

// Float arithmetic that ends in an integer or in Resize's scales; Sqrt has
// another use. What leaves a contraction is data: quantized to 8 bits it stays
// data, as an index it is none from then on.
// CHECK-LABEL: @destinations
// CHECK: "onnx.Mul"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Floor"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Neg"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.shape_arithmetic
// CHECK: "onnx.Ceil"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
module @destinations attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %s: tensor<4xf32>):
    %0 = "onnx.Mul"(%s, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Floor"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Cast"(%1) {to = 7 : i64} : (tensor<4xf32>) -> tensor<4xi64>
    %3 = "onnx.Neg"(%s) : (tensor<4xf32>) -> tensor<4xf32>
    %absent = onnx.absent
    %4 = "onnx.Resize"(%x, %absent, %3) : (tensor<1x1x4x4xf32>, none, tensor<4xf32>) -> tensor<?x?x?x?xf32>
    %5 = "onnx.Sqrt"(%s) : (tensor<4xf32>) -> tensor<4xf32>
    %6 = "onnx.Cast"(%5) {to = 7 : i64} : (tensor<4xf32>) -> tensor<4xi64>
    %7 = "onnx.MatMul"(%x, %x) : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    %8 = "onnx.Abs"(%7) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    %9 = "onnx.Cast"(%8) {to = 2 : i64} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xui8>
    %10 = "onnx.Ceil"(%7) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
    %11 = "onnx.Cast"(%10) {to = 7 : i64} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xi64>
    onnx.yield %2, %4, %5, %6, %9, %11 : tensor<4xi64>, tensor<?x?x?x?xf32>, tensor<4xf32>, tensor<4xi64>, tensor<1x1x4x4xui8>, tensor<1x1x4x4xi64>
  }
}

// -----

// From a shape, whatever becomes of it, until it meets data.
// CHECK-LABEL: @from_shape
// CHECK: "onnx.Cast"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Sqrt"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Div"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
module @from_shape attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %one = onnx.initializer "one" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Shape"(%x) : (tensor<4x4xf32>) -> tensor<2xi64>
    %1 = "onnx.Cast"(%0) {to = 1 : i64} : (tensor<2xi64>) -> tensor<2xf32>
    %2 = "onnx.Sqrt"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    %3 = "onnx.Div"(%one, %2) : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
    %4 = "onnx.Expand"(%one, %0) : (tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>
    %5 = "onnx.Mul"(%4, %4) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.Mul"(%x, %3) : (tensor<4x4xf32>, tensor<2xf32>) -> tensor<4x4xf32>
    onnx.yield %5, %6 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Rotary embeddings: positions times frequencies, as a product of a column and
// a row, up to Sin and Cos. The tables are looked up as data.
// CHECK-LABEL: @positions
// CHECK: "onnx.Cast"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Unsqueeze"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.MatMul"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Concat"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
module @positions attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x8xf32>, %n: tensor<i64>):
    %zero = onnx.initializer "zero" dense<0> : tensor<i64> : tensor<i64>
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %last = onnx.initializer "last" dense<1> : tensor<1xi64> : tensor<1xi64>
    %freq = onnx.initializer "freq" dense<0.5> : tensor<1x4xf32> : tensor<1x4xf32>
    %0 = "onnx.Range"(%zero, %n, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
    %1 = "onnx.Cast"(%0) {to = 1 : i64} : (tensor<?xi64>) -> tensor<?xf32>
    %2 = "onnx.Unsqueeze"(%1, %last) : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
    %3 = "onnx.MatMul"(%2, %freq) : (tensor<?x1xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
    %4 = "onnx.Concat"(%3, %3) {axis = 1 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
    %5 = "onnx.Cos"(%4) : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %6 = "onnx.Mul"(%x, %5) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %7 = "onnx.Gather"(%freq, %0) : (tensor<1x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
    %8 = "onnx.Relu"(%7) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %9 = "onnx.MatMul"(%freq, %freq) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    onnx.yield %6, %8, %9 : tensor<?x8xf32>, tensor<?x4xf32>, tensor<1x4xf32>
  }
}

// -----

// The angle of an input - a diffusion model's time - but not of data.
// CHECK-LABEL: @angles
// CHECK: mp.shape_arithmetic, onnx.results = {{\[}}"angle"]
// CHECK-NOT: mp.shape_arithmetic
module @angles attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%t: tensor<2x1xf32>, %x: tensor<2x2xf32>):
    %freq = onnx.initializer "freq" dense<0.5> : tensor<1x4xf32> : tensor<1x4xf32>
    %two = onnx.initializer "two" dense<2.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Mul"(%t, %freq) {onnx.results = ["angle"]} : (tensor<2x1xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    %1 = "onnx.Sin"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = "onnx.MatMul"(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Mul"(%2, %two) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %4 = "onnx.Sin"(%3) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %1, %4 : tensor<2x4xf32>, tensor<2x2xf32>
  }
}

// -----

// A size kept as a loop's float state, captured in a branch, joined by an If.
// The other state meets data in the body.
// CHECK-LABEL: @control_flow
// CHECK: "onnx.Cast"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Loop"
// CHECK: "onnx.Add"(%{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
// CHECK: "onnx.If"
// CHECK-NOT: mp.shape_arithmetic
// CHECK: "onnx.Mul"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
// CHECK: "onnx.Floor"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
module @control_flow attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %m: tensor<i64>, %c: tensor<i1>):
    %half = onnx.initializer "half" dense<0.5> : tensor<f32> : tensor<f32>
    %0 = "onnx.Size"(%x) : (tensor<4x4xf32>) -> tensor<i64>
    %1 = "onnx.Cast"(%0) {to = 1 : i64} : (tensor<i64>) -> tensor<f32>
    %2:2 = "onnx.Loop"(%m, %c, %1, %x) ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %size: tensor<f32>, %data: tensor<4x4xf32>):
      %b0 = "onnx.Add"(%size, %half) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %b1 = "onnx.Add"(%data, %size) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
      onnx.yield %go, %b0, %b1 : tensor<i1>, tensor<f32>, tensor<4x4xf32> {onnx.inputs = [{name = "i"}, {name = "go"}, {name = "size"}, {name = "data"}]}
    }) {onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>)
    %3 = "onnx.If"(%c) ({
      %t = "onnx.Mul"(%2#0, %half) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      onnx.yield %t : tensor<f32>
    }, {
      %e = "onnx.ReduceMax"(%2#1) {keepdims = 0 : i64} : (tensor<4x4xf32>) -> tensor<f32>
      onnx.yield %e : tensor<f32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<f32>
    %4 = "onnx.Neg"(%3) : (tensor<f32>) -> tensor<f32>
    %5 = "onnx.Floor"(%2#0) : (tensor<f32>) -> tensor<f32>
    %6 = "onnx.Cast"(%5) {to = 7 : i64} : (tensor<f32>) -> tensor<i64>
    onnx.yield %4, %6 : tensor<f32>, tensor<i64>
  }
}
