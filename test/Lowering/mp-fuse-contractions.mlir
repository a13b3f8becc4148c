// RUN: mp-opt %s --mp-fuse-contractions | FileCheck %s

#rows = affine_map<(m, n) -> (m, n)>
#columns = affine_map<(m, n) -> (n)>
#turned = affine_map<(m, n) -> (n, m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[$TURNED:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[$HEADS_B:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d4, d2 * 16 + d3)>
// CHECK-DAG: #[[$HEADS_C:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3)>

// A bias, an activation and a cast behind a product are its epilogue.
// CHECK-LABEL: @epilogue
// CHECK-SAME: %[[X:.*]]: tensor<8x4xbf16>, %[[W:.*]]: tensor<4x6xf32>, %[[BIAS:.*]]: tensor<6xf32>
// CHECK: kernel.contract
// CHECK-SAME: ins(%[[X]], %[[W]] : tensor<8x4xbf16>, tensor<4x6xf32>) extra(%[[BIAS]] : tensor<6xf32>)
// CHECK: ^bb0(%[[SUM:.*]]: f32, %[[B:.*]]: f32):
// CHECK: %[[ADD:.*]] = arith.addf %[[SUM]], %[[B]]
// CHECK: %[[MAX:.*]] = arith.maximumf %[[ADD]]
// CHECK: arith.truncf %[[MAX]] : f32 to bf16
// CHECK-NOT: linalg.generic
func.func @epilogue(%x: tensor<8x4xbf16>, %w: tensor<4x6xf32>, %bias: tensor<6xf32>) -> tensor<8x6xbf16> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x6xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<8x4xbf16>, tensor<4x6xf32>) outs(%0 : tensor<8x6xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<8x6xf32>
  %1 = tensor.empty() : tensor<8x6xbf16>
  %y = linalg.generic {indexing_maps = [#rows, #columns, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %bias : tensor<8x6xf32>, tensor<6xf32>) outs(%1 : tensor<8x6xbf16>) {
  ^bb0(%s: f32, %b: f32, %out: bf16):
    %2 = arith.addf %s, %b : f32
    %3 = arith.maximumf %2, %zero : f32
    %4 = arith.truncf %3 : f32 to bf16
    linalg.yield %4 : bf16
  } -> tensor<8x6xbf16>
  return %y : tensor<8x6xbf16>
}

// A transpose and a widening cast in front are its map and operand type.
// CHECK-LABEL: @prologue
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>
// CHECK-NOT: linalg.generic
// CHECK: kernel.contract
// CHECK-SAME: ins(%[[X]], %{{.*}} : tensor<4x8xbf16>, tensor<4x6xf32>)
func.func @prologue(%x: tensor<4x8xbf16>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = tensor.empty() : tensor<8x4xf32>
  %turned = linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xbf16>) outs(%0 : tensor<8x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %2 = arith.extf %in : bf16 to f32
    linalg.yield %2 : f32
  } -> tensor<8x4xf32>
  %1 = tensor.empty() : tensor<8x6xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%turned, %w : tensor<8x4xf32>, tensor<4x6xf32>) outs(%1 : tensor<8x6xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<8x6xf32>
  return %sum : tensor<8x6xf32>
}

// A rounded value stays: what it is rounded from would be in memory instead. So
// does a sum that others read too.
// CHECK-LABEL: @keep_rounding
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.truncf
// CHECK: kernel.contract
// CHECK: linalg.generic
func.func @keep_rounding(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %e = tensor.empty() : tensor<8x4xf32>
  %exp = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<8x4xf32>
  %0 = tensor.empty() : tensor<8x4xbf16>
  %low = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%exp : tensor<8x4xf32>) outs(%0 : tensor<8x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<8x4xbf16>
  %1 = tensor.empty() : tensor<8x6xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%low, %w : tensor<8x4xbf16>, tensor<4x6xf32>) outs(%1 : tensor<8x6xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<8x6xf32>
  %neg = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<8x6xf32>) outs(%1 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    linalg.yield %2 : f32
  } -> tensor<8x6xf32>
  return %sum, %neg : tensor<8x6xf32>, tensor<8x6xf32>
}

// The gradient of weights: tokens of all sentences are one axis, that of a
// transposed operand. Collapsed in front of the transpose, it is read through.
// CHECK-LABEL: @collapsed
// CHECK-SAME: %[[X:.*]]: tensor<?x5x4xbf16>, %[[G:.*]]: tensor<?x6xbf16>
// CHECK-NOT: linalg.generic
// CHECK: %[[TOKENS:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<?x5x4xbf16> into tensor<?x4xbf16>
// CHECK-NOT: linalg.generic
// CHECK: kernel.contract {indexing_maps = [#[[$TURNED]], #
// CHECK-SAME: ins(%[[TOKENS]], %[[G]] : tensor<?x4xbf16>, tensor<?x6xbf16>)
func.func @collapsed(%x: tensor<?x5x4xbf16>, %g: tensor<?x6xbf16>) -> tensor<4x6xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x5x4xbf16>
  %0 = tensor.empty(%n) : tensor<4x?x5xbf16>
  %turned = linalg.generic {indexing_maps = [affine_map<(i, n, t) -> (n, t, i)>, affine_map<(i, n, t) -> (i, n, t)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x5x4xbf16>) outs(%0 : tensor<4x?x5xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<4x?x5xbf16>
  %flat = tensor.collapse_shape %turned [[0], [1, 2]] : tensor<4x?x5xbf16> into tensor<4x?xbf16>
  %1 = tensor.empty() : tensor<4x6xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%flat, %g : tensor<4x?xbf16>, tensor<?x6xbf16>) outs(%1 : tensor<4x6xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6xf32>
  return %sum : tensor<4x6xf32>
}

// Axes that do not follow each other in memory cannot be one axis there.
// CHECK-LABEL: @moved_apart
// CHECK: linalg.generic
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<4x5x2xbf16> into tensor<4x10xbf16>
func.func @moved_apart(%x: tensor<2x5x4xbf16>, %g: tensor<10x6xbf16>) -> tensor<4x6xf32> {
  %0 = tensor.empty() : tensor<4x5x2xbf16>
  %turned = linalg.generic {indexing_maps = [affine_map<(i, t, n) -> (n, t, i)>, affine_map<(i, t, n) -> (i, t, n)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x5x4xbf16>) outs(%0 : tensor<4x5x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<4x5x2xbf16>
  %flat = tensor.collapse_shape %turned [[0], [1, 2]] : tensor<4x5x2xbf16> into tensor<4x10xbf16>
  %1 = tensor.empty() : tensor<4x6xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%flat, %g : tensor<4x10xbf16>, tensor<10x6xbf16>) outs(%1 : tensor<4x6xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x6xf32>
  return %sum : tensor<4x6xf32>
}

// Heads of attention: an axis of the result that is divided, and moved, is
// stored where it belongs. `b` is read at 16 h + d.
// CHECK-LABEL: @heads
// CHECK-SAME: %[[X:.*]]: tensor<8x24x64xbf16>, %[[W:.*]]: tensor<64x64xbf16>, %[[BIAS:.*]]: tensor<4x16xf32>
// CHECK: kernel.contract
// CHECK-SAME: indexing_maps = [#{{.*}}, #[[$HEADS_B]], #{{.*}}, #[[$HEADS_C]]]
// CHECK-SAME: ins(%[[X]], %[[W]] : {{.*}}) extra(%[[BIAS]] : tensor<4x16xf32>) outs(%{{.*}} : tensor<8x4x24x16xbf16>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @heads(%x: tensor<8x24x64xbf16>, %w: tensor<64x64xbf16>, %bias: tensor<4x16xf32>) -> tensor<8x4x24x16xbf16> {
  %0 = tensor.empty() : tensor<8x24x64xf32>
  %sum = kernel.contract {indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>, affine_map<(b, s, n, k) -> (b, s, n)>]}
      ins(%x, %w : tensor<8x24x64xbf16>, tensor<64x64xbf16>) outs(%0 : tensor<8x24x64xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<8x24x64xf32>
  %heads = tensor.expand_shape %sum [[0], [1], [2, 3]] output_shape [8, 24, 4, 16] : tensor<8x24x64xf32> into tensor<8x24x4x16xf32>
  %1 = tensor.empty() : tensor<8x4x24x16xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, s, d) -> (b, s, h, d)>, affine_map<(b, h, s, d) -> (h, d)>, affine_map<(b, h, s, d) -> (b, h, s, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%heads, %bias : tensor<8x24x4x16xf32>, tensor<4x16xf32>) outs(%1 : tensor<8x4x24x16xbf16>) {
  ^bb0(%s: f32, %b: f32, %out: bf16):
    %2 = arith.addf %s, %b : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<8x4x24x16xbf16>
  return %y : tensor<8x4x24x16xbf16>
}
