// RUN: mp-opt %s --split-input-file --mp-annotate-masks=precision=bf16 \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-annotate-masks=precision=fp16 \
// RUN:   | FileCheck %s --check-prefix=FP16

// The sum, what moves and scales it, and the softmax; not the mask itself, nor
// what comes before. A chain of products, a factor among them.
// CHECK-LABEL: @product
// CHECK: "onnx.Sub"(%{{.*}}) :
// CHECK: "onnx.Mul"(%{{.*}}) :
// CHECK: "onnx.MatMul"(%{{.*}}) :
// CHECK: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 ('c'), beside which bf16 steps by 64">}
// CHECK: "onnx.Transpose"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 {{.*}}">
// CHECK: "onnx.Mul"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 {{.*}}">}
// CHECK: "onnx.Softmax"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 {{.*}}">}
// CHECK: "onnx.MatMul"(%{{.*}}) :
// FP16-LABEL: @product
// FP16: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 ('c'), beside which fp16 steps by 8">}
module @product attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %m: tensor<2x2xf32>):
    %c = onnx.initializer "c" dense<-1.0e4> : tensor<f32> : tensor<f32>
    %one = onnx.initializer "one" dense<1.0> : tensor<f32> : tensor<f32>
    %half = onnx.initializer "half" dense<0.5> : tensor<f32> : tensor<f32>
    %0 = "onnx.Sub"(%one, %m) : (tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Mul"(%0, %c) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %2 = "onnx.MatMul"(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Add"(%2, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = "onnx.Transpose"(%3) {perm = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = "onnx.Mul"(%4, %half) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %6 = "onnx.Softmax"(%5) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %7 = "onnx.MatMul"(%6, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %7 : tensor<2x2xf32>
  }
}

// -----

// A softmax in its parts: the difference to the maximum is one of scores again.
// What else reads the sum is not asked to be fp32.
// CHECK-LABEL: @parts
// CHECK: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000
// CHECK: "onnx.ReduceMax"(%{{.*}}) {{{.*}}mp.hazard = #mp.hazard<"sum with a mask of -10000
// CHECK: "onnx.Sub"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000
// CHECK: "onnx.Exp"(%{{.*}}) :
// CHECK: "onnx.Relu"(%{{.*}}) :
module @parts attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>):
    %c = onnx.initializer "c" dense<[0.0, -1.0e4]> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.Add"(%x, %c) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.ReduceMax"(%0) {axes = array<i64: 1>} : (tensor<2x2xf32>) -> tensor<2x1xf32>
    %2 = "onnx.Sub"(%0, %1) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Exp"(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = "onnx.Relu"(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %3, %4 : tensor<2x2xf32>, tensor<2x2xf32>
  }
}

// -----

// Through an If, whose mask is made in one branch, and a logarithm of a
// softmax. The integers and the divisor that make the mask count as well.
// CHECK-LABEL: @branches
// CHECK: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -1000 ('c'), beside which bf16 steps by 4">}
// CHECK: {mp.hazard = #mp.hazard<"sum with a mask of -1000 {{.*}}">{{.*}}} : (tensor<i1>) -> tensor<2x2xf32>
// CHECK: "onnx.LogSoftmax"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -1000
// CHECK: "onnx.Sub"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of 10000, beside
// FP16-LABEL: @branches
// FP16: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -1000 ('c'), beside which fp16 steps by 0.5">}
module @branches attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %m: tensor<2x2xi64>, %b: tensor<2x2xi1>, %if: tensor<i1>):
    %c = onnx.initializer "c" dense<-1000> : tensor<i64> : tensor<i64>
    %d = onnx.initializer "d" dense<1.0e-4> : tensor<f32> : tensor<f32>
    %0 = "onnx.If"(%if) ({
      %1 = "onnx.Mul"(%m, %c) : (tensor<2x2xi64>, tensor<i64>) -> tensor<2x2xi64>
      %2 = "onnx.Cast"(%1) {to = 1 : i64} : (tensor<2x2xi64>) -> tensor<2x2xf32>
      %3 = "onnx.Add"(%x, %2) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      onnx.yield %3 : tensor<2x2xf32>
    }, {
      onnx.yield %x : tensor<2x2xf32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<2x2xf32>
    %4 = "onnx.LogSoftmax"(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = "onnx.Cast"(%b) {to = 1 : i64} : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %6 = "onnx.Div"(%5, %d) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %7 = "onnx.Sub"(%x, %6) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %8 = "onnx.Softmax"(%7) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %4, %8 : tensor<2x2xf32>, tensor<2x2xf32>
  }
}

// -----

// Scores that one mask has been added to, or chosen instead of, are scores for
// the next: beside -1e9 fp32 keeps none, beside -10000 it does.
// CHECK-LABEL: @two_masks
// CHECK: "onnx.Add"(%{{[^)]*}}) :
// CHECK: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 ('c'), beside
// CHECK: "onnx.Where"(%{{[^)]*}}) :
// CHECK: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 ('c'), beside
module @two_masks attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %b: tensor<2x2xi1>):
    %a = onnx.initializer "a" dense<[0.0, -1.0e9]> : tensor<2xf32> : tensor<2xf32>
    %c = onnx.initializer "c" dense<[0.0, -1.0e4]> : tensor<2xf32> : tensor<2xf32>
    %d = onnx.initializer "d" dense<-1.0e9> : tensor<f32> : tensor<f32>
    %0 = "onnx.MatMul"(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Add"(%0, %a) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.Add"(%1, %c) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Softmax"(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = "onnx.Where"(%b, %0, %d) : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %5 = "onnx.Add"(%4, %c) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %6 = "onnx.Softmax"(%5) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %3, %6 : tensor<2x2xf32>, tensor<2x2xf32>
  }
}

// -----

// The default of an input counts as the constant.
// CHECK-LABEL: @default
// CHECK: "onnx.Add"(%{{.*}}) {mp.hazard = #mp.hazard<"sum with a mask of -10000 ('c'), beside
module @default attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %c: tensor<2xf32>):
    %d = onnx.initializer "c" dense<[0.0, -1.0e4]> : tensor<2xf32> overridable : tensor<2xf32>
    %0 = "onnx.Add"(%x, %c) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Softmax"(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %1 : tensor<2x2xf32> {onnx.inputs = [{name = "x"}, {name = "c"}]}
  }
}

// -----

// Not marked: fp32 loses the scores too, or no score is lost; the mask is
// chosen instead of the score; two masks cancel; one number is added to all;
// scores are scaled by a large number, or are small beside what fp32 keeps; the
// sum reaches no softmax; an attention op adds the mask.
// CHECK-LABEL: @others
// CHECK-NOT: mp.hazard
// FP16-LABEL: @others
// FP16-NOT: mp.hazard
module @others attributes {onnx.opset_import = [["", 23]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x2xf32>, %m: tensor<2x2xf32>, %b: tensor<2x2xi1>, %q: tensor<1x2x2x2xf32>):
    %a = onnx.initializer "a" dense<[0.0, -1.0e9]> : tensor<2xf32> : tensor<2xf32>
    %c = onnx.initializer "c" dense<[0.0, -20.0]> : tensor<2xf32> : tensor<2xf32>
    %d = onnx.initializer "d" dense<-1.0e4> : tensor<f32> : tensor<f32>
    %e = onnx.initializer "e" dense<1.0e4> : tensor<f32> : tensor<f32>
    %f = onnx.initializer "f" dense<[0.0, -3.0e7]> : tensor<2xf32> : tensor<2xf32>
    %g = onnx.initializer "g" dense<[0.0, 0xFF800000]> : tensor<2xf32> : tensor<2xf32>
    %i = onnx.initializer "i" dense<[[0.0, -1.0e4], [0.0, 0.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %0 = "onnx.Add"(%x, %a) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Softmax"(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.Add"(%x, %c) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Softmax"(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = "onnx.Where"(%b, %x, %d) : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %5 = "onnx.Softmax"(%4) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = "onnx.Mul"(%m, %e) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %7 = "onnx.Sub"(%6, %e) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %8 = "onnx.Softmax"(%7) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %9 = "onnx.MatMul"(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %10 = "onnx.Mul"(%9, %e) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %11 = "onnx.Add"(%10, %m) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %12 = "onnx.Softmax"(%11) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %13 = "onnx.Tanh"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %14 = "onnx.Add"(%13, %f) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %15 = "onnx.Softmax"(%14) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %16 = "onnx.Add"(%x, %i) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %17 = "onnx.Attention"(%q, %q, %q, %i) : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x2xf32>
    %18 = "onnx.Add"(%x, %g) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %19 = "onnx.Softmax"(%18) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %1, %3, %5, %8, %12, %15, %16, %17, %19 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x2x2x2xf32>, tensor<2x2xf32>
  }
}
