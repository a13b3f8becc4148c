// RUN: mp-opt %s --mp-assign-layouts --split-input-file | FileCheck %s
// RUN: mp-opt %s --mp-assign-layouts=channels-last --split-input-file | FileCheck %s --check-prefix=ALL
// RUN: mp-opt %s --mp-assign-layouts --split-input-file --remarks-filter=mp-codegen 2>&1 | FileCheck %s --check-prefix=REMARK

// An expanding convolution, one of single channels, the mean of which gates it,
// and a projecting one, whose result is added to the image.

#image = affine_map<(n, f, i, j, c) -> (n, c, i, j)>
#points = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k, j + l)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#bias = affine_map<(n, f, i, j, c, k, l) -> (f)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>
#windows = affine_map<(n, g, i, j, k, l) -> (n, g, i + k - 1, j + l - 1)>
#filter = affine_map<(n, g, i, j, k, l) -> (g, k, l)>
#single = affine_map<(n, g, i, j, k, l) -> (n, g, i, j)>
#all = affine_map<(n, c, i, j) -> (n, c, i, j)>
#mean = affine_map<(n, c, i, j) -> (n, c)>
#gate = affine_map<(n, c, i, j) -> (n, c, 0, 0)>

// CHECK-DAG: #[[$FROM:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
// CHECK-DAG: #[[$SAME:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$POINTS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
// CHECK-DAG: #[[$WEIGHT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d6, d4, d5)>
// CHECK-DAG: #[[$BIAS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3)>
// CHECK-DAG: #[[$RESULT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$WINDOWS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4 - 1, d2 + d5 - 1, d3)>
// CHECK-DAG: #[[$FILTER:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5)>
// CHECK-DAG: #[[$SINGLE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$MEAN:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-DAG: #[[$SUMMED:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
// CHECK-DAG: #[[$GATE:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
// CHECK-LABEL: @block
// CHECK-SAME: %[[X:.*]]: tensor<2x16x28x28xf32>, %[[W:.*]]: tensor<96x16x1x1xf32>
// CHECK: %[[LAST:.*]] = linalg.generic {indexing_maps = [#[[$FROM]], #[[$SAME]]]{{.*}} ins(%[[X]] : {{.*}}) outs(%{{.*}} : tensor<2x28x28x16xf32>)
// CHECK: %[[WIDE:.*]] = kernel.contract {indexing_maps = [#[[$POINTS]], #[[$WEIGHT]], #[[$BIAS]], #[[$RESULT]]]} ins(%[[LAST]], %[[W]] : {{.*}} outs(%{{.*}} : tensor<2x28x28x96xf32>)
// CHECK: %[[SLID:.*]] = kernel.contract {indexing_maps = [#[[$WINDOWS]], #[[$FILTER]], #[[$SINGLE]]]} ins(%[[WIDE]], %{{.*}} outs(%{{.*}} : tensor<2x28x28x96xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[$SUMMED]], #[[$MEAN]]], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%[[SLID]] : tensor<2x28x28x96xf32>) outs(%{{.*}} : tensor<2x96xf32>)
// CHECK: tensor.expand_shape %{{.*}} output_shape [2, 1, 1, 96]
// CHECK: %[[GATED:.*]] = linalg.generic {indexing_maps = [#[[$SAME]], #[[$GATE]], #[[$SAME]]]
// CHECK: %[[Y:.*]] = kernel.contract {{.*}} ins(%[[GATED]], %{{.*}} outs(%{{.*}} : tensor<2x28x28x16xf32>)
// CHECK: %[[BACK:.*]] = linalg.generic {indexing_maps = [#[[$SUMMED]], #[[$SAME]]]{{.*}} ins(%[[Y]] : {{.*}}) outs(%{{.*}} : tensor<2x16x28x28xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[BACK]], %[[X]] : tensor<2x16x28x28xf32>, tensor<2x16x28x28xf32>)
// CHECK: return %[[SUM]]
// REMARK: remark: [Analysis] layout | Category:mp-codegen{{.*}}Layout="channels last"
func.func @block(%x: tensor<2x16x28x28xf32>, %w: tensor<96x16x1x1xf32>, %b: tensor<96xf32>, %d: tensor<96x3x3xf32>, %p: tensor<16x96x1x1xf32>) -> tensor<2x16x28x28xf32> {
  %zero = arith.constant 0.0 : f32
  %wide = tensor.empty() : tensor<2x96x28x28xf32>
  %0 = kernel.contract {indexing_maps = [#points, #weight, #bias, #result]} ins(%x, %w : tensor<2x16x28x28xf32>, tensor<96x16x1x1xf32>) extra(%b : tensor<96xf32>) outs(%wide : tensor<2x96x28x28xf32>) {
  ^bb0(%s: f32, %e: f32):
    %a = arith.addf %s, %e : f32
    kernel.yield %a : f32
  } -> tensor<2x96x28x28xf32>
  %1 = kernel.contract {indexing_maps = [#windows, #filter, #single]} ins(%0, %d : tensor<2x96x28x28xf32>, tensor<96x3x3xf32>) outs(%wide : tensor<2x96x28x28xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<2x96x28x28xf32>
  %means = tensor.empty() : tensor<2x96xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%means : tensor<2x96xf32>) -> tensor<2x96xf32>
  %3 = linalg.generic {indexing_maps = [#all, #mean], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%1 : tensor<2x96x28x28xf32>) outs(%2 : tensor<2x96xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %a = arith.addf %sum, %in : f32
    linalg.yield %a : f32
  } -> tensor<2x96xf32>
  %4 = tensor.expand_shape %3 [[0], [1, 2, 3]] output_shape [2, 96, 1, 1] : tensor<2x96xf32> into tensor<2x96x1x1xf32>
  %5 = linalg.generic {indexing_maps = [#all, #gate, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1, %4 : tensor<2x96x28x28xf32>, tensor<2x96x1x1xf32>) outs(%wide : tensor<2x96x28x28xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %m = arith.mulf %in, %by : f32
    linalg.yield %m : f32
  } -> tensor<2x96x28x28xf32>
  %narrow = tensor.empty() : tensor<2x16x28x28xf32>
  %6 = kernel.contract {indexing_maps = [#points, #weight, #result]} ins(%5, %p : tensor<2x96x28x28xf32>, tensor<16x96x1x1xf32>) outs(%narrow : tensor<2x16x28x28xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<2x16x28x28xf32>
  %7 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %x : tensor<2x16x28x28xf32>, tensor<2x16x28x28xf32>) outs(%narrow : tensor<2x16x28x28xf32>) {
  ^bb0(%in: f32, %by: f32, %out: f32):
    %a = arith.addf %in, %by : f32
    linalg.yield %a : f32
  } -> tensor<2x16x28x28xf32>
  return %7 : tensor<2x16x28x28xf32>
}

// -----

// Alone, a convolution of many channels stays as it is.

#windows = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>

// CHECK-LABEL: @plain
// CHECK-NOT: linalg.generic
// CHECK: kernel.contract {{.*}} outs(%{{.*}} : tensor<2x48x28x28xf32>)
// ALL-LABEL: @plain
// ALL: kernel.contract {{.*}} outs(%{{.*}} : tensor<2x28x28x48xf32>)
// REMARK: remark: [Analysis] layout | Category:mp-codegen{{.*}}Layout="as it is"
func.func @plain(%x: tensor<2x32x28x28xf32>, %w: tensor<48x32x3x3xf32>) -> tensor<2x48x28x28xf32> {
  %empty = tensor.empty() : tensor<2x48x28x28xf32>
  %0 = kernel.contract {indexing_maps = [#windows, #weight, #result]} ins(%x, %w : tensor<2x32x28x28xf32>, tensor<48x32x3x3xf32>) outs(%empty : tensor<2x48x28x28xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<2x48x28x28xf32>
  return %0 : tensor<2x48x28x28xf32>
}

// -----

// Slices and pads have their numbers in the other order; transposes that a
// model has itself are none. Groups of channels stay together, and ones go
// where they are.

#windows = affine_map<(n, g, f, i, j, c, k, l) -> (n, g, c, i + k, j + l)>
#weight = affine_map<(n, g, f, i, j, c, k, l) -> (g, f, c, k, l)>
#result = affine_map<(n, g, f, i, j, c, k, l) -> (n, g, f, i, j)>
#all = affine_map<(n, i, j, c) -> (n, i, j, c)>
#turned = affine_map<(n, i, j, c) -> (n, c, i, j)>

// CHECK: #[[$SAME:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-LABEL: @around
// CHECK: %[[PAD:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<?x30x30x64xf32>)
// CHECK: %[[IN:.*]] = tensor.insert_slice %{{.*}} into %[[PAD]][0, 1, 1, 0] [%{{.*}}, 28, 28, 64] [1, 1, 1, 1]
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[IN]] {{.*}} output_shape [%{{.*}}, 30, 30, 64, 1]
// CHECK: kernel.contract {{.*}} ins(%[[GROUPS]], %{{.*}} outs(%{{.*}} : tensor<?x28x28x64x1xf32>)
// CHECK: %[[JOINED:.*]] = tensor.collapse_shape {{.*}} : tensor<?x28x28x64x1xf32> into tensor<?x28x28x64xf32>
// CHECK: %[[HALF:.*]] = tensor.extract_slice %[[JOINED]][0, 0, 1, 0] [%{{.*}}, 14, 14, 64] [1, 2, 2, 1]
// CHECK: linalg.generic {indexing_maps = [#[[$SAME]], #[[$SAME]]]{{.*}} ins(%[[HALF]] :
func.func @around(%x: tensor<?x28x28x64xf32>, %w: tensor<64x1x1x3x3xf32>) -> tensor<?x14x14x64xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : index
  %n = tensor.dim %x, %none : tensor<?x28x28x64xf32>
  %first = tensor.empty(%n) : tensor<?x64x28x28xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(n, c, i, j) -> (n, i, j, c)>, affine_map<(n, c, i, j) -> (n, c, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<?x28x28x64xf32>) outs(%first : tensor<?x64x28x28xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x64x28x28xf32>
  %big = tensor.empty(%n) : tensor<?x64x30x30xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%big : tensor<?x64x30x30xf32>) -> tensor<?x64x30x30xf32>
  %2 = tensor.insert_slice %0 into %1[0, 0, 1, 1] [%n, 64, 28, 28] [1, 1, 1, 1] : tensor<?x64x28x28xf32> into tensor<?x64x30x30xf32>
  %3 = tensor.expand_shape %2 [[0], [1], [2, 3], [4]] output_shape [%n, 64, 1, 30, 30] : tensor<?x64x30x30xf32> into tensor<?x64x1x30x30xf32>
  %4 = tensor.empty(%n) : tensor<?x64x1x28x28xf32>
  %5 = kernel.contract {indexing_maps = [#windows, #weight, #result]} ins(%3, %w : tensor<?x64x1x30x30xf32>, tensor<64x1x1x3x3xf32>) outs(%4 : tensor<?x64x1x28x28xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<?x64x1x28x28xf32>
  %6 = tensor.collapse_shape %5 [[0], [1], [2, 3], [4]] : tensor<?x64x1x28x28xf32> into tensor<?x64x28x28xf32>
  %7 = tensor.extract_slice %6[0, 0, 0, 1] [%n, 64, 14, 14] [1, 1, 2, 2] : tensor<?x64x28x28xf32> to tensor<?x64x14x14xf32>
  %8 = tensor.empty(%n) : tensor<?x14x14x64xf32>
  %9 = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<?x64x14x14xf32>) outs(%8 : tensor<?x14x14x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x14x14x64xf32>
  return %9 : tensor<?x14x14x64xf32>
}

// -----

// The gradient of weights of single channels, summed over pixels. There are as
// many images as channels, and the transposed gradient goes to the memory that
// another one goes to: what one value means by an axis is not what the other
// does.

#pixel = affine_map<(c, k, l, n, i, j) -> (c, n, i, j)>
#windows = affine_map<(c, k, l, n, i, j) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(c, k, l, n, i, j) -> (c, k, l)>
#turned = affine_map<(c, n, i, j) -> (n, c, i, j)>
#all = affine_map<(c, n, i, j) -> (c, n, i, j)>

// CHECK-LABEL: @weight_gradient
// CHECK: kernel.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<16x64x64x16xf32>, tensor<16x64x64x16xf32>) outs(%{{.*}} : tensor<16x3x3xf32>)
func.func @weight_gradient(%x: tensor<16x16x64x64xf32>, %y: tensor<16x16x64x64xf32>) -> (tensor<16x3x3xf32>, tensor<16x16x64x64xf32>) {
  %empty = tensor.empty() : tensor<16x16x64x64xf32>
  %double = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<16x16x64x64xf32>) outs(%empty : tensor<16x16x64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    linalg.yield %0 : f32
  } -> tensor<16x16x64x64xf32>
  %gradient = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%double : tensor<16x16x64x64xf32>) outs(%empty : tensor<16x16x64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<16x16x64x64xf32>
  %first = tensor.empty() : tensor<16x3x3xf32>
  %sums = kernel.contract {indexing_maps = [#pixel, #windows, #weight]} ins(%gradient, %x : tensor<16x16x64x64xf32>, tensor<16x16x64x64xf32>) outs(%first : tensor<16x3x3xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<16x3x3xf32>
  return %sums, %double : tensor<16x3x3xf32>, tensor<16x16x64x64xf32>
}
