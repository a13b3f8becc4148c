// RUN: mp-opt %s --split-input-file --mp-annotate-sensitive-values \
// RUN:   | FileCheck %s

// The first product makes the angle; the second one has small terms (as the
// inner layers of a SIREN), and the third one is of unknown range.
// CHECK-LABEL: @angles
// CHECK: "onnx.MatMul"{{.*}}mp.hazard<"makes the angle of node with output 'h' (Sin-7), and no range proves it small">
// CHECK: "onnx.Sin"
// CHECK-NEXT: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Sin"
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.MatMul"{{.*}}mp.hazard<"makes the angle of node with output 'z' (Cos-7)
module @angles attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %w = onnx.initializer "w" dense<0.1> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Sin"(%0) {onnx.results = ["h"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%1, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Sin"(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.MatMul"(%0, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.Exp"(%4) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.MatMul"(%5, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %7 = "onnx.Cos"(%6) {onnx.results = ["z"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %3, %7 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Elementwise nodes between a product and an index; the product as well where
// its operands are whole numbers.
// CHECK-LABEL: @integers
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Mul"{{.*}}mp.hazard<"becomes integers in node with output 'i' (Cast-13)">
// CHECK: "onnx.Round"
// CHECK: "onnx.MatMul"{{.*}}mp.hazard<"becomes integers in node with output 'j' (Cast-13)">
module @integers attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x8xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<8x8xf32> : tensor<8x8xf32>
    %k = onnx.initializer "k" dense<3.0> : tensor<8x8xf32> : tensor<8x8xf32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = "onnx.MatMul"(%0, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = "onnx.Mul"(%1, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "onnx.Cast"(%2) {to = 7 : i64, onnx.results = ["i"]} : (tensor<8x8xf32>) -> tensor<8x8xi64>
    %4 = "onnx.Round"(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = "onnx.MatMul"(%4, %k) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %6 = "onnx.Cast"(%5) {to = 7 : i64, onnx.results = ["j"]} : (tensor<8x8xf32>) -> tensor<8x8xi64>
    onnx.yield %3, %6 : tensor<8x8xi64>, tensor<8x8xi64>
  }
}

// -----

// The whole part of a value is taken off it.
// CHECK-LABEL: @fraction
// CHECK: "onnx.Add"{{.*}}mp.hazard<"its whole and fractional parts are both used, by node with output 'f' (Sub-14)">
module @fraction attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x8xf32>, %grid: tensor<8xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<8x8xf32> : tensor<8x8xf32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = "onnx.Add"(%0, %grid) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
    %2 = "onnx.Floor"(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "onnx.Sub"(%1, %2) {onnx.results = ["f"]} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    onnx.yield %3 : tensor<8x8xf32>
  }
}

// -----

// A choice between results of the first product; of a second one it is left
// to the lists.
// CHECK-LABEL: @choices
// CHECK: "onnx.MatMul"{{.*}}mp.hazard<"its elements are compared by node with output 'n' (ArgMin-13), and only one product lies between inputs and them">
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
module @choices attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x8xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<8x8xf32> : tensor<8x8xf32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = "onnx.ArgMin"(%0) {onnx.results = ["n"]} : (tensor<8x8xf32>) -> tensor<1x8xi64>
    %2 = "onnx.MatMul"(%0, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "onnx.ArgMin"(%2) : (tensor<8x8xf32>) -> tensor<1x8xi64>
    onnx.yield %1, %3 : tensor<1x8xi64>, tensor<1x8xi64>
  }
}

// -----

// 1 - p under a logarithm, with the function that makes p, but not with its
// product.
// CHECK-LABEL: @near_zero
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Sigmoid"{{.*}}mp.hazard<"part of the difference of node with output 'd' (Sub-14), which may be near zero where node with output 'l' (Log-13) reads it">
// CHECK: "onnx.Sub"{{.*}}mp.hazard
module @near_zero attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x8xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<8x8xf32> : tensor<8x8xf32>
    %one = onnx.initializer "one" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = "onnx.Sigmoid"(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = "onnx.Sub"(%one, %1) {onnx.results = ["d"]} : (tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "onnx.Log"(%2) {onnx.results = ["l"]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    onnx.yield %3 : tensor<8x8xf32>
  }
}

// -----

// A mean that is 60 times the spread, next to one that is as large as it.
// CHECK-LABEL: @means
// CHECK: "onnx.BatchNormalization"{{.*}}mp.hazard<"its mean is large next to its spread
// CHECK: "onnx.BatchNormalization"
// CHECK-NOT: mp.hazard
module @means attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x2x8x8xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<2x2x8x1xf32> : tensor<2x2x8x1xf32>
    %one = onnx.initializer "one" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %m = onnx.initializer "m" dense<[60.0, 61.0]> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.Conv"(%x, %w) : (tensor<1x2x8x8xf32>, tensor<2x2x8x1xf32>) -> tensor<1x2x1x8xf32>
    %1 = "onnx.BatchNormalization"(%0, %one, %one, %m, %one) : (tensor<1x2x1x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x1x8xf32>
    %2 = "onnx.BatchNormalization"(%0, %one, %one, %one, %one) : (tensor<1x2x1x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x1x8xf32>
    onnx.yield %1, %2 : tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32>
  }
}

// -----

// Positions of a grid, to which bounded offsets are added, and what reads the
// sum.
// CHECK-LABEL: @grid
// CHECK: "onnx.Sigmoid"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Add"{{.*}}mp.hazard<"'grid' (90) is large next to 's', which spans 1">
// CHECK: "onnx.Mul"{{.*}}mp.hazard
module @grid attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x8xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<8x2xf32> : tensor<8x2xf32>
    %grid = onnx.initializer "grid" dense<[[10.0, 90.0]]> : tensor<1x2xf32> : tensor<1x2xf32>
    %stride = onnx.initializer "stride" dense<8.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
    %1 = "onnx.Sigmoid"(%0) {onnx.results = ["s"]} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = "onnx.Add"(%1, %grid) : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %3 = "onnx.Mul"(%2, %stride) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    onnx.yield %3 : tensor<2x2xf32>
  }
}

// -----

// x^2 - 2xc of results of products.
// CHECK-LABEL: @distance
// CHECK: "onnx.MatMul"
// CHECK-NOT: mp.hazard
// CHECK: "onnx.Mul"{{.*}}mp.hazard<"part of the squared distance of node with output 'd' (Sub-14), whose terms cancel">
// CHECK: "onnx.ReduceSum"
// CHECK: "onnx.MatMul"{{.*}}mp.hazard
// CHECK: "onnx.Mul"{{.*}}mp.hazard
// CHECK: "onnx.Sub"{{.*}}mp.hazard
module @distance attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%i: tensor<8x8xf32>):
    %c = onnx.initializer "c" dense<0.5> : tensor<8x8xf32> : tensor<8x8xf32>
    %two = onnx.initializer "two" dense<2.0> : tensor<f32> : tensor<f32>
    %x = "onnx.MatMul"(%i, %c) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %0 = "onnx.Mul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = "onnx.ReduceSum"(%0) : (tensor<8x8xf32>) -> tensor<1x1xf32>
    %2 = "onnx.MatMul"(%x, %c) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "onnx.Mul"(%2, %two) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %4 = "onnx.Sub"(%1, %3) {onnx.results = ["d"]} : (tensor<1x1xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    onnx.yield %4 : tensor<8x8xf32>
  }
}

// -----

// Three factors near one in a chain, not the last one.
// CHECK-LABEL: @decays
// CHECK-COUNT-3: mp.hazard<"one of a chain of 3 factors near one, each of which bf16 rounds">
// CHECK-NOT: mp.hazard
module @decays attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<8x8xf32>):
    %d = onnx.initializer "d" dense<0.98> : tensor<f32> : tensor<f32>
    %0 = "onnx.MatMul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = "onnx.Mul"(%0, %d) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %2 = "onnx.Mul"(%1, %d) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %3 = "onnx.Mul"(%2, %d) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %4 = "onnx.MatMul"(%3, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = "onnx.Mul"(%4, %d) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    onnx.yield %5 : tensor<8x8xf32>
  }
}
