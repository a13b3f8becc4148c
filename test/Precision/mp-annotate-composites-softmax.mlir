// RUN: mp-opt %s --split-input-file --mp-annotate-composites | FileCheck %s

// CHECK-LABEL: @softmax
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"y"]
module @softmax attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %m = "onnx.ReduceMax"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %e = "onnx.Exp"(%d) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%e, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %y = "onnx.Div"(%e, %s) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// Neg and Add for Sub, times the reciprocal.
// CHECK-LABEL: @softmax_reciprocal
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"u"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"k"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"r"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"y"]
module @softmax_reciprocal attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %m = "onnx.ReduceMax"(%x) {axes = array<i64: -1>, keepdims = 0 : i64, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4xf32>
    %u = "onnx.Unsqueeze"(%m, %ax) {onnx.results = ["u"]} : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %k = "onnx.Neg"(%u) {onnx.results = ["k"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %d = "onnx.Add"(%k, %x) {onnx.results = ["d"]} : (tensor<2x4x1xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %e = "onnx.Exp"(%d) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%e, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %r = "onnx.Reciprocal"(%s) {onnx.results = ["r"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %y = "onnx.Mul"(%r, %e) {onnx.results = ["y"]} : (tensor<2x4x1xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// Without the maximum.
// CHECK-LABEL: @softmax_unshifted
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"Softmax", 0>, onnx.results = {{\[}}"y"]
module @softmax_unshifted attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %e = "onnx.Exp"(%x) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%e, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %y = "onnx.Div"(%e, %s) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// CHECK-LABEL: @log_softmax
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"l"]
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"y"]
module @log_softmax attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %m = "onnx.ReduceMax"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %e = "onnx.Exp"(%d) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%e, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %l = "onnx.Log"(%s) {onnx.results = ["l"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %y = "onnx.Sub"(%d, %l) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// Between them a bound.
// CHECK-LABEL: @log_of_softmax
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"c"]
// CHECK: mp.composite = #mp.composite<"LogSoftmax", 0>, onnx.results = {{\[}}"y"]
module @log_of_softmax attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %eps = onnx.initializer "eps" dense<1.000000e-07> : tensor<f32> : tensor<f32>
    %one = onnx.initializer "one" dense<1.000000e+00> : tensor<f32> : tensor<f32>
    %p = "onnx.Softmax"(%x) {onnx.results = ["p"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %c = "onnx.Clip"(%p, %eps, %one) {onnx.results = ["c"]} : (tensor<2x4x8xf32>, tensor<f32>, tensor<f32>) -> tensor<2x4x8xf32>
    %y = "onnx.Log"(%c) {onnx.results = ["y"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// The maximum that is added again belongs to it.
// CHECK-LABEL: @log_sum_exp
// CHECK: mp.composite = #mp.composite<"ReduceLogSumExp", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"ReduceLogSumExp", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"ReduceLogSumExp", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"ReduceLogSumExp", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"ReduceLogSumExp", 0>, onnx.results = {{\[}}"l"]
// CHECK: mp.composite = #mp.composite<"ReduceLogSumExp", 0>, onnx.results = {{\[}}"y"]
module @log_sum_exp attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %m = "onnx.ReduceMax"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %e = "onnx.Exp"(%d) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%e, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %l = "onnx.Log"(%s) {onnx.results = ["l"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %y = "onnx.Add"(%l, %m) {onnx.results = ["y"]} : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    onnx.yield %y : tensor<2x4x1xf32>
  }
}

// -----

// x over its length, which is bounded from below.
// CHECK-LABEL: @lp_norm
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"q"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"c"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"y"]
module @lp_norm attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %eps = onnx.initializer "eps" dense<9.99999997E-7> : tensor<f32> : tensor<f32>
    %p = "onnx.Mul"(%x, %x) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%p, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %q = "onnx.Sqrt"(%s) {onnx.results = ["q"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %c = "onnx.Clip"(%q, %eps) {onnx.results = ["c"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %y = "onnx.Div"(%x, %c) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// As torch writes normalize().
// CHECK-LABEL: @lp_norm_reduce_l2
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"n"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"c"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"k"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"y"]
module @lp_norm_reduce_l2 attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %to = onnx.initializer "to" dense<[2, 4, 8]> : tensor<3xi64> : tensor<3xi64>
    %eps = onnx.initializer "eps" dense<9.99999997E-7> : tensor<f32> : tensor<f32>
    %n = "onnx.ReduceL2"(%x) {axes = array<i64: -1>, onnx.results = ["n"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %c = "onnx.Max"(%n, %eps) {onnx.results = ["c"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %k = "onnx.Expand"(%c, %to) {onnx.results = ["k"]} : (tensor<2x4x1xf32>, tensor<3xi64>) -> tensor<2x4x8xf32>
    %y = "onnx.Div"(%x, %k) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// x over its sum: the Relu is before x.
// CHECK-LABEL: @sum_to_one
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"LpNormalization", 0>, onnx.results = {{\[}}"y"]
// CHECK-NOT: mp.composite
module @sum_to_one attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %a = "onnx.Relu"(%x) {onnx.results = ["a"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%a, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %y = "onnx.Div"(%a, %s) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// A deviation that nothing is divided by.
// CHECK-LABEL: @std_deviation
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"m"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"y"]
module @std_deviation attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %m = "onnx.ReduceMean"(%x) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%x, %m) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: -1>, onnx.results = ["v"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %y = "onnx.Sqrt"(%v) {onnx.results = ["y"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    onnx.yield %y : tensor<2x4x1xf32>
  }
}

// -----

// CHECK-LABEL: @sigmoid
// CHECK: mp.composite = #mp.composite<"Sigmoid", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"Sigmoid", 0>, onnx.results = {{\[}}"a"]
// CHECK: mp.composite = #mp.composite<"Sigmoid", 0>, onnx.results = {{\[}}"y"]
// CHECK-NOT: mp.composite
module @sigmoid attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %one = onnx.initializer "one" dense<1.000000e+00> : tensor<f32> : tensor<f32>
    %k = "onnx.Neg"(%x) {onnx.results = ["k"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %e = "onnx.Exp"(%k) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %a = "onnx.Add"(%one, %e) {onnx.results = ["a"]} : (tensor<f32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Reciprocal"(%a) {onnx.results = ["y"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// CHECK-LABEL: @softplus
// CHECK: mp.composite = #mp.composite<"Softplus", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"Softplus", 0>, onnx.results = {{\[}}"a"]
// CHECK: mp.composite = #mp.composite<"Softplus", 0>, onnx.results = {{\[}}"y"]
module @softplus attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %one = onnx.initializer "one" dense<1.000000e+00> : tensor<f32> : tensor<f32>
    %e = "onnx.Exp"(%x) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %a = "onnx.Add"(%e, %one) {onnx.results = ["a"]} : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %y = "onnx.Log"(%a) {onnx.results = ["y"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// Infinite over infinite in fp16.
// CHECK-LABEL: @tanh
// CHECK: mp.composite = #mp.composite<"Sinh", 0>, onnx.results = {{\[}}"e"]
// CHECK: mp.composite = #mp.composite<"Sinh", 0>, onnx.results = {{\[}}"f"]
// CHECK: mp.composite = #mp.composite<"Sinh", 0>, onnx.results = {{\[}}"a"]
// CHECK: mp.composite = #mp.composite<"Sinh", 0>, onnx.results = {{\[}}"b"]
// CHECK: mp.composite = #mp.composite<"Sinh", 0>, onnx.results = {{\[}}"y"]
// CHECK-NOT: mp.composite
module @tanh attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %e = "onnx.Exp"(%x) {onnx.results = ["e"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %k = "onnx.Neg"(%x) {onnx.results = ["k"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %f = "onnx.Exp"(%k) {onnx.results = ["f"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %a = "onnx.Sub"(%e, %f) {onnx.results = ["a"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %b = "onnx.Add"(%e, %f) {onnx.results = ["b"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Div"(%a, %b) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}
