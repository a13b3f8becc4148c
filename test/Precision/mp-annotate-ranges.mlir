// RUN: mp-opt %s --split-input-file --mp-annotate-ranges=precision=fp16 \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-annotate-ranges=precision=bf16 \
// RUN:   | FileCheck %s --check-prefix=BF16

// 300 * 300 overflows for certain: neither the product nor a reader is 16 bit,
// nor what only passes on the reader's result, up to the next contraction.
// BF16-LABEL: @product
// BF16-NOT: mp.hazard
// CHECK-LABEL: @product
// CHECK: "onnx.Mul"{{.*}}mp.hazard = #mp.hazard<"result 'p' reaches 90000, fp16 ends at 65504">
// CHECK: "onnx.MatMul"{{.*}}mp.hazard = #mp.hazard<"operand 'p' reaches 90000, fp16 ends at 65504">
// CHECK: "onnx.Relu"{{.*}}mp.hazard = #mp.hazard<"operand 'm' is made of 'p' (90000), fp16 ends at 65504">
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
module @product attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %a = onnx.initializer "a" dense<[[300.0, 1.0, 1.0, 1.0]]> : tensor<1x4xf32> : tensor<1x4xf32>
    %b = onnx.initializer "b" dense<300.0> : tensor<4x4xf32> : tensor<4x4xf32>
    %p = "onnx.Mul"(%a, %b) {onnx.results = ["p"]} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %p) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["r"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%x, %1) {onnx.results = ["n"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32>
  }
}

// -----

// That a value may be large proves nothing: the sigmoid need not reach 1, and
// of the input nothing is known.
// CHECK-LABEL: @unproved
// CHECK-NOT: mp.hazard
module @unproved attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %k = onnx.initializer "k" dense<60000.0> : tensor<f32> : tensor<f32>
    %s = "onnx.Sigmoid"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %0 = "onnx.Mul"(%s, %k) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.Add"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Mul"(%x, %k) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    onnx.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A constant beyond the range, and what it is added to. As a mere factor it
// leaves contractions free.
// BF16-LABEL: @constant
// BF16-NOT: mp.hazard
// CHECK-LABEL: @constant
// CHECK: "onnx.Add"{{.*}}mp.hazard = #mp.hazard<"constant 'k' holds -70000, fp16 ends at 65504">
// CHECK: "onnx.Relu"{{.*}}mp.hazard = #mp.hazard<"operand 'a' is made of 'k' (-70000), fp16 ends at 65504">
// CHECK: "onnx.MatMul"{{.*}}mp.hazard = #mp.hazard<"operand 'r' is made of 'k' (-70000), fp16 ends at 65504">
// CHECK: "onnx.Mul"{{.*}}mp.hazard = #mp.hazard<"constant 'k' holds -70000, fp16 ends at 65504">
// CHECK: "onnx.Relu"{{.*}}mp.hazard = #mp.hazard<"operand 'f' is made of 'k' (-70000), fp16 ends at 65504">
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: onnx.yield
module @constant attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %k = onnx.initializer "k" dense<[1.0, 2.0, -70000.0, 3.0]> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Add"(%x, %k) {onnx.results = ["a"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["r"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%x, %1) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Mul"(%x, %k) {onnx.results = ["f"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Relu"(%3) {onnx.results = ["s"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.MatMul"(%x, %4) {onnx.results = ["n"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2, %5 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Infinities, NaNs and zeros of either sign are the same in 16 bit; a constant
// of which some elements vanish is still one.
// CHECK-LABEL: @specials
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Mul"{{.*}}mp.hazard = #mp.hazard<"constant 'v' (1e-09) is zero in fp16">
// CHECK-NOT: mp.hazard
module @specials attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %k = onnx.initializer "k" dense<[0x7F800000, 0xFF800000, 0x7FC00000, -0.0]> : tensor<4xf32> : tensor<4xf32>
    %s = onnx.initializer "s" dense<[1.0, 1.0e-9, -1.0e-9, 0.0]> : tensor<4xf32> : tensor<4xf32>
    %v = onnx.initializer "v" dense<[0.0, 1.0e-9, -1.0e-9, 0.0]> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Add"(%x, %k) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Mul"(%0, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Mul"(%1, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %2 : tensor<4xf32>
  }
}

// -----

// An epsilon below the normal numbers, up to what makes it large enough: the
// root of 1e-5 is 0.003. The same epsilon as a mere summand is no guard, and
// 1e-3 is a normal number.
// BF16-LABEL: @epsilon
// BF16-NOT: mp.hazard
// CHECK-LABEL: @epsilon
// CHECK: "onnx.Add"{{.*}}mp.hazard = #mp.hazard<"'e' keeps node 'root' (Sqrt-13) off zero by 1e-05, which fp16 does not hold in full">
// CHECK: "onnx.Sqrt"{{.*}}mp.hazard
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Max"{{.*}}mp.hazard = #mp.hazard<"'e' keeps node 'quotient' (Div-14) off zero
// CHECK: "onnx.Reshape"{{.*}}mp.hazard
// CHECK: "onnx.Div"{{.*}}mp.hazard
// CHECK-NOT: mp.hazard
module @epsilon attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %s: tensor<1xi64>):
    %e = onnx.initializer "e" dense<1.0e-5> : tensor<f32> : tensor<f32>
    %big = onnx.initializer "big" dense<1.0e-3> : tensor<f32> : tensor<f32>
    %0 = "onnx.Add"(%x, %e) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.Sqrt"(%0) {onnx.name = "root"} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Div"(%x, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "onnx.Add"(%2, %e) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = "onnx.Add"(%3, %big) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = "onnx.Div"(%2, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %6 = "onnx.Max"(%5, %e) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %7 = "onnx.Reshape"(%6, %s) : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
    %8 = "onnx.Div"(%x, %7) {onnx.name = "quotient"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %8 : tensor<4xf32>
  }
}

// -----

// 1 / sqrt(1e-12) is beyond fp16: times zero it would be NaN.
// CHECK-LABEL: @inverse
// CHECK: "onnx.Add"{{.*}}mp.hazard
// CHECK: "onnx.Pow"{{.*}}mp.hazard
// CHECK: "onnx.Mul"{{.*}}mp.hazard = #mp.hazard<"operand 'i' reaches 1e+06, fp16 ends at 65504">
// CHECK: "onnx.Relu"
// CHECK-NOT: mp.hazard
module @inverse attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %e = onnx.initializer "e" dense<1.0e-12> : tensor<f32> : tensor<f32>
    %h = onnx.initializer "h" dense<-0.5> : tensor<f32> : tensor<f32>
    %0 = "onnx.Add"(%e, %x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Pow"(%0, %h) {onnx.results = ["i"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = "onnx.Mul"(%x, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "onnx.Relu"(%2) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %3 : tensor<4xf32>
  }
}

// -----

// So does what sets elements side by side, from whichever operand, and what
// fills up with zeros.
// CHECK-LABEL: @joined
// CHECK: "onnx.Sum"{{.*}}mp.hazard = #mp.hazard<"'e' keeps node 'root' (Sqrt-13) off zero
// CHECK: "onnx.Concat"{{.*}}mp.hazard
// CHECK: "onnx.Pad"{{.*}}mp.hazard
// CHECK: "onnx.Trilu"{{.*}}mp.hazard
// CHECK: "onnx.Sqrt"{{.*}}mp.hazard
module @joined attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %e = onnx.initializer "e" dense<1.0e-7> : tensor<f32> : tensor<f32>
    %p = onnx.initializer "p" dense<[0, 1, 0, 1]> : tensor<4xi64> : tensor<4xi64>
    %none = onnx.absent
    %0 = "onnx.Sum"(%x, %e) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %1 = "onnx.Concat"(%x, %0) {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Pad"(%1, %p, %none) : (tensor<4x4xf32>, tensor<4xi64>, none) -> tensor<4x6xf32>
    %3 = "onnx.Trilu"(%2, %none) : (tensor<4x6xf32>, none) -> tensor<4x6xf32>
    %4 = "onnx.Sqrt"(%3) {onnx.name = "root"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    onnx.yield %4 : tensor<4x6xf32>
  }
}

// -----

// Nodes whose results lie within their first operand carry a guard on: all of
// the results of one that has some.
// CHECK-LABEL: @carried
// CHECK: "onnx.Add"{{.*}}mp.hazard = #mp.hazard<"'e' keeps node 'root' (Sqrt-13) off zero
// CHECK: "onnx.DepthToSpace"{{.*}}mp.hazard
// CHECK: "onnx.SpaceToDepth"{{.*}}mp.hazard
// CHECK: "onnx.GatherElements"{{.*}}mp.hazard
// CHECK: "onnx.ReduceMax"{{.*}}mp.hazard
// CHECK: "onnx.ReduceMean"{{.*}}mp.hazard
// CHECK: "onnx.Split"{{.*}}mp.hazard
// CHECK: "onnx.Sqrt"{{.*}}mp.hazard
// CHECK-NOT: mp.hazard
module @carried attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4x2x2xf32>, %i: tensor<1x4x2x2xi64>):
    %e = onnx.initializer "e" dense<1.0e-7> : tensor<f32> : tensor<f32>
    %none = onnx.absent
    %0 = "onnx.Add"(%x, %e) : (tensor<1x4x2x2xf32>, tensor<f32>) -> tensor<1x4x2x2xf32>
    %1 = "onnx.DepthToSpace"(%0) {blocksize = 2 : i64} : (tensor<1x4x2x2xf32>) -> tensor<1x1x4x4xf32>
    %2 = "onnx.SpaceToDepth"(%1) {blocksize = 2 : i64} : (tensor<1x1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %3 = "onnx.GatherElements"(%2, %i) {axis = 0 : i64} : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xi64>) -> tensor<1x4x2x2xf32>
    %4 = "onnx.ReduceMax"(%3) {axes = array<i64: 3>} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x1xf32>
    %5 = "onnx.ReduceMean"(%4) {axes = array<i64: 2>} : (tensor<1x4x2x1xf32>) -> tensor<1x4x1x1xf32>
    %6:2 = "onnx.Split"(%5, %none) {axis = 1 : i64} : (tensor<1x4x1x1xf32>, none) -> (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>)
    %7 = "onnx.Sqrt"(%6#1) {onnx.name = "root"} : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
    %8 = "onnx.Neg"(%6#0) : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
    %9 = "onnx.Mul"(%7, %8) : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
    onnx.yield %9 : tensor<1x2x1x1xf32>
  }
}

// -----

// A bound that rounds to one, in both types: log(1 - p) would be -inf. In the
// branch of an If as well.
// CHECK-LABEL: @below_one
// CHECK: "onnx.Clip"{{.*}}mp.hazard
// CHECK: "onnx.Sub"{{.*}}mp.hazard
// CHECK: "onnx.Log"
// BF16-LABEL: @below_one
// BF16: "onnx.Clip"{{.*}}mp.hazard = #mp.hazard<"'hi' keeps node 'l' (Log-13) off zero by 1.19209e-07, which bf16 does not hold in full">
// BF16: "onnx.Sub"{{.*}}mp.hazard
// BF16: "onnx.Log"
// BF16-NOT: mp.hazard
module @below_one attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %c: tensor<i1>):
    %lo = onnx.initializer "lo" dense<1.0e-7> : tensor<f32> : tensor<f32>
    %hi = onnx.initializer "hi" dense<0.9999999> : tensor<f32> : tensor<f32>
    %one = onnx.initializer "one" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.If"(%c) ({
      %t = "onnx.Clip"(%x, %lo, %hi) : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
      %u = "onnx.Sub"(%one, %t) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
      %v = "onnx.Log"(%u) {onnx.name = "l"} : (tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %v : tensor<4xf32>
    }, {
      onnx.yield %x : tensor<4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32>
  }
}
