// RUN: mp-opt %s --split-input-file --mp-annotate-shape-arithmetic | FileCheck %s

// Backward through an If and into a Loop's body: both branches' values end in
// an integer behind the If, the state in one behind the Loop.
// CHECK-LABEL: @into_bodies
// CHECK: "onnx.If"
// CHECK: "onnx.Abs"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Neg"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Exp"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Loop"
// CHECK: "onnx.Sqrt"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
// CHECK: "onnx.Relu"
module @into_bodies attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%s: tensor<f32>, %m: tensor<i64>, %c: tensor<i1>, %x: tensor<f32>):
    %0 = "onnx.If"(%c) ({
      %t = "onnx.Abs"(%s) : (tensor<f32>) -> tensor<f32>
      onnx.yield %t : tensor<f32>
    }, {
      %e = "onnx.Neg"(%s) : (tensor<f32>) -> tensor<f32>
      onnx.yield %e : tensor<f32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<f32>
    %1 = "onnx.Cast"(%0) {to = 7 : i64} : (tensor<f32>) -> tensor<i64>
    %2 = "onnx.Exp"(%s) : (tensor<f32>) -> tensor<f32>
    %3:3 = "onnx.Loop"(%m, %c, %2, %x) ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %size: tensor<f32>, %data: tensor<f32>):
      %b0 = "onnx.Sqrt"(%size) : (tensor<f32>) -> tensor<f32>
      %b1 = "onnx.Relu"(%data) : (tensor<f32>) -> tensor<f32>
      onnx.yield %go, %b0, %b1, %b1 : tensor<i1>, tensor<f32>, tensor<f32>, tensor<f32> {onnx.inputs = [{name = "i"}, {name = "go"}, {name = "size"}, {name = "data"}]}
    }) {onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<?xf32>)
    %4 = "onnx.Cast"(%3#0) {to = 7 : i64} : (tensor<f32>) -> tensor<i64>
    onnx.yield %1, %4, %3#1, %3#2 : tensor<i64>, tensor<i64>, tensor<f32>, tensor<?xf32>
  }
}

// -----

// A comparison of data that decides an If, a mask made of positions, an
// embedding, counts of a float mask.
// CHECK-LABEL: @no_sizes
// CHECK-NOT: mp.shape_arithmetic
// CHECK: "onnx.CumSum"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Mul"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
module @no_sizes attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<f32>, %n: tensor<i64>, %mask: tensor<8xi1>):
    %zero = onnx.initializer "zero" dense<0> : tensor<i64> : tensor<i64>
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %low = onnx.initializer "low" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %0 = "onnx.Sqrt"(%x) : (tensor<f32>) -> tensor<f32>
    %1 = "onnx.Greater"(%0, %low) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = "onnx.If"(%1) ({
      onnx.yield %x : tensor<f32>
    }, {
      onnx.yield %0 : tensor<f32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<f32>
    %3 = "onnx.Range"(%zero, %n, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
    %4 = "onnx.Less"(%3, %one) : (tensor<?xi64>, tensor<i64>) -> tensor<?xi1>
    %5 = "onnx.Where"(%4, %low, %x) : (tensor<?xi1>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
    %6 = "onnx.Cast"(%4) {to = 1 : i64} : (tensor<?xi1>) -> tensor<?xf32>
    %7 = "onnx.Mul"(%6, %low) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
    %8 = "onnx.Cast"(%mask) {to = 1 : i64} : (tensor<8xi1>) -> tensor<8xf32>
    %9 = "onnx.CumSum"(%8, %zero) : (tensor<8xf32>, tensor<i64>) -> tensor<8xf32>
    %10 = "onnx.Mul"(%9, %low) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    onnx.yield %2, %5, %7, %10 : tensor<f32>, tensor<?xf32>, tensor<?xf32>, tensor<8xf32>
  }
}

// -----

// Into a function that has a clone for the call, and out of it; the call itself
// is not marked, as its other results may be data.
// CHECK-LABEL: @call
// CHECK: "onnx.Cast"{{.*}}mp.shape_arithmetic
// CHECK-NOT: mp.shape_arithmetic
// CHECK: onnx.custom
// CHECK: "onnx.Neg"{{.*}}mp.shape_arithmetic
// CHECK: onnx.function
// CHECK: "onnx.Div"{{.*}}mp.shape_arithmetic
// CHECK: "onnx.Exp"
// CHECK-NOT: mp.shape_arithmetic
module @call attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %k = onnx.initializer "k" dense<8.0> : tensor<f32> : tensor<f32>
    %s = "onnx.Shape"(%x) : (tensor<4xf32>) -> tensor<1xi64>
    %c = "onnx.Cast"(%s) {to = 1 : i64} : (tensor<1xi64>) -> tensor<1xf32>
    %0:2 = onnx.custom "my" "Scale"(%c, %k, %x) attributes {mp.callee = "Scale_1"} : (tensor<1xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<1xf32>, tensor<4xf32>)
    %1 = "onnx.Neg"(%0#0) : (tensor<1xf32>) -> tensor<1xf32>
    onnx.yield %1, %0#1 : tensor<1xf32>, tensor<4xf32>
  }
  onnx.function "my" "Scale_1" attributes {mp.specialized = "Scale", onnx.opset_import = [["", 17]]} {
  ^bb0(%a: tensor<1xf32>, %b: tensor<f32>, %y: tensor<4xf32>):
    %d = "onnx.Div"(%a, %b) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
    %e = "onnx.Exp"(%y) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %d, %e : tensor<1xf32>, tensor<4xf32>
  }
}
