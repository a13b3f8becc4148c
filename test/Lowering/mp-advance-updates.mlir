// RUN: mp-opt %s --mp-advance-updates | FileCheck %s
// RUN: mp-opt %s --mp-advance-updates=contractions-only | FileCheck %s --check-prefix=PRODUCTS

// The weight's update is the product that makes the gradient. It needs `dy`, and
// has to wait for who reads the old weight, also as another shape; the bias's
// needs `dy` alone. `later` is not for states.

#rows = affine_map<(m, n, k) -> (k, m)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#left = affine_map<(m, n, k) -> (m, k)>
#id = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func @main
// CHECK-SAME:  %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK:       %[[DY:.*]] = linalg.generic {{.*}} ins(%[[X]]
// CHECK:       %[[DB:.*]] = linalg.generic {{.*}} ins(%[[DY]]
// CHECK:       %[[B:.*]] = linalg.generic {{.*}} ins(%[[DB]]
// CHECK:       tensor.collapse_shape
// CHECK:       %[[READER:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<16xf32>)
// CHECK:       %[[W:.*]] = kernel.contract {{.*}} ins(%[[X]], %[[DY]] :
// CHECK:       %[[LATER:.*]] = kernel.contract
// CHECK:       return %[[LATER]], %[[READER]], %[[W]], %[[B]]

// PRODUCTS:    tensor.collapse_shape
// PRODUCTS:    linalg.generic
// PRODUCTS:    %[[W:.*]] = kernel.contract {{.*}} extra(
// PRODUCTS:    kernel.contract
// PRODUCTS:    %[[DB:.*]] = linalg.generic
// PRODUCTS:    %[[B:.*]] = linalg.generic {{.*}} ins(%[[DB]]
// PRODUCTS:    return %{{.*}}, %{{.*}}, %[[W]], %[[B]]
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>)
    -> (tensor<8x4xf32>, tensor<16xf32>, tensor<4x4xf32> {mp.state = 1 : i64}, tensor<4xf32> {mp.state = 2 : i64}) {
  %empty = tensor.empty() : tensor<8x4xf32>
  %small = tensor.empty() : tensor<4x4xf32>
  %line = tensor.empty() : tensor<16xf32>
  %four = tensor.empty() : tensor<4xf32>
  %dy = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%empty : tensor<8x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8x4xf32>
  %flat = tensor.collapse_shape %w [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %reader = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%flat : tensor<16xf32>) outs(%line : tensor<16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  %later = kernel.contract {indexing_maps = [#left, #columns, #out]}
      ins(%dy, %small : tensor<8x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<8x4xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<8x4xf32>
  %db = linalg.generic {indexing_maps = [#id2, #column], iterator_types = ["reduction", "parallel"]}
      ins(%dy : tensor<8x4xf32>) outs(%four : tensor<4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = arith.addf %a, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %wNew = kernel.contract {indexing_maps = [#rows, #columns, #out, #out]}
      ins(%x, %dy : tensor<8x4xf32>, tensor<8x4xf32>) extra(%w : tensor<4x4xf32>)
      outs(%small : tensor<4x4xf32>) {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.subf %old, %sum : f32
    kernel.yield %0 : f32
  } -> tensor<4x4xf32>
  %bNew = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%db, %b : tensor<4xf32>, tensor<4xf32>) outs(%four : tensor<4xf32>) {
  ^bb0(%a: f32, %old: f32, %out: f32):
    %0 = arith.subf %old, %a : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %later, %reader, %wNew, %bNew : tensor<8x4xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<4xf32>
}
