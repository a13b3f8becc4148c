// RUN: kernel-opt %s --kernel-outline-contracts --split-input-file --verify-diagnostics

func.func @tensors(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // expected-error @below {{expected a contraction of memrefs, got 'tensor<4x6xf32>'}}
  %0 = kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
