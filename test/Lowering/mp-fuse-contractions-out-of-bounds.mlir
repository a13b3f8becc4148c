// RUN: mp-opt %s --mp-fuse-contractions | FileCheck %s

// Filter positions that lie outside of the image for all results add nothing.

#dilated = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k * 24 - 24, j + l * 12 - 12)>
#gradient = affine_map<(n, f, i, j, c, k, l) -> (n, c, i - k * 20 + 40, j - l)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>

// Rows of one filter position are left, and all columns, of which the outer
// ones reach two.
// CHECK-DAG: #[[$MIDDLE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5 * 24, d3 + d6 * 12 - 12)>
// CHECK-DAG: #[[$TURNED:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 - d5 * 20, d3 - d6)>
// CHECK-LABEL: @dilated
// CHECK-SAME: %[[X:.*]]: tensor<?x3x14x14xf32>, %[[W:.*]]: tensor<5x3x3x3xf32>
// CHECK: %[[CUT:.*]] = tensor.extract_slice %[[W]][0, 0, 1, 0] [5, 3, 1, 3] [1, 1, 1, 1]
// CHECK: kernel.contract {indexing_maps = [#[[$MIDDLE]], {{.*}}]} ins(%[[X]], %[[CUT]] :
func.func @dilated(%x: tensor<?x3x14x14xf32>, %w: tensor<5x3x3x3xf32>, %c: tensor<?x5x14x14xf32>) -> tensor<?x5x14x14xf32> {
  %y = kernel.contract {indexing_maps = [#dilated, #weight, #result]} ins(%x, %w : tensor<?x3x14x14xf32>, tensor<5x3x3x3xf32>) outs(%c : tensor<?x5x14x14xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<?x5x14x14xf32>
  return %y : tensor<?x5x14x14xf32>
}

// The first two rows of filter positions read behind the image; one of four
// columns reads it: the others are in front.
// CHECK-LABEL: @turned
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 2, 0] [5, 3, 1, 4] [1, 1, 1, 1]
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [5, 3, 1, 1] [1, 1, 1, 1]
// CHECK: kernel.contract {indexing_maps = [{{.*}}, #[[$TURNED]], {{.*}}]}
func.func @turned(%w: tensor<5x3x3x4xf32>, %x: tensor<2x3x14x1xf32>, %c: tensor<2x5x14x1xf32>) -> tensor<2x5x14x1xf32> {
  %y = kernel.contract {indexing_maps = [#weight, #gradient, #result]} ins(%w, %x : tensor<5x3x3x4xf32>, tensor<2x3x14x1xf32>) outs(%c : tensor<2x5x14x1xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<2x5x14x1xf32>
  return %y : tensor<2x5x14x1xf32>
}

// Sizes that are not known are no reason.
// CHECK-LABEL: @unknown
// CHECK-NOT: tensor.extract_slice
func.func @unknown(%x: tensor<1x3x?x14xf32>, %w: tensor<5x3x3x3xf32>, %c: tensor<1x5x?x14xf32>) -> tensor<1x5x?x14xf32> {
  %y = kernel.contract {indexing_maps = [#dilated, #weight, #result]} ins(%x, %w : tensor<1x3x?x14xf32>, tensor<5x3x3x3xf32>) outs(%c : tensor<1x5x?x14xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<1x5x?x14xf32>
  return %y : tensor<1x5x?x14xf32>
}
