// RUN: mp-opt %s --kernel-select-gpu-strategy --split-input-file --verify-diagnostics

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

func.func @unknown(%a: memref<?x8xf32>, %b: memref<8x8xf32>, %c: memref<?x8xf32>) {
  device.group contract {
    // expected-error @+1 {{expected memory of known sizes, strides and offset, got 'memref<?x8xf32>'}}
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%a, %b : memref<?x8xf32>, memref<8x8xf32>) outs(%c : memref<?x8xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// -----

func.func @unknown_size(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %size: index) {
  device.group contract {
    // expected-error @+1 {{expected sizes that are known, got none for d1}}
    kernel.contract {indexing_maps = [affine_map<(m, k) -> (m + k)>, affine_map<(m, k) -> (m)>, affine_map<(m, k) -> (m)>]}
        ins(%a, %b : memref<8xf32>, memref<8xf32>) sizes(%size) outs(%c : memref<8xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

func.func @exact(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {
  device.group contract {
    // expected-error @+1 {{expected factors of bf16 or of f16, or of f32 if device.target allows tf32, for #kernel.tile<by = mma, m = 16, n = 16, k = 16, part_m = 16, part_n = 16, stages = 2>, got 'f32' and 'f32'}}
    kernel.contract {indexing_maps = [#a, #b, #c],
        tile = #kernel.tile<by = mma, m = 16, n = 16, k = 16, part_m = 16, part_n = 16, stages = 2>}
        ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

func.func @shared(%a: memref<8x8xbf16>, %b: memref<8x8xbf16>, %c: memref<8x8xf32>) {
  device.group contract {
    // expected-error @+1 {{expected at most 101376 bytes of shared memory, got 262144 of #kernel.tile<by = mma, m = 256, n = 256, k = 64}}
    kernel.contract {indexing_maps = [#a, #b, #c],
        tile = #kernel.tile<by = mma, m = 256, n = 256, k = 64, part_m = 64, part_n = 64, stages = 4>}
        ins(%a, %b : memref<8x8xbf16>, memref<8x8xbf16>) outs(%c : memref<8x8xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// -----

// expected-error @+1 {{expected powers of two from 1 to 256, got m = 48, n = 64, k = 16, part_m = 4, part_n = 4}}
func.func private @sizes() attributes {tile = #kernel.tile<by = fma, m = 48, n = 64, k = 16, part_m = 4, part_n = 4, stages = 2>}

// -----

// expected-error @+1 {{expected k, part_m and part_n of 16 or more, and parts within m and n, got m = 64, n = 64, k = 8, part_m = 32, part_n = 32}}
func.func private @parts() attributes {tile = #kernel.tile<by = mma, m = 64, n = 64, k = 8, part_m = 32, part_n = 32, stages = 2>}

// -----

// expected-error @+1 {{expected parts of 32 to 1024 threads, got 4}}
func.func private @threads() attributes {tile = #kernel.tile<by = fma, m = 8, n = 8, k = 8, part_m = 4, part_n = 4, stages = 2>}

// -----

// expected-error @+1 {{expected 2 to 8 stages, got 1}}
func.func private @stages() attributes {tile = #kernel.tile<by = fma, m = 64, n = 64, k = 8, part_m = 4, part_n = 4, stages = 1>}

// -----

func.func @rows(%a: memref<64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  device.group row_wise {
    // expected-error @+1 {{has no code for devices: how many rows there are depends on data}}
    scf.forall (%i) in (%n) {
      memref.store %zero, %a[%i] : memref<64xf32>
    }
  }
  return
}

// -----

func.func @nothing() {
  // expected-error @+1 {{expected an op of the kind 'reduce'}}
  device.group reduce {
  }
  return
}
