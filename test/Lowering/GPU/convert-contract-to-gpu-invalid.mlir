// RUN: kernel-opt %s --convert-contract-to-gpu --split-input-file --verify-diagnostics

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

func.func @unknown(%a: memref<?x8xf32>, %b: memref<8x8xf32>, %c: memref<?x8xf32>) {
  // expected-error @+1 {{expected memory of known sizes, strides and offset, got 'memref<?x8xf32>'}}
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%a, %b : memref<?x8xf32>, memref<8x8xf32>) outs(%c : memref<?x8xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

func.func @outside(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>, %factor: f32) {
  // expected-error @+1 {{expected an epilogue of operands and constants, got a value from outside}}
  kernel.contract {indexing_maps = [#a, #b, #c]} ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>) {
  ^bb0(%sum: f32):
    %0 = arith.mulf %sum, %factor : f32
    kernel.yield %0 : f32
  }
  return
}
