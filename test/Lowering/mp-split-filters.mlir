// RUN: mp-opt %s --mp-split-filters | FileCheck %s

#far = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k * 12 - 12, j + l * 12 - 12)>
#last = affine_map<(n, f, i, j, c, k, l) -> (n, i * 2 + k * 20 - 20, j + l - 1, c)>
#near = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#bias = affine_map<(n, f, i, j, c, k, l) -> (f)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>

// Two rows or columns of 14 have an outer filter position in the image; the
// filter position in the middle, which all have, comes last, with the bias.
// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>
// CHECK-DAG: #[[$FILTER:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, 0, 0)>
// CHECK-DAG: #[[$RESULT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$BIAS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1)>
// CHECK-DAG: #[[$STRIDED:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2 * 2, d3 + d5 - 1, d4)>
// CHECK-LABEL: @far
// CHECK-SAME: %[[X:.*]]: tensor<?x64x14x14xf32>, %[[W:.*]]: tensor<32x64x3x3xf32>, %[[BIAS:.*]]: tensor<32xf32>, %[[C:.*]]: tensor<?x32x14x14xbf16>
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<?x32x14x14xf32>
// CHECK: %[[C0:.*]] = tensor.extract_slice %[[ZERO]][0, 0, 12, 12] [%{{.*}}, 32, 2, 2] [1, 1, 1, 1]
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [%{{.*}}, 64, 2, 2] [1, 1, 1, 1]
// CHECK: %[[W0:.*]] = tensor.extract_slice %[[W]][0, 0, 0, 0] [32, 64, 1, 1] [1, 1, 1, 1]
// CHECK: %[[Y0:.*]] = kernel.contract {indexing_maps = [#[[$IMAGE]], #[[$FILTER]], #[[$RESULT]], #[[$RESULT]]], round_b = bf16} ins(%[[X0]], %[[W0]] : {{.*}}) extra(%[[C0]] : {{.*}}) outs(%[[C0]] : {{.*}}) {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BEFORE:.*]]: f32):
// CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[BEFORE]], %[[SUM]]
// CHECK-NEXT: kernel.yield %[[BOTH]]
// CHECK: tensor.insert_slice %[[Y0]] into %[[ZERO]][0, 0, 12, 12]
// CHECK: tensor.extract_slice %[[W]][0, 0, 0, 1] [32, 64, 1, 1]
// CHECK: tensor.insert_slice {{.*}}[0, 0, 12, 0] [%{{.*}}, 32, 2, 14]
// CHECK-COUNT-5: kernel.contract
// CHECK: %[[Y8:.*]] = kernel.contract
// CHECK: %[[ALL:.*]] = tensor.insert_slice %[[Y8]] into %{{.*}}[0, 0, 0, 0] [%{{.*}}, 32, 2, 2]
// CHECK: tensor.extract_slice %[[W]][0, 0, 1, 1] [32, 64, 1, 1]
// CHECK: kernel.contract {indexing_maps = [#[[$IMAGE]], #[[$FILTER]], #[[$BIAS]], #[[$RESULT]], #[[$RESULT]]], round_b = bf16} {{.*}} extra(%[[BIAS]], %[[ALL]] : {{.*}}) outs(%[[C]] :
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[ONE:.*]]: f32, %[[BEFORE:.*]]: f32):
// CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[BEFORE]], %[[SUM]]
// CHECK-NEXT: arith.addf %[[BOTH]], %[[ONE]]
func.func @far(%x: tensor<?x64x14x14xf32>, %w: tensor<32x64x3x3xf32>, %bias: tensor<32xf32>, %c: tensor<?x32x14x14xbf16>) -> tensor<?x32x14x14xbf16> {
  %y = kernel.contract {indexing_maps = [#far, #weight, #bias, #result], round_b = bf16} ins(%x, %w : tensor<?x64x14x14xf32>, tensor<32x64x3x3xf32>) extra(%bias : tensor<32xf32>) outs(%c : tensor<?x32x14x14xbf16>) {
  ^bb0(%sum: f32, %one: f32):
    %0 = arith.addf %sum, %one : f32
    %1 = arith.truncf %0 : f32 to bf16
    kernel.yield %1 : bf16
  } -> tensor<?x32x14x14xbf16>
  return %y : tensor<?x32x14x14xbf16>
}

// Along one axis alone, at stride 2: of eleven rows, one has the first filter
// position in the image, and one the last; columns stay together.
// CHECK-LABEL: @rows
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 10, 0] [1, 32, 1, 56]
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 1, 56, 64]
// CHECK: kernel.contract {indexing_maps = [#[[$STRIDED]],
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 32, 1, 56]
// CHECK: tensor.extract_slice %{{.*}}[0, 20, 0, 0] [1, 1, 56, 64]
// CHECK-COUNT-2: kernel.contract
// CHECK-NOT: kernel.contract
func.func @rows(%x: tensor<1x21x56x64xf32>, %w: tensor<32x64x3x3xf32>, %c: tensor<1x32x11x56xf32>) -> tensor<1x32x11x56xf32> {
  %y = kernel.contract {indexing_maps = [#last, #weight, #result]} ins(%x, %w : tensor<1x21x56x64xf32>, tensor<32x64x3x3xf32>) outs(%c : tensor<1x32x11x56xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<1x32x11x56xf32>
  return %y : tensor<1x32x11x56xf32>
}

// Filter positions that stay in the image, and images whose size is not known.
// CHECK-LABEL: @near
// CHECK-NOT: tensor.extract_slice
// CHECK-LABEL: @unknown
// CHECK-NOT: tensor.extract_slice
func.func @near(%x: tensor<1x64x14x14xf32>, %w: tensor<32x64x3x3xf32>, %c: tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32> {
  %y = kernel.contract {indexing_maps = [#near, #weight, #result]} ins(%x, %w : tensor<1x64x14x14xf32>, tensor<32x64x3x3xf32>) outs(%c : tensor<1x32x14x14xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<1x32x14x14xf32>
  return %y : tensor<1x32x14x14xf32>
}
func.func @unknown(%x: tensor<1x64x?x14xf32>, %w: tensor<32x64x3x3xf32>, %c: tensor<1x32x?x14xf32>) -> tensor<1x32x?x14xf32> {
  %y = kernel.contract {indexing_maps = [#far, #weight, #result]} ins(%x, %w : tensor<1x64x?x14xf32>, tensor<32x64x3x3xf32>) outs(%c : tensor<1x32x?x14xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<1x32x?x14xf32>
  return %y : tensor<1x32x?x14xf32>
}
