// RUN: mp-opt %s --mp-fuse-contractions | FileCheck %s

#image = affine_map<(f, c, i, j, n, k, l) -> (f, n, i + 2 * k - 1, j + 2 * l - 1)>
#grad = affine_map<(f, c, i, j, n, k, l) -> (c, n, k, l)>
#filter = affine_map<(f, c, i, j, n, k, l) -> (f, c, i, j)>
#turn = affine_map<(f, c, i, j) -> (c, f, i, j)>
#same = affine_map<(f, c, i, j) -> (f, c, i, j)>

// CHECK-DAG: #[[$SHIFTED:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5 * 2, d3 + d6 * 2 - 1)>
// CHECK-DAG: #[[$IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5 * 2 - 1, d3 + d6 * 2 - 1)>
// CHECK-DAG: #[[$GRAD:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
// CHECK-DAG: #[[$FILTER:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$TURNED:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d0, d2, d3)>

// The gradient of a 3x3 convolution's weights with stride 2: of the filter
// positions that there is room for, those that there are. What is behind the
// slice follows.
// CHECK-LABEL: @filter
// CHECK-SAME: %[[X:.*]]: tensor<4x?x8x8xbf16>, %[[G:.*]]: tensor<6x?x4x4xbf16>
// CHECK: %[[INIT:.*]] = tensor.empty() : tensor<6x4x3x3xbf16>
// CHECK: kernel.contract {indexing_maps = [#[[$IMAGE]], #[[$GRAD]], #[[$TURNED]]]}
// CHECK-SAME: ins(%[[X]], %[[G]] : {{.*}}) outs(%[[INIT]] : tensor<6x4x3x3xbf16>)
// CHECK: arith.truncf
// CHECK-NOT: extract_slice
// CHECK-NOT: linalg.generic
func.func @filter(%x: tensor<4x?x8x8xbf16>, %g: tensor<6x?x4x4xbf16>) -> tensor<6x4x3x3xbf16> {
  %0 = tensor.empty() : tensor<4x6x4x4xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) outs(%0 : tensor<4x6x4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x4x4xf32>
  %cut = tensor.extract_slice %sum[0, 0, 0, 0] [4, 6, 3, 3] [1, 1, 1, 1] : tensor<4x6x4x4xf32> to tensor<4x6x3x3xf32>
  %1 = tensor.empty() : tensor<6x4x3x3xbf16>
  %y = linalg.generic {indexing_maps = [#same, #turn], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%cut : tensor<4x6x3x3xf32>) outs(%1 : tensor<6x4x3x3xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<6x4x3x3xbf16>
  return %y : tensor<6x4x3x3xbf16>
}

// Not from the first filter position on: the image is read that much further
// on. An axis that is whole keeps its size, which need not be known.
// CHECK-LABEL: @behind
// CHECK-SAME: %{{.*}}: tensor<?x2x8x8xbf16>, %{{.*}}: tensor<6x2x4x4xbf16>, %[[N:.*]]: index
// CHECK: %[[INIT:.*]] = tensor.empty(%[[N]]) : tensor<?x6x2x4xf32>
// CHECK: kernel.contract {indexing_maps = [#[[$SHIFTED]], #[[$GRAD]], #[[$FILTER]]]}
// CHECK-SAME: outs(%[[INIT]] : tensor<?x6x2x4xf32>)
// CHECK-NOT: extract_slice
func.func @behind(%x: tensor<?x2x8x8xbf16>, %g: tensor<6x2x4x4xbf16>, %n: index) -> tensor<?x6x2x4xf32> {
  %0 = tensor.empty(%n) : tensor<?x6x4x4xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<?x2x8x8xbf16>, tensor<6x2x4x4xbf16>) outs(%0 : tensor<?x6x4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<?x6x4x4xf32>
  %cut = tensor.extract_slice %sum[0, 0, 1, 0] [%n, 6, 2, 4] [1, 1, 1, 1] : tensor<?x6x4x4xf32> to tensor<?x6x2x4xf32>
  return %cut : tensor<?x6x2x4xf32>
}

// Room that is not known before the model runs.
// CHECK-LABEL: @of_unknown
// CHECK: kernel.contract {indexing_maps = [#[[$IMAGE]], #[[$GRAD]], #[[$FILTER]]]}
// CHECK-SAME: outs(%{{.*}} : tensor<4x6x3x3xf32>)
// CHECK-NOT: extract_slice
func.func @of_unknown(%x: tensor<4x?x8x8xbf16>, %g: tensor<6x?x4x4xbf16>, %n: index) -> tensor<4x6x3x3xf32> {
  %0 = tensor.empty(%n, %n) : tensor<4x6x?x?xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) outs(%0 : tensor<4x6x?x?xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x?x?xf32>
  %cut = tensor.extract_slice %sum[0, 0, 0, 0] [4, 6, 3, 3] [1, 1, 1, 1] : tensor<4x6x?x?xf32> to tensor<4x6x3x3xf32>
  return %cut : tensor<4x6x3x3xf32>
}

// Channels are an operand's, too: contractions compute all of them.
// CHECK-LABEL: @keep_channels
// CHECK: kernel.contract
// CHECK: tensor.extract_slice
func.func @keep_channels(%x: tensor<4x?x8x8xbf16>, %g: tensor<6x?x4x4xbf16>) -> tensor<2x6x3x3xf32> {
  %0 = tensor.empty() : tensor<4x6x4x4xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) outs(%0 : tensor<4x6x4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x4x4xf32>
  %cut = tensor.extract_slice %sum[0, 0, 0, 0] [2, 6, 3, 3] [1, 1, 1, 1] : tensor<4x6x4x4xf32> to tensor<2x6x3x3xf32>
  return %cut : tensor<2x6x3x3xf32>
}

// So is an operand of the epilogue, which is read for each filter position.
// CHECK-LABEL: @keep_extra
// CHECK: kernel.contract
// CHECK: tensor.extract_slice
func.func @keep_extra(%x: tensor<4x?x8x8xbf16>, %g: tensor<6x?x4x4xbf16>, %e: tensor<4xf32>) -> tensor<4x6x3x3xf32> {
  %0 = tensor.empty() : tensor<4x6x4x4xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, affine_map<(f, c, i, j, n, k, l) -> (i)>, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) extra(%e : tensor<4xf32>) outs(%0 : tensor<4x6x4x4xf32>) {
  ^bb0(%s: f32, %in: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x4x4xf32>
  %cut = tensor.extract_slice %sum[0, 0, 0, 0] [4, 6, 3, 3] [1, 1, 1, 1] : tensor<4x6x4x4xf32> to tensor<4x6x3x3xf32>
  return %cut : tensor<4x6x3x3xf32>
}

// Every other filter position.
// CHECK-LABEL: @keep_steps
// CHECK: kernel.contract
// CHECK: tensor.extract_slice
func.func @keep_steps(%x: tensor<4x?x8x8xbf16>, %g: tensor<6x?x4x4xbf16>) -> tensor<4x6x2x4xf32> {
  %0 = tensor.empty() : tensor<4x6x4x4xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) outs(%0 : tensor<4x6x4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x4x4xf32>
  %cut = tensor.extract_slice %sum[0, 0, 0, 0] [4, 6, 2, 4] [1, 1, 2, 1] : tensor<4x6x4x4xf32> to tensor<4x6x2x4xf32>
  return %cut : tensor<4x6x2x4xf32>
}

// Others read what the slice leaves out.
// CHECK-LABEL: @keep_shared
// CHECK: kernel.contract
// CHECK: tensor.extract_slice
func.func @keep_shared(%x: tensor<4x?x8x8xbf16>, %g: tensor<6x?x4x4xbf16>) -> (tensor<4x6x4x4xf32>, tensor<4x6x3x3xf32>) {
  %0 = tensor.empty() : tensor<4x6x4x4xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) outs(%0 : tensor<4x6x4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x4x4xf32>
  %cut = tensor.extract_slice %sum[0, 0, 0, 0] [4, 6, 3, 3] [1, 1, 1, 1] : tensor<4x6x4x4xf32> to tensor<4x6x3x3xf32>
  return %sum, %cut : tensor<4x6x4x4xf32>, tensor<4x6x3x3xf32>
}

// A size that is not known, and an axis fewer.
// CHECK-LABEL: @keep_unknown
// CHECK-COUNT-2: tensor.extract_slice
func.func @keep_unknown(%x: tensor<4x?x8x8xbf16>, %g: tensor<6x?x4x4xbf16>, %n: index) -> (tensor<4x6x?x3xf32>, tensor<4x6x3xf32>) {
  %0 = tensor.empty() : tensor<4x6x4x4xf32>
  %sum = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) outs(%0 : tensor<4x6x4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x4x4xf32>
  %cut = tensor.extract_slice %sum[0, 0, 0, 0] [4, 6, %n, 3] [1, 1, 1, 1] : tensor<4x6x4x4xf32> to tensor<4x6x?x3xf32>
  %more = kernel.contract {indexing_maps = [#image, #grad, #filter]} ins(%x, %g : tensor<4x?x8x8xbf16>, tensor<6x?x4x4xbf16>) outs(%0 : tensor<4x6x4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6x4x4xf32>
  %less = tensor.extract_slice %more[0, 0, 0, 0] [4, 6, 1, 3] [1, 1, 1, 1] : tensor<4x6x4x4xf32> to tensor<4x6x3xf32>
  return %cut, %less : tensor<4x6x?x3xf32>, tensor<4x6x3xf32>
}
