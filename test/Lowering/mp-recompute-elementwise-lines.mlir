// RUN: mp-opt %s --mp-recompute-elementwise=lines-only | FileCheck %s

// Differences from the mean of a row, or of a channel whose lines have one
// mean, are computed by both readers; those from a mean for each column are
// stored.

#id = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j, k) -> (i, j)>
#channel = affine_map<(i, j, k) -> (j)>
#column = affine_map<(i, j, k) -> (k)>
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-2: arith.subf
// CHECK-LABEL: func.func @channels
// CHECK-COUNT-2: arith.subf
// CHECK-LABEL: func.func @columns
// CHECK: arith.subf
// CHECK-NOT: arith.subf
func.func @rows(%x: tensor<64x32x96xbf16>, %mean: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32x96xf32>) {
  %empty = tensor.empty() : tensor<64x32x96xf32>
  %start = arith.constant dense<0.0> : tensor<64x32xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mean : tensor<64x32x96xbf16>, tensor<64x32xf32>) outs(%empty : tensor<64x32x96xf32>) {
  ^bb0(%a: bf16, %b: f32, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.subf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<64x32x96xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<64x32x96xf32>) outs(%start : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d : tensor<64x32x96xf32>) outs(%empty : tensor<64x32x96xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32x96xf32>
  return %sum, %y : tensor<64x32xf32>, tensor<64x32x96xf32>
}

func.func @channels(%x: tensor<64x32x96xbf16>, %mean: tensor<32xf32>) -> (tensor<64x32xf32>, tensor<64x32x96xf32>) {
  %empty = tensor.empty() : tensor<64x32x96xf32>
  %start = arith.constant dense<0.0> : tensor<64x32xf32>
  %d = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mean : tensor<64x32x96xbf16>, tensor<32xf32>) outs(%empty : tensor<64x32x96xf32>) {
  ^bb0(%a: bf16, %b: f32, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.subf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<64x32x96xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<64x32x96xf32>) outs(%start : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d : tensor<64x32x96xf32>) outs(%empty : tensor<64x32x96xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32x96xf32>
  return %sum, %y : tensor<64x32xf32>, tensor<64x32x96xf32>
}

func.func @columns(%x: tensor<64x32x96xbf16>, %mean: tensor<96xf32>) -> (tensor<64x32xf32>, tensor<64x32x96xf32>) {
  %empty = tensor.empty() : tensor<64x32x96xf32>
  %start = arith.constant dense<0.0> : tensor<64x32xf32>
  %d = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mean : tensor<64x32x96xbf16>, tensor<96xf32>) outs(%empty : tensor<64x32x96xf32>) {
  ^bb0(%a: bf16, %b: f32, %c: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.subf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<64x32x96xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d : tensor<64x32x96xf32>) outs(%start : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d : tensor<64x32x96xf32>) outs(%empty : tensor<64x32x96xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32x96xf32>
  return %sum, %y : tensor<64x32xf32>, tensor<64x32x96xf32>
}
