// RUN: mp-opt %s --split-input-file --mp-annotate-masks=precision=fp16 \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-annotate-masks=precision=bf16 \
// RUN:   | FileCheck %s --check-prefix=BF16

// Half of the greatest number, and half of that where two are added. bf16
// holds -1e9 and not the lowest fp32.
// CHECK-LABEL: @added
// CHECK: onnx.initializer "a" {{.*}}mp.clamp = 1.637600e+04 : f32
// CHECK: onnx.initializer "b" {{.*}}mp.clamp = 3.275200e+04 : f32
// CHECK: onnx.initializer "one"
// CHECK-NOT: mp.clamp
// BF16-LABEL: @added
// BF16: onnx.initializer "a"
// BF16-NOT: mp.clamp
// BF16: onnx.initializer "b" {{.*}}mp.clamp = 1.694{{.*}}E+38 : f32
module @added attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %m: tensor<2x2xi1>):
    %a = onnx.initializer "a" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %b = onnx.initializer "b" dense<[0.0, -3.40282347E+38]> : tensor<2xf32> : tensor<2xf32>
    %one = onnx.initializer "one" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Cast"(%m) {to = 1 : i64} : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %1 = "onnx.Sub"(%one, %0) : (tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.Mul"(%1, %a) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %3 = "onnx.Add"(%x, %2) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = "onnx.Add"(%3, %b) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %5 = "onnx.Softmax"(%4) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %5 : tensor<2x2xf32>
  }
}

// -----

// Chosen, made by ConstantOfShape and Trilu, subtracted, scaled; a softmax in
// its parts; an attention op.
// CHECK-LABEL: @forms
// CHECK: "onnx.Constant"() {mp.clamp = 3.275200e+04 : f32
// CHECK: onnx.initializer "s" {{.*}}mp.clamp = 1.637600e+04 : f32
// CHECK: onnx.initializer "q" {{.*}}mp.clamp = 3.275200e+04 : f32
// CHECK: "onnx.ConstantOfShape"(%{{.*}}) {mp.clamp = 1.637600e+04 : f32
module @forms attributes {onnx.opset_import = [["", 23]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %m: tensor<2x2xi1>, %d: tensor<2xi64>, %q: tensor<1x2x2x2xf32>):
    %w = "onnx.Constant"() {value_float = -1.0e9 : f32} : () -> tensor<f32>
    %s = onnx.initializer "s" dense<1.0e9> : tensor<f32> : tensor<f32>
    %i = onnx.initializer "q" dense<[[0.0, -1.0e9], [0.0, 0.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %eight = onnx.initializer "eight" dense<8.0> : tensor<f32> : tensor<f32>
    %a = onnx.initializer "axes" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %0 = "onnx.Where"(%m, %x, %w) : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %1 = "onnx.Div"(%0, %eight) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %2 = "onnx.Softmax"(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Cast"(%m) {to = 1 : i64} : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %4 = "onnx.Mul"(%3, %s) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %5 = "onnx.Sub"(%x, %4) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = "onnx.ReduceMax"(%5, %a) : (tensor<2x2xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %7 = "onnx.Sub"(%5, %6) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %8 = "onnx.Exp"(%7) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %9 = "onnx.Attention"(%q, %q, %q, %i) : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x2xf32>
    %c = "onnx.ConstantOfShape"(%d) {value = dense<-1.0e9> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<2x2xf32>
    %t = "onnx.Trilu"(%c) {upper = 1 : si64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %e = "onnx.Add"(%x, %t) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %f = "onnx.LogSoftmax"(%e) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %g = "onnx.Exp"(%f) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %2, %8, %9, %g : tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x2x2x2xf32>, tensor<2x2xf32>
  }
}

// -----

// Not masks, or not only: used elsewhere too, shown by an output or by
// LogSoftmax, scaled by what need not be 0 or 1, of two signs, infinite, small
// enough, no longer large after a division, a bias beyond the bound.
// CHECK-LABEL: @others
// CHECK-NOT: mp.clamp
module @others attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %m: tensor<2x2xf32>, %i: tensor<2x2xi64>):
    %a = onnx.initializer "both" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %b = onnx.initializer "shown" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %c = onnx.initializer "soft" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %d = onnx.initializer "signs" dense<[1.0e9, -1.0e9]> : tensor<2xf32> : tensor<2xf32>
    %e = onnx.initializer "infinite" dense<[0.0, 0xFF800000]> : tensor<2xf32> : tensor<2xf32>
    %f = onnx.initializer "small" dense<-1.0e4> : tensor<f32> : tensor<f32>
    %g = onnx.initializer "bias" dense<[-1.0e5, -1.0001e5]> : tensor<2xf32> : tensor<2xf32>
    %h = onnx.initializer "scaled" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %k = onnx.initializer "k" dense<100.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Add"(%x, %a) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %1 = "onnx.Softmax"(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.MatMul"(%0, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Add"(%2, %b) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %4 = "onnx.LogSoftmax"(%3) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = "onnx.Mul"(%m, %c) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %n = "onnx.Cast"(%i) {to = 1 : i64} : (tensor<2x2xi64>) -> tensor<2x2xf32>
    %o = "onnx.Mul"(%n, %c) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %6 = "onnx.Add"(%5, %o) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %7 = "onnx.Add"(%6, %d) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %8 = "onnx.Add"(%7, %e) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %9 = "onnx.Add"(%8, %g) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %10 = "onnx.Softmax"(%9) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %11 = "onnx.Add"(%x, %f) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %12 = "onnx.Softmax"(%11) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %13 = "onnx.Add"(%x, %h) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %14 = "onnx.Div"(%13, %k) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %15 = "onnx.Softmax"(%14) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %4, %10, %12, %15 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
  }
}
