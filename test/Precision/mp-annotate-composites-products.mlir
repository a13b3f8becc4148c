// RUN: mp-opt %s --split-input-file --mp-annotate-composites | FileCheck %s

// No mean.
// CHECK-LABEL: @rms_norm
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"r"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"n"]
// CHECK-NOT: mp.composite
module @rms_norm attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %two = onnx.initializer "two" dense<2.000000e+00> : tensor<f32> : tensor<f32>
    %one = onnx.initializer "one" dense<1.000000e+00> : tensor<f32> : tensor<f32>
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %w = onnx.initializer "w" dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
    %p = "onnx.Pow"(%x, %two) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: -1>, onnx.results = ["v"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %s = "onnx.Sqrt"(%ve) {onnx.results = ["s"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %r = "onnx.Div"(%one, %s) {onnx.results = ["r"]} : (tensor<f32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %n = "onnx.Mul"(%x, %r) {onnx.results = ["n"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.Mul"(%w, %n) {onnx.results = ["y"]} : (tensor<8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// The power -0.5.
// CHECK-LABEL: @rms_norm_rsqrt
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"v"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"ve"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"r"]
// CHECK: mp.composite = #mp.composite<"RMSNormalization", 0>, onnx.results = {{\[}}"y"]
module @rms_norm_rsqrt attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>):
    %mhalf = onnx.initializer "mhalf" dense<-5.000000e-01> : tensor<f32> : tensor<f32>
    %eps = onnx.initializer "eps" dense<9.99999974E-6> : tensor<f32> : tensor<f32>
    %p = "onnx.Mul"(%x, %x) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %v = "onnx.ReduceMean"(%p) {axes = array<i64: -1>, onnx.results = ["v"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %ve = "onnx.Add"(%v, %eps) {onnx.results = ["ve"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %r = "onnx.Pow"(%ve, %mhalf) {onnx.results = ["r"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %y = "onnx.Mul"(%x, %r) {onnx.results = ["y"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    onnx.yield %y : tensor<2x4x8xf32>
  }
}

// -----

// CHECK-LABEL: @squared_error
// CHECK: mp.composite = #mp.composite<"ReduceSumSquare", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"ReduceSumSquare", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"ReduceSumSquare", 0>, onnx.results = {{\[}}"y"]
module @squared_error attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %t: tensor<2x4x8xf32>):
    %d = "onnx.Sub"(%x, %t) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Mul"(%d, %d) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.ReduceMean"(%p) {keepdims = 0 : i64, onnx.results = ["y"]} : (tensor<2x4x8xf32>) -> tensor<f32>
    onnx.yield %y : tensor<f32>
  }
}

// -----

// CHECK-LABEL: @absolute_error
// CHECK: mp.composite = #mp.composite<"ReduceL1", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"ReduceL1", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"ReduceL1", 0>, onnx.results = {{\[}}"y"]
module @absolute_error attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %t: tensor<2x4x8xf32>):
    %d = "onnx.Sub"(%t, %x) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Abs"(%d) {onnx.results = ["p"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.ReduceSum"(%p) {keepdims = 0 : i64, onnx.results = ["y"]} : (tensor<2x4x8xf32>) -> tensor<f32>
    onnx.yield %y : tensor<f32>
  }
}

// -----

// Weighted logarithms; the final mean is a reduction by itself.
// CHECK-LABEL: @cross_entropy
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"s"]
// CHECK-NOT: mp.composite
module @cross_entropy attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %t: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %l = "onnx.LogSoftmax"(%x) {onnx.results = ["l"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Mul"(%t, %l) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%p, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %k = "onnx.Neg"(%s) {onnx.results = ["k"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %y = "onnx.ReduceMean"(%k) {keepdims = 0 : i64, onnx.results = ["y"]} : (tensor<2x4x1xf32>) -> tensor<f32>
    onnx.yield %y : tensor<f32>
  }
}

// -----

// The product's order and 1 - p.
// CHECK-LABEL: @binary_cross_entropy
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"a"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"i"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"b"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"q"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"k"]
// CHECK: mp.composite = #mp.composite<"NegativeLogLikelihoodLoss", 0>, onnx.results = {{\[}}"y"]
// CHECK-NOT: mp.composite
module @binary_cross_entropy attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %t: tensor<2x4x8xf32>):
    %one = onnx.initializer "one" dense<1.000000e+00> : tensor<f32> : tensor<f32>
    %a = "onnx.Log"(%x) {onnx.results = ["a"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %p = "onnx.Mul"(%t, %a) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %i = "onnx.Sub"(%one, %x) {onnx.results = ["i"]} : (tensor<f32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %b = "onnx.Log"(%i) {onnx.results = ["b"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %j = "onnx.Sub"(%one, %t) {onnx.results = ["j"]} : (tensor<f32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %q = "onnx.Mul"(%j, %b) {onnx.results = ["q"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.Add"(%p, %q) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %k = "onnx.Neg"(%s) {onnx.results = ["k"]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %y = "onnx.ReduceMean"(%k) {keepdims = 0 : i64, onnx.results = ["y"]} : (tensor<2x4x8xf32>) -> tensor<f32>
    onnx.yield %y : tensor<f32>
  }
}

// -----

// A dot product over two lengths.
// CHECK-LABEL: @cosine
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"p1"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"s1"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"n1"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"n2"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"n"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"c"]
// CHECK: mp.composite = #mp.composite<"ReduceL2", 0>, onnx.results = {{\[}}"y"]
module @cosine attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x8xf32>, %t: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %eps = onnx.initializer "eps" dense<9.99999997E-7> : tensor<f32> : tensor<f32>
    %p = "onnx.Mul"(%x, %t) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%p, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %p1 = "onnx.Mul"(%x, %x) {onnx.results = ["p1"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s1 = "onnx.ReduceSum"(%p1, %ax) {onnx.results = ["s1"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %n1 = "onnx.Sqrt"(%s1) {onnx.results = ["n1"]} : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %n2 = "onnx.ReduceL2"(%t) {axes = array<i64: -1>, onnx.results = ["n2"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %n = "onnx.Mul"(%n1, %n2) {onnx.results = ["n"]} : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %c = "onnx.Max"(%n, %eps) {onnx.results = ["c"]} : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
    %y = "onnx.Div"(%s, %c) {onnx.results = ["y"]} : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    onnx.yield %y : tensor<2x4x1xf32>
  }
}

// -----

// CHECK-LABEL: @softmax_grad
// CHECK: mp.composite = #mp.composite<"com.microsoft.SoftmaxGrad_13", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"com.microsoft.SoftmaxGrad_13", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"com.microsoft.SoftmaxGrad_13", 0>, onnx.results = {{\[}}"d"]
// CHECK: mp.composite = #mp.composite<"com.microsoft.SoftmaxGrad_13", 0>, onnx.results = {{\[}}"dx"]
module @softmax_grad attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%y: tensor<2x4x8xf32>, %dy: tensor<2x4x8xf32>):
    %ax = onnx.initializer "ax" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %p = "onnx.Mul"(%dy, %y) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceSum"(%p, %ax) {onnx.results = ["s"]} : (tensor<2x4x8xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
    %d = "onnx.Sub"(%dy, %s) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %dx = "onnx.Mul"(%d, %y) {onnx.results = ["dx"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %dx : tensor<2x4x8xf32>
  }
}

// -----

// dy - x mean(dy x), with dy centered.
// CHECK-LABEL: @layer_norm_grad
// CHECK: mp.composite = #mp.composite<"com.microsoft.LayerNormalizationGrad", 0>, onnx.results = {{\[}}"p"]
// CHECK: mp.composite = #mp.composite<"com.microsoft.LayerNormalizationGrad", 0>, onnx.results = {{\[}}"s"]
// CHECK: mp.composite = #mp.composite<"com.microsoft.LayerNormalizationGrad", 0>, onnx.results = {{\[}}"k"]
// CHECK: mp.composite = #mp.composite<"com.microsoft.LayerNormalizationGrad", 0>, onnx.results = {{\[}}"c"]
// CHECK: mp.composite = #mp.composite<"com.microsoft.LayerNormalizationGrad", 0>, onnx.results = {{\[}}"d"]
// CHECK-NOT: mp.composite
module @layer_norm_grad attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%xh: tensor<2x4x8xf32>, %dy: tensor<2x4x8xf32>, %r: tensor<2x4x1xf32>):
    %p = "onnx.Mul"(%dy, %xh) {onnx.results = ["p"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %s = "onnx.ReduceMean"(%p) {axes = array<i64: -1>, onnx.results = ["s"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %k = "onnx.Mul"(%xh, %s) {onnx.results = ["k"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %m = "onnx.ReduceMean"(%dy) {axes = array<i64: -1>, onnx.results = ["m"]} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
    %c = "onnx.Sub"(%dy, %m) {onnx.results = ["c"]} : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %d = "onnx.Sub"(%c, %k) {onnx.results = ["d"]} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %dx = "onnx.Mul"(%r, %d) {onnx.results = ["dx"]} : (tensor<2x4x1xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    onnx.yield %dx : tensor<2x4x8xf32>
  }
}
