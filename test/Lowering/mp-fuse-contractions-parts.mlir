// RUN: mp-opt %s --mp-fuse-contractions=split-parts=true --canonicalize --cse | FileCheck %s
// RUN: mp-opt %s --mp-fuse-contractions --canonicalize --cse | FileCheck %s --check-prefix=WHOLE

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#bias = affine_map<(m, n, k) -> (n)>

// A product of which one part is rounded and the other one is not: each is a
// contraction of a part of the weights and of the bias, with its own epilogue.
// CHECK-LABEL: @parts
// CHECK-SAME: %[[X:.*]]: tensor<8x32xbf16>, %[[W:.*]]: tensor<32x192xf32>, %[[BIAS:.*]]: tensor<192xf32>
// CHECK-DAG: %[[W0:.*]] = tensor.extract_slice %[[W]][0, 0] [32, 128] [1, 1]
// CHECK-DAG: %[[B0:.*]] = tensor.extract_slice %[[BIAS]][0] [128] [1]
// CHECK-DAG: %[[W1:.*]] = tensor.extract_slice %[[W]][0, 128] [32, 64] [1, 1]
// CHECK-DAG: %[[B1:.*]] = tensor.extract_slice %[[BIAS]][128] [64] [1]
// CHECK-DAG: kernel.contract {{.*}}round_b = bf16} ins(%[[X]], %[[W0]] : {{.*}}) extra(%[[B0]] : tensor<128xf32>) outs(%{{.*}} : tensor<8x128xbf16>)
// CHECK-DAG: kernel.contract {{.*}}round_b = bf16} ins(%[[X]], %[[W1]] : {{.*}}) extra(%[[B1]] : tensor<64xf32>) outs(%{{.*}} : tensor<8x64xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
// WHOLE-LABEL: @parts
// WHOLE-COUNT-1: kernel.contract
// WHOLE: linalg.generic
// WHOLE: return
func.func @parts(%x: tensor<8x32xbf16>, %w: tensor<32x192xf32>, %bias: tensor<192xf32>)
    -> (tensor<8x128xbf16>, tensor<8x64xf32>) {
  %0 = tensor.empty() : tensor<8x192xf32>
  %1 = kernel.contract {indexing_maps = [#a, #b, #bias, #c], round_b = bf16}
      ins(%x, %w : tensor<8x32xbf16>, tensor<32x192xf32>) extra(%bias : tensor<192xf32>) outs(%0 : tensor<8x192xf32>) {
  ^bb0(%sum: f32, %b: f32):
    %s = arith.addf %sum, %b : f32
    kernel.yield %s : f32
  } -> tensor<8x192xf32>
  %left = tensor.extract_slice %1[0, 0] [8, 128] [1, 1] : tensor<8x192xf32> to tensor<8x128xf32>
  %right = tensor.extract_slice %1[0, 128] [8, 64] [1, 1] : tensor<8x192xf32> to tensor<8x64xf32>
  %2 = tensor.empty() : tensor<8x128xbf16>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%left : tensor<8x128xf32>) outs(%2 : tensor<8x128xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %r = arith.truncf %in : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8x128xbf16>
  return %3, %right : tensor<8x128xbf16>, tensor<8x64xf32>
}

// Parts that overlap, narrow ones, and a result that is also read as a whole
// stay one product.
// CHECK-LABEL: @overlap
// CHECK-COUNT-1: kernel.contract
// CHECK-NOT: kernel.contract
// CHECK-LABEL: @narrow
// CHECK-COUNT-1: kernel.contract
// CHECK-NOT: kernel.contract
// CHECK-LABEL: @whole
// CHECK-COUNT-1: kernel.contract
// CHECK-NOT: kernel.contract
// CHECK: return
func.func @overlap(%x: tensor<8x32xf32>, %w: tensor<32x192xf32>) -> (tensor<8x128xf32>, tensor<8x128xf32>) {
  %0 = tensor.empty() : tensor<8x192xf32>
  %1 = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<8x32xf32>, tensor<32x192xf32>) outs(%0 : tensor<8x192xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<8x192xf32>
  %left = tensor.extract_slice %1[0, 0] [8, 128] [1, 1] : tensor<8x192xf32> to tensor<8x128xf32>
  %right = tensor.extract_slice %1[0, 64] [8, 128] [1, 1] : tensor<8x192xf32> to tensor<8x128xf32>
  return %left, %right : tensor<8x128xf32>, tensor<8x128xf32>
}
func.func @narrow(%x: tensor<8x32xf32>, %w: tensor<32x96xf32>) -> (tensor<8x32xf32>, tensor<8x64xf32>) {
  %0 = tensor.empty() : tensor<8x96xf32>
  %1 = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<8x32xf32>, tensor<32x96xf32>) outs(%0 : tensor<8x96xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<8x96xf32>
  %left = tensor.extract_slice %1[0, 0] [8, 32] [1, 1] : tensor<8x96xf32> to tensor<8x32xf32>
  %right = tensor.extract_slice %1[0, 32] [8, 64] [1, 1] : tensor<8x96xf32> to tensor<8x64xf32>
  return %left, %right : tensor<8x32xf32>, tensor<8x64xf32>
}
func.func @whole(%x: tensor<8x32xf32>, %w: tensor<32x128xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x128xf32>) {
  %0 = tensor.empty() : tensor<8x128xf32>
  %1 = kernel.contract {indexing_maps = [#a, #b, #c]} ins(%x, %w : tensor<8x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<8x128xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<8x128xf32>
  %left = tensor.extract_slice %1[0, 0] [8, 64] [1, 1] : tensor<8x128xf32> to tensor<8x64xf32>
  %right = tensor.extract_slice %1[0, 64] [8, 64] [1, 1] : tensor<8x128xf32> to tensor<8x64xf32>
  return %left, %right, %1 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x128xf32>
}

// Four gates that one op reads together are one product.
// CHECK-LABEL: @gates
// CHECK-COUNT-1: kernel.contract
// CHECK-NOT: kernel.contract
// CHECK: return
func.func @gates(%x: tensor<8x32xbf16>, %w: tensor<32x256xf32>) -> tensor<8x64xf32> {
  %0 = tensor.empty() : tensor<8x256xf32>
  %1 = kernel.contract {indexing_maps = [#a, #b, #c], round_b = bf16}
      ins(%x, %w : tensor<8x32xbf16>, tensor<32x256xf32>) outs(%0 : tensor<8x256xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<8x256xf32>
  %i = tensor.extract_slice %1[0, 0] [8, 64] [1, 1] : tensor<8x256xf32> to tensor<8x64xf32>
  %f = tensor.extract_slice %1[0, 64] [8, 64] [1, 1] : tensor<8x256xf32> to tensor<8x64xf32>
  %g = tensor.extract_slice %1[0, 128] [8, 64] [1, 1] : tensor<8x256xf32> to tensor<8x64xf32>
  %o = tensor.extract_slice %1[0, 192] [8, 64] [1, 1] : tensor<8x256xf32> to tensor<8x64xf32>
  %2 = tensor.empty() : tensor<8x64xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%i, %f, %g, %o : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) outs(%2 : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %out: f32):
    %ab = arith.mulf %a, %b : f32
    %cd = arith.mulf %c, %d : f32
    %s = arith.addf %ab, %cd : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
