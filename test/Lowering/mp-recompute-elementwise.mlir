// RUN: mp-opt %s --mp-recompute-elementwise --split-input-file | FileCheck %s

#all = affine_map<(n, c) -> (n, c)>
#channel = affine_map<(n, c) -> (c)>

// The centered image is read by a sum, by a product and through a reshape: each
// has an op of its own.
// CHECK-LABEL: @readers
// CHECK: linalg.generic {{.*}} ins(%[[X:.*]], %[[MEAN:.*]] :
// CHECK: arith.subf
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]] :
// CHECK: arith.subf
// CHECK: linalg.generic
// CHECK: arith.mulf
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]] :
// CHECK: arith.subf
// CHECK: tensor.expand_shape
// CHECK: linalg.generic
// CHECK: math.absf
func.func @readers(%x: tensor<64x32xf32>, %mean: tensor<32xf32>, %sum: tensor<32xf32>, %o: tensor<64x32x1xf32>) -> (tensor<32xf32>, tensor<64x32xf32>, tensor<64x32x1xf32>) {
  %out = tensor.empty() : tensor<64x32xf32>
  %centered = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %mean : tensor<64x32xf32>, tensor<32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %s = linalg.generic {indexing_maps = [#all, #channel], iterator_types = ["reduction", "parallel"]} ins(%centered : tensor<64x32xf32>) outs(%sum : tensor<32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %square = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%centered : tensor<64x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %one = tensor.expand_shape %centered [[0], [1, 2]] output_shape [64, 32, 1] : tensor<64x32xf32> into tensor<64x32x1xf32>
  %abs = linalg.generic {indexing_maps = [affine_map<(n, c, u) -> (n, c, u)>, affine_map<(n, c, u) -> (n, c, u)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%one : tensor<64x32x1xf32>) outs(%o : tensor<64x32x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.absf %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32x1xf32>
  return %s, %square, %abs : tensor<32xf32>, tensor<64x32xf32>, tensor<64x32x1xf32>
}

// -----

#all = affine_map<(n, c) -> (n, c)>

// Stored once: what reads two images, what is dear and fits the caches, what is
// a result, and what a product could store instead of its own sums.
// CHECK-LABEL: @stored
// CHECK-COUNT-1: arith.addf
// CHECK-NOT: arith.addf
// CHECK-COUNT-1: math.erf
// CHECK-NOT: math.erf
// CHECK-COUNT-1: arith.negf
// CHECK-NOT: arith.negf
// CHECK-COUNT-1: arith.maximumf
// CHECK-NOT: arith.maximumf
func.func @stored(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>, %w: tensor<32x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
  %out = tensor.empty() : tensor<64x32xf32>
  %two = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<64x32xf32>, tensor<64x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %dear = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.erf %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %result = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %product = kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} ins(%x, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<64x32xf32>
  %relu = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<64x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.maximumf %a, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<64x32xf32>
  %first = linalg.generic {indexing_maps = [#all, #all, #all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%two, %dear, %result, %relu : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.mulf %0, %c : f32
    %2 = arith.mulf %1, %d : f32
    linalg.yield %2 : f32
  } -> tensor<64x32xf32>
  %second = linalg.generic {indexing_maps = [#all, #all, #all, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%two, %dear, %result, %relu : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) outs(%out : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.mulf %0, %c : f32
    %2 = arith.divf %1, %d : f32
    linalg.yield %2 : f32
  } -> tensor<64x32xf32>
  return %result, %first, %second : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}
