// RUN: mp-opt %s --mp-fold-unit-reshapes --split-input-file | FileCheck %s

#all = affine_map<(n, i, j, c) -> (n, i, j, c)>
#channel = affine_map<(n, i, j, c) -> (0, 0, 0, c)>
#image = affine_map<(n, i, j, c) -> (n, i, j, c)>

// A vector of channels is read as such; no map has a constant.
// CHECK: #[[$CHANNEL:.*]] = affine_map<(d0, d1, d2, d3) -> (d3)>
// CHECK: #[[$ALL:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: @operands
// CHECK-SAME: %[[V:.*]]: tensor<8xf32>, %[[X:.*]]: tensor<?x4x4x8x1xf32>
// CHECK-NOT: tensor.expand_shape
// CHECK: %[[IMAGE:.*]] = tensor.collapse_shape %[[X]]
// CHECK: linalg.generic {indexing_maps = [#[[$CHANNEL]], #[[$ALL]], {{.*}} ins(%[[V]], %[[IMAGE]] :
func.func @operands(%v: tensor<8xf32>, %x: tensor<?x4x4x8x1xf32>, %out: tensor<?x4x4x8xf32>) -> tensor<?x4x4x8xf32> {
  %scale = tensor.expand_shape %v [[0, 1, 2, 3]] output_shape [1, 1, 1, 8] : tensor<8xf32> into tensor<1x1x1x8xf32>
  %image = tensor.collapse_shape %x [[0], [1], [2], [3, 4]] : tensor<?x4x4x8x1xf32> into tensor<?x4x4x8xf32>
  %y = linalg.generic {indexing_maps = [#channel, #image, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scale, %image : tensor<1x1x1x8xf32>, tensor<?x4x4x8xf32>) outs(%out : tensor<?x4x4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x4x4x8xf32>
  return %y : tensor<?x4x4x8xf32>
}

// -----

// What joins axes that are larger stays, and so does the only operand that has
// an extent.
// CHECK-LABEL: @kept
// CHECK: tensor.collapse_shape
// CHECK: tensor.expand_shape
// CHECK: linalg.generic
func.func @kept(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %out: tensor<32xf32>, %sum: tensor<8xf32>) -> (tensor<32xf32>, tensor<8xf32>) {
  %line = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%line : tensor<32xf32>) outs(%out : tensor<32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %row = tensor.expand_shape %v [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(c, i) -> (i, c)>, affine_map<(c, i) -> (c)>], iterator_types = ["parallel", "reduction"]} ins(%row : tensor<1x8xf32>) outs(%sum : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %y, %z : tensor<32xf32>, tensor<8xf32>
}

// -----

// A copy that only moves ones is a reshape, other copies are not.
// CHECK-LABEL: @copies
// CHECK-SAME: %[[X:.*]]: tensor<?x4x8x1xf32>
// CHECK: %[[LINE:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0], [1], [2, 3]] : tensor<?x4x8x1xf32> into tensor<?x4x8xf32>
// CHECK: %[[MOVED:.*]] = tensor.expand_shape %[[LINE]] {{\[\[}}0], [1], [2, 3]] {{.*}} into tensor<?x4x1x8xf32>
// CHECK: %[[TURNED:.*]] = linalg.generic
// CHECK: return %[[MOVED]], %[[TURNED]]
func.func @copies(%x: tensor<?x4x8x1xf32>, %y: tensor<?x4x1x8xf32>, %z: tensor<?x8x4x1xf32>) -> (tensor<?x4x1x8xf32>, tensor<?x8x4x1xf32>) {
  %moved = linalg.generic {indexing_maps = [affine_map<(n, i, u, c) -> (n, i, c, u)>, affine_map<(n, i, u, c) -> (n, i, u, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<?x4x8x1xf32>) outs(%y : tensor<?x4x1x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x4x1x8xf32>
  %turned = linalg.generic {indexing_maps = [affine_map<(n, c, i, u) -> (n, i, c, u)>, affine_map<(n, c, i, u) -> (n, c, i, u)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<?x4x8x1xf32>) outs(%z : tensor<?x8x4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x8x4x1xf32>
  return %moved, %turned : tensor<?x4x1x8xf32>, tensor<?x8x4x1xf32>
}
