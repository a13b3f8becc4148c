// RUN: mp-opt %s --mp-narrow-temporaries | FileCheck %s

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A sum that is rounded in the epilogue is stored so; a loop, a reduction and
// another product, as factor and in its epilogue, widen it.
// CHECK-LABEL: @contraction
// CHECK-SAME: %[[X:.*]]: tensor<4x4xbf16>
// CHECK: %[[LOW:.*]] = kernel.contract {{.*}} ins(%[[X]], %[[X]] : {{.*}} outs(%{{.*}} : tensor<4x4xbf16>) {
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT: kernel.yield %[[ROUNDED]] : bf16
// CHECK: linalg.generic {{.*}} ins(%[[LOW]], %[[LOW]] : tensor<4x4xbf16>, tensor<4x4xbf16>)
// CHECK-NEXT: ^bb0(%[[L:.*]]: bf16, %[[R:.*]]: bf16, %{{.*}}: f32):
// CHECK-DAG: %[[L_WIDE:.*]] = arith.extf %[[L]] : bf16 to f32
// CHECK-DAG: %[[R_WIDE:.*]] = arith.extf %[[R]] : bf16 to f32
// CHECK: arith.mulf %[[L_WIDE]], %[[R_WIDE]] : f32
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} ins(%[[LOW]] : tensor<4x4xbf16>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: bf16, %[[OUT:.*]]: f32):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[IN]] : bf16 to f32
// CHECK-NEXT: arith.addf %[[OUT]], %[[WIDE]] : f32
// CHECK: kernel.contract {{.*}} ins(%[[LOW]], %[[X]] : tensor<4x4xbf16>, tensor<4x4xbf16>) extra(%[[LOW]] : tensor<4x4xbf16>)
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[E:.*]]: bf16):
// CHECK-NEXT: %[[E_WIDE:.*]] = arith.extf %[[E]] : bf16 to f32
// CHECK-NEXT: arith.addf %[[SUM]], %[[E_WIDE]] : f32
func.func @contraction(%x: tensor<4x4xbf16>, %zeros: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %0 = tensor.empty() : tensor<4x4xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %x : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    %1 = arith.truncf %s : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    kernel.yield %2 : f32
  } -> tensor<4x4xf32>
  %square = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %sum : tensor<4x4xf32>, tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %1 = arith.mulf %l, %r : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %total = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%sum : tensor<4x4xf32>) outs(%zeros : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %next = kernel.contract {indexing_maps = [#a, #b, #c, #c]} ins(%sum, %x : tensor<4x4xf32>, tensor<4x4xbf16>)
      extra(%sum : tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%s: f32, %e: f32):
    %1 = arith.addf %s, %e : f32
    kernel.yield %1 : f32
  } -> tensor<4x4xf32>
  return %square, %total, %next : tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// So are the results of loops, through views; a loop that only widens is gone.
// CHECK-LABEL: @loops
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf16>
// CHECK-NOT: linalg.generic
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<4x4xf16> into tensor<16xf16>
// CHECK: linalg.generic {{.*}} ins(%[[FLAT]] : tensor<16xf16>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f16, %{{.*}}: f32):
// CHECK-NEXT: arith.extf %[[IN]] : f16 to f32
func.func @loops(%x: tensor<4x4xf16>) -> tensor<16xf32> {
  %0 = tensor.empty() : tensor<4x4xf32>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf16>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%in: f16, %out: f32):
    %2 = arith.extf %in : f16 to f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  %flat = tensor.collapse_shape %wide [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %1 = tensor.empty() : tensor<16xf32>
  %exp = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%flat : tensor<16xf32>) outs(%1 : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %exp : tensor<16xf32>
}

// A reshape that neither joins nor splits axes is a view, too.
// CHECK-LABEL: @groups
// CHECK-SAME: %[[X:.*]]: tensor<4x6xbf16>
// CHECK: %[[GROUPS:.*]] = tensor.reshape %[[X]](%{{.*}}) : (tensor<4x6xbf16>, tensor<2xindex>) -> tensor<3x8xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[GROUPS]] : tensor<3x8xbf16>)
func.func @groups(%x: tensor<4x6xbf16>, %sizes: tensor<2xindex>) -> tensor<3x8xf32> {
  %0 = tensor.empty() : tensor<4x6xf32>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x6xbf16>) outs(%0 : tensor<4x6xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %2 = arith.extf %in : bf16 to f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  %groups = tensor.reshape %wide(%sizes) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<3x8xf32>
  %1 = tensor.empty() : tensor<3x8xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%groups : tensor<3x8xf32>) outs(%1 : tensor<3x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<3x8xf32>
  return %exp : tensor<3x8xf32>
}

// What is returned, or kept where the contraction does not write, is f32.
// CHECK-LABEL: @keep
// CHECK: kernel.contract {{.*}} outs(%{{.*}} : tensor<4x4xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x4xf32>)
func.func @keep(%x: tensor<4x4xbf16>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tensor.empty() : tensor<4x4xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %x : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    %1 = arith.truncf %s : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    kernel.yield %2 : f32
  } -> tensor<4x4xf32>
  %low = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<4x4xf32>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.truncf %in : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %low, %low : tensor<4x4xf32>, tensor<4x4xf32>
}

// An element that a loop reads at a position of its own is widened there.
// CHECK-LABEL: @elements
// CHECK: %[[LOW:.*]] = kernel.contract {{.*}} outs(%{{.*}} : tensor<4x4xbf16>)
// CHECK: %[[ELEMENT:.*]] = tensor.extract %[[LOW]][%{{.*}}, %{{.*}}] : tensor<4x4xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[ELEMENT]] : bf16 to f32
// CHECK: arith.addf %{{.*}}, %[[WIDE]] : f32
func.func @elements(%x: tensor<4x4xbf16>, %labels: tensor<4xindex>, %zero: tensor<f32>) -> tensor<f32> {
  %0 = tensor.empty() : tensor<4x4xf32>
  %sum = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %x : tensor<4x4xbf16>, tensor<4x4xbf16>) outs(%0 : tensor<4x4xf32>) {
  ^bb0(%s: f32):
    %1 = arith.truncf %s : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    kernel.yield %2 : f32
  } -> tensor<4x4xf32>
  %total = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%labels : tensor<4xindex>) outs(%zero : tensor<f32>) {
  ^bb0(%label: index, %out: f32):
    %i = linalg.index 0 : index
    %element = tensor.extract %sum[%i, %label] : tensor<4x4xf32>
    %1 = arith.addf %out, %element : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %total : tensor<f32>
}
