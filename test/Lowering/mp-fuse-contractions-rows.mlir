// RUN: mp-opt %s --mp-fuse-contractions=keep-rows | FileCheck %s
// RUN: mp-opt %s --mp-fuse-contractions | FileCheck %s --check-prefix=FUSED

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// The gradient of a softmax: what the product rounds is stored in 16 bits, and
// the rows multiply it. Without the flag the product stores f32.
// CHECK-LABEL: @rows
// CHECK: %[[LOW:.*]] = kernel.contract {{.*}} outs(%{{.*}} : tensor<1024x2048xbf16>)
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32):
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK-NEXT: kernel.yield %[[ROUNDED]] : bf16
// CHECK: linalg.generic {{.*}} ins(%[[LOW]], %{{.*}} : tensor<1024x2048xbf16>, tensor<1024x2048xf32>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: bf16, %[[P:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[IN]] : bf16 to f32
// CHECK-NEXT: arith.mulf %[[WIDE]], %[[P]] : f32
// FUSED-LABEL: @rows
// FUSED: kernel.contract {{.*}} outs(%{{.*}} : tensor<1024x2048xf32>)
// FUSED-NOT: tensor<1024x2048xbf16>)
func.func @rows(%x: tensor<1024x4xbf16>, %w: tensor<4x2048xbf16>, %p: tensor<1024x2048xf32>, %zeros: tensor<1024xf32>) -> tensor<1024x2048xf32> {
  %0 = tensor.empty() : tensor<1024x2048xf32>
  %product = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<1024x4xbf16>, tensor<4x2048xbf16>) outs(%0 : tensor<1024x2048xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<1024x2048xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product, %p : tensor<1024x2048xf32>, tensor<1024x2048xf32>) outs(%0 : tensor<1024x2048xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %1 = arith.truncf %in : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.mulf %2, %q : f32
    linalg.yield %3 : f32
  } -> tensor<1024x2048xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scaled : tensor<1024x2048xf32>) outs(%zeros : tensor<1024xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<1024xf32>
  %result = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scaled, %sum : tensor<1024x2048xf32>, tensor<1024xf32>) outs(%0 : tensor<1024x2048xf32>) {
  ^bb0(%in: f32, %total: f32, %out: f32):
    %1 = arith.subf %in, %total : f32
    linalg.yield %1 : f32
  } -> tensor<1024x2048xf32>
  return %result : tensor<1024x2048xf32>
}

// Small products stay in caches.
// CHECK-LABEL: @small
// CHECK: kernel.contract {{.*}} outs(%{{.*}} : tensor<8x16xf32>)
func.func @small(%x: tensor<8x4xbf16>, %w: tensor<4x16xbf16>, %p: tensor<8x16xf32>, %zeros: tensor<8xf32>) -> tensor<8x16xf32> {
  %0 = tensor.empty() : tensor<8x16xf32>
  %product = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<8x4xbf16>, tensor<4x16xbf16>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<8x16xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product, %p : tensor<8x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %1 = arith.truncf %in : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.mulf %2, %q : f32
    linalg.yield %3 : f32
  } -> tensor<8x16xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scaled : tensor<8x16xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %result = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scaled, %sum : tensor<8x16xf32>, tensor<8xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %total: f32, %out: f32):
    %1 = arith.subf %in, %total : f32
    linalg.yield %1 : f32
  } -> tensor<8x16xf32>
  return %result : tensor<8x16xf32>
}

// Sums of columns are not in one loop with what reads them.
// CHECK-LABEL: @columns
// CHECK: kernel.contract {{.*}} extra(%{{.*}} : tensor<1024x2048xf32>) outs(%{{.*}} : tensor<1024x2048xf32>)
func.func @columns(%x: tensor<1024x4xbf16>, %w: tensor<4x2048xbf16>, %p: tensor<1024x2048xf32>, %zeros: tensor<2048xf32>) -> tensor<1024x2048xf32> {
  %0 = tensor.empty() : tensor<1024x2048xf32>
  %product = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<1024x4xbf16>, tensor<4x2048xbf16>) outs(%0 : tensor<1024x2048xf32>) {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } -> tensor<1024x2048xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product, %p : tensor<1024x2048xf32>, tensor<1024x2048xf32>) outs(%0 : tensor<1024x2048xf32>) {
  ^bb0(%in: f32, %q: f32, %out: f32):
    %1 = arith.truncf %in : f32 to bf16
    %2 = arith.extf %1 : bf16 to f32
    %3 = arith.mulf %2, %q : f32
    linalg.yield %3 : f32
  } -> tensor<1024x2048xf32>
  %sum = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%scaled : tensor<1024x2048xf32>) outs(%zeros : tensor<2048xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<2048xf32>
  %result = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scaled, %sum : tensor<1024x2048xf32>, tensor<2048xf32>) outs(%0 : tensor<1024x2048xf32>) {
  ^bb0(%in: f32, %total: f32, %out: f32):
    %1 = arith.subf %in, %total : f32
    linalg.yield %1 : f32
  } -> tensor<1024x2048xf32>
  return %result : tensor<1024x2048xf32>
}
