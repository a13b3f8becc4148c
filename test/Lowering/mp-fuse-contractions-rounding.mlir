// RUN: mp-opt %s --mp-fuse-contractions | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>
#turned = affine_map<(m, n) -> (n, m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-DAG: #[[$B:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$B_TURNED:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// A weight is rounded by the products of the forward and the backward pass,
// which reads it through a transpose; other uses keep the rounded copy.
// CHECK-LABEL: @argument
// CHECK-SAME: %[[X:.*]]: tensor<4x4xbf16>, %[[W:.*]]: tensor<4x4xf32>
// CHECK: %[[COPY:.*]] = linalg.generic
// CHECK-SAME: ins(%[[W]] : tensor<4x4xf32>)
// CHECK: arith.truncf
// CHECK: kernel.contract {indexing_maps = [#{{.*}}, #[[$B]], #{{.*}}], round_b = bf16} ins(%[[X]], %[[W]] :
// CHECK: kernel.contract {indexing_maps = [#{{.*}}, #[[$B_TURNED]], #{{.*}}], round_b = bf16} ins(%{{.*}}, %[[W]] :
// CHECK: return %{{.*}}, %[[COPY]] :
func.func @argument(%x: tensor<4x4xbf16>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xbf16>) {
  %0 = tensor.empty() : tensor<4x4xbf16>
  %low = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x4xf32>) outs(%0 : tensor<4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<4x4xbf16>
  %1 = tensor.empty() : tensor<4x4xf32>
  %y = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %low : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%0 : tensor<4x4xbf16>) {
  ^bb0(%s: f32):
    %2 = arith.truncf %s : f32 to bf16
    kernel.yield %2 : bf16
  } -> tensor<4x4xbf16>
  %turned = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%low : tensor<4x4xbf16>) outs(%0 : tensor<4x4xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    linalg.yield %in : bf16
  } -> tensor<4x4xbf16>
  %z = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%y, %turned : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x4xf32>
  return %z, %low : tensor<4x4xf32>, tensor<4x4xbf16>
}

// An epilogue and a collapsed operand change nothing about it.
// CHECK-LABEL: @epilogue
// CHECK-SAME: %[[W:[^ ]*]]: tensor<2x2x4xf32>
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[W]]
// CHECK: kernel.contract {indexing_maps = [{{.*}}], round_b = f16} ins(%{{.*}}, %[[FLAT]] :
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
func.func @epilogue(%x: tensor<4x4xf16>, %w: tensor<2x2x4xf32>) -> tensor<4x4xf32> {
  %0 = tensor.empty() : tensor<2x2x4xf16>
  %low = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<2x2x4xf32>) outs(%0 : tensor<2x2x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %2 = arith.truncf %in : f32 to f16
    linalg.yield %2 : f16
  } -> tensor<2x2x4xf16>
  %flat = tensor.collapse_shape %low [[0, 1], [2]] : tensor<2x2x4xf16> into tensor<4x4xf16>
  %1 = tensor.empty() : tensor<4x4xf32>
  %y = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %flat : tensor<4x4xf16>, tensor<4x4xf16>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x4xf32>
  %neg = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %neg : tensor<4x4xf32>
}

// A state is read as it was: by the product in front of its next value, but not
// by the one behind, where the next value may be in its place.
// CHECK-LABEL: @state
// CHECK-SAME: %[[X:.*]]: tensor<4x4xbf16>, %[[W:.*]]: tensor<4x4xf32>
// CHECK: %[[LOW:.*]] = linalg.generic
// CHECK: kernel.contract {indexing_maps = [{{.*}}], round_b = bf16} ins(%[[X]], %[[W]] :
// CHECK: linalg.generic
// CHECK: arith.subf
// CHECK: kernel.contract {indexing_maps = [{{.*}}]} ins(%[[X]], %[[LOW]] :
func.func @state(%x: tensor<4x4xbf16>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32> {mp.state = 1 : i64}, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tensor.empty() : tensor<4x4xbf16>
  %low = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x4xf32>) outs(%0 : tensor<4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<4x4xbf16>
  %1 = tensor.empty() : tensor<4x4xf32>
  %y = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %low : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x4xf32>
  %next = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %g: f32, %out: f32):
    %2 = arith.subf %in, %g : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  %z = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %low : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x4xf32>
  return %next, %y, %z : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Nor by one whose epilogue makes the next value.
// CHECK-LABEL: @fused_update
// CHECK: %[[LOW:.*]] = linalg.generic
// CHECK: kernel.contract {indexing_maps = [{{.*}}]} ins(%{{.*}}, %[[LOW]] :
// CHECK: arith.subf
func.func @fused_update(%x: tensor<4x4xbf16>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32> {mp.state = 1 : i64}) {
  %0 = tensor.empty() : tensor<4x4xbf16>
  %low = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x4xf32>) outs(%0 : tensor<4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<4x4xbf16>
  %1 = tensor.empty() : tensor<4x4xf32>
  %next = kernel.contract {indexing_maps = [#a, #b, #c, #c]} ins(%x, %low : tensor<4x4xbf16>, tensor<4x4xbf16>)
      extra(%w : tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%s: f32, %in: f32):
    %2 = arith.subf %in, %s : f32
    kernel.yield %2 : f32
  } -> tensor<4x4xf32>
  return %next : tensor<4x4xf32>
}

// A product whose epilogue is behind the next value is computed there, and
// reads the rounded copy.
// CHECK-LABEL: @late_epilogue
// CHECK: %[[LOW:.*]] = linalg.generic
// CHECK: arith.truncf
// CHECK: math.exp
// CHECK: kernel.contract {indexing_maps = [{{.*}}]} ins(%{{.*}}, %[[LOW]] :
// CHECK: arith.negf
func.func @late_epilogue(%x: tensor<4x4xbf16>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32> {mp.state = 1 : i64}, tensor<4x4xf32>) {
  %0 = tensor.empty() : tensor<4x4xbf16>
  %low = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x4xf32>) outs(%0 : tensor<4x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %2 = arith.truncf %in : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<4x4xbf16>
  %1 = tensor.empty() : tensor<4x4xf32>
  %y = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %low : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<4x4xf32>
  %next = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  %neg = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.negf %in : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %next, %neg : tensor<4x4xf32>, tensor<4x4xf32>
}
