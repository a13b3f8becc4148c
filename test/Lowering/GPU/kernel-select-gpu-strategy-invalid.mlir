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

// expected-error @+1 {{expected powers of two from 1 to 256, of rows and columns also three times as many, got m = 80, n = 64, k = 16, part_m = 4, part_n = 4}}
func.func private @sizes() attributes {tile = #kernel.tile<by = fma, m = 80, n = 64, k = 16, part_m = 4, part_n = 4, stages = 2>}

// -----

// expected-error @+1 {{expected k, part_m and part_n of 16 or more, and parts that divide m and n, got m = 64, n = 64, k = 8, part_m = 32, part_n = 32}}
func.func private @parts() attributes {tile = #kernel.tile<by = mma, m = 64, n = 64, k = 8, part_m = 32, part_n = 32, stages = 2>}

// -----

// expected-error @+1 {{expected parts of 32 to 1024 threads, got 4}}
func.func private @threads() attributes {tile = #kernel.tile<by = fma, m = 8, n = 8, k = 8, part_m = 4, part_n = 4, stages = 2>}

// -----

// expected-error @+1 {{expected one slice, or two of mma with k of 32 or more and part_m of a multiple of 32, got 2}}
func.func private @slices() attributes {tile = #kernel.tile<by = mma, m = 96, n = 64, k = 32, part_m = 48, part_n = 32, stages = 2, slices = 2>}

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

// -----

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %q = runtime.input %inputs[0] : memref<2x64x32xf16>
  %k = runtime.input %inputs[1] : memref<2x48x32xbf16>
  %v = runtime.input %inputs[2] : memref<2x48x16xbf16>
  %mask = runtime.input %inputs[3] : memref<1x48xf32>
  %o = runtime.output %outputs[0] () : memref<2x64x16xbf16>
  %max = runtime.output %outputs[1] () : memref<2x64xf32>
  %sum = runtime.output %outputs[2] () : memref<2x64xf32>

  device.group attention {
    // expected-error @below {{expected factors of bf16 or of f16, of one type, got 'bf16' and 'f16'}}
    kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  }
  return %ok : i32
}

// -----

func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  %q = runtime.input %inputs[0] : memref<2x64x264xbf16>
  %k = runtime.input %inputs[1] : memref<2x48x264xbf16>
  %v = runtime.input %inputs[2] : memref<2x48x16xbf16>
  %mask = runtime.input %inputs[3] : memref<1x48xf32>
  %o = runtime.output %outputs[0] () : memref<2x64x16xbf16>
  %max = runtime.output %outputs[1] () : memref<2x64xf32>
  %sum = runtime.output %outputs[2] () : memref<2x64xf32>

  device.group attention {
    // expected-error @below {{expected heads of at most 256 elements, got 264}}
    kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x264xbf16>, memref<2x48x264xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  }
  return %ok : i32
}
