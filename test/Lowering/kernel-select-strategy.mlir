// RUN: kernel-opt %s --mp-set-target=isa=avx512 --kernel-select-strategy | FileCheck %s
// RUN: kernel-opt %s --mp-set-target="isa=avx512 kernels=dot" --kernel-select-strategy | FileCheck %s --check-prefix=DOT
// RUN: kernel-opt %s --mp-set-target="isa=avx512 kernels=amx" --kernel-select-strategy | FileCheck %s --check-prefix=AMX
// RUN: kernel-opt %s --mp-set-target="isa=avx512 kernels=direct" --kernel-select-strategy | FileCheck %s --check-prefix=DIRECT
// RUN: kernel-opt %s --kernel-select-strategy | FileCheck %s --check-prefix=AVX2
// RUN: kernel-opt %s --mp-set-target=isa=neon --kernel-select-strategy | FileCheck %s --check-prefix=NEON
// RUN: kernel-opt %s --kernel-select-strategy="rows=4 vectors=1 mc=64 nc=32 kc=20" | FileCheck %s --check-prefix=SIZES
// RUN: kernel-opt %s --kernel-select-strategy --remarks-filter-analyse=mp-codegen 2>&1 | FileCheck %s --check-prefix=REMARK

#lhs = affine_map<(m, n, k) -> (m, k)>
#lhs_t = affine_map<(m, n, k) -> (k, m)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Rows of f32 are read where they lie, those of other types and other orders
// are packed.
// CHECK-LABEL: func.func @lines
// CHECK: config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, lhs = in_place, mc = 1024, nc = 512, kc = 512>
// CHECK: config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, mc = 1024, nc = 512, kc = 512>
// AVX2-LABEL: func.func @lines
// AVX2: config = #kernel.config<strategy = blocked, products = widen, mr = 6, nr = 16, lanes = 8, lhs = in_place, mc = 480, nc = 512, kc = 256>
// NEON-LABEL: func.func @lines
// NEON: config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 12, lanes = 4, lhs = in_place, mc = 480, nc = 512, kc = 256>
// Steps are whole vectors.
// SIZES-LABEL: func.func @lines
// SIZES: config = #kernel.config<strategy = blocked, products = widen, mr = 4, nr = 8, lanes = 8, lhs = in_place, mc = 64, nc = 32, kc = 16>
// REMARK: remark: [Analysis] strategy | Category:mp-codegen
// REMARK-SAME: Config="#kernel.config<strategy = blocked, {{.*}}>", Strategy=blocked
func.func @lines(%a: memref<500x600xf32>, %t: memref<600x500xf32>, %b: memref<600x700xf32>, %c: memref<500x700xf32>) {
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]}
      ins(%a, %b : memref<500x600xf32>, memref<600x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#lhs_t, #rhs, #out]}
      ins(%t, %b : memref<600x500xf32>, memref<600x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// bf16 is widened, or multiplied by pairs or tiles where the target has these.
// CHECK-LABEL: func.func @narrow
// CHECK: config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, lhs = k_major, mc = 1024
// DOT-LABEL: func.func @narrow
// DOT: config = #kernel.config<strategy = blocked, products = dot, mr = 8, nr = 48, lanes = 16, lhs = k_major, mc = 1024
// AMX-LABEL: func.func @narrow
// AMX: config = #kernel.config<strategy = blocked, products = amx, mr = 32, nr = 32, lanes = 16, lhs = k_major, mc = 1024, nc = 512, kc = 512, deep_mc = 512, deep_nc = 256, deep_kc = 256>
// fp16 is widened in any case.
// DOT: config = #kernel.config<strategy = blocked, products = widen
func.func @narrow(%a: memref<500x600xbf16>, %b: memref<600x700xbf16>, %c: memref<500x700xf32>,
                  %d: memref<500x600xf16>, %e: memref<600x700xf16>) {
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]}
      ins(%a, %b : memref<500x600xbf16>, memref<600x700xbf16>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]}
      ins(%d, %e : memref<500x600xf16>, memref<600x700xf16>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// For few rows the right-hand side is read where it lies, and the tile is wide.
// CHECK-LABEL: func.func @few_rows
// CHECK: config = #kernel.config<strategy = blocked, products = widen, mr = 4, nr = 96, lanes = 16, lhs = k_major, rhs = in_place,
func.func @few_rows(%a: memref<4x200xbf16>, %b: memref<200x600xbf16>, %c: memref<4x600xf32>) {
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]}
      ins(%a, %b : memref<4x200xbf16>, memref<200x600xbf16>) outs(%c : memref<4x600xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// Short sums are stored from registers.
// CHECK-LABEL: func.func @short
// CHECK: config = #kernel.config<{{.*}}kc = 512, store = registers>
func.func @short(%a: memref<500x64xf32>, %b: memref<64x700xf32>, %c: memref<500x700xf32>) {
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]}
      ins(%a, %b : memref<500x64xf32>, memref<64x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// Constants of the model are packed once, on either side; a left-hand side that
// could be read in place is then packed as well.
// CHECK-LABEL: func.func @constants
// CHECK: config = #kernel.config<{{.*}}lhs = in_place,{{.*}}cached = rhs>
// CHECK: config = #kernel.config<{{.*}}lhs = k_major,{{.*}}cached = lhs>
func.func @constants(%a: memref<500x600xf32>, %b: memref<600x700xf32>, %c: memref<500x700xf32>) {
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], kernel.constant = 1}
      ins(%a, %b : memref<500x600xf32>, memref<600x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], kernel.constant = 0}
      ins(%a, %b : memref<500x600xf32>, memref<600x700xf32>) outs(%c : memref<500x700xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

#image = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>

// A convolution, the same in 16 bit (larger tiles), and the gradient of its
// weights.
// CHECK-LABEL: func.func @convolutions
// CHECK: config = #kernel.config<strategy = winograd, products = widen, mr = 8, nr = 48, lanes = 16, f = 2, lhs = k_major, cached = lhs>
// CHECK: config = #kernel.config<strategy = winograd, products = widen, mr = 8, nr = 48, lanes = 16, f = 4, lhs = k_major>
// CHECK: config = #kernel.config<strategy = winograd_weights, products = widen, mr = 8, nr = 48, lanes = 16, f = 2>
// AVX2-LABEL: func.func @convolutions
// AVX2: strategy = winograd, {{.*}}f = 2
// AVX2: strategy = winograd, {{.*}}f = 2
// AVX2: config = #kernel.config<strategy = winograd_weights, products = widen, mr = 4, nr = 24, lanes = 8, f = 2>
// Pairs save more than tiles of f32.
// DOT-LABEL: func.func @convolutions
// DOT: strategy = winograd, {{.*}}f = 2
// DOT: strategy = winograd, {{.*}}f = 4
// AMX-LABEL: func.func @convolutions
// AMX: strategy = winograd, {{.*}}f = 2
// AMX: strategy = blocked, products = amx
// DIRECT-LABEL: func.func @convolutions
// DIRECT-COUNT-3: strategy = blocked
func.func @convolutions(%x: memref<2x40x12x20xf32>, %w: memref<41x40x3x3xf32>, %y: memref<2x41x12x20xf32>,
                        %h: memref<8x40x12x20xbf16>, %v: memref<41x40x3x3xbf16>, %z: memref<8x41x12x20xbf16>,
                        %u: memref<8x40x17x20xf32>, %d: memref<8x41x17x20xf32>) {
  kernel.contract {indexing_maps = [#image, #weight, #result], kernel.constant = 1}
      ins(%x, %w : memref<2x40x12x20xf32>, memref<41x40x3x3xf32>) outs(%y : memref<2x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#image, #weight, #result]}
      ins(%h, %v : memref<8x40x12x20xbf16>, memref<41x40x3x3xbf16>) outs(%z : memref<8x41x12x20xbf16>) {
  ^bb0(%sum: f32):
    %rounded = arith.truncf %sum : f32 to bf16
    kernel.yield %rounded : bf16
  }
  kernel.contract {indexing_maps = [#image, #result, #weight]}
      ins(%u, %d : memref<8x40x17x20xf32>, memref<8x41x17x20xf32>) outs(%w : memref<41x40x3x3xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

#channel_image = affine_map<(n, c, i, j, k, l) -> (n, c, i + k - 1, j + l - 1)>
#channel_strided = affine_map<(n, c, i, j, k, l) -> (n, c, i * 2 + k - 1, j * 2 + l - 1)>
#channel_input = affine_map<(n, c, i, j, k, l) -> (n, c, i - k + 1, j - l + 1)>
#channel_by_three = affine_map<(n, c, i, j, k, l) -> (n, c, i + k - 1, j * 3 + l - 1)>
#channel_weight = affine_map<(n, c, i, j, k, l) -> (c, k, l)>
#channel_result = affine_map<(n, c, i, j, k, l) -> (n, c, i, j)>

// Windows of one channel, by stride 1 or 2 along memory, and the gradient of the
// image; short rows are one vector each. Gradients of weights are products.
// CHECK-LABEL: func.func @depthwise
// CHECK: strategy = depthwise, products = widen, mr = 4, nr = 32, lanes = 16>
// CHECK: strategy = depthwise, products = widen, mr = 8, nr = 16, lanes = 16>
// CHECK: strategy = depthwise
// CHECK-COUNT-2: strategy = blocked
// DIRECT-LABEL: func.func @depthwise
// DIRECT-COUNT-3: strategy = depthwise
// AVX2-LABEL: func.func @depthwise
// AVX2: strategy = depthwise, products = widen, mr = 4, nr = 16, lanes = 8>
// AVX2: strategy = depthwise, products = widen, mr = 4, nr = 16, lanes = 8>
func.func @depthwise(%x: memref<2x8x28x28xbf16>, %w: memref<8x3x3xbf16>, %y: memref<2x8x28x28xbf16>,
                     %z: memref<2x8x14x14xbf16>, %t: memref<2x8x28x10xbf16>) {
  kernel.contract {indexing_maps = [#channel_image, #channel_weight, #channel_result]}
      ins(%x, %w : memref<2x8x28x28xbf16>, memref<8x3x3xbf16>) outs(%y : memref<2x8x28x28xbf16>) {
  ^bb0(%sum: f32):
    %rounded = arith.truncf %sum : f32 to bf16
    kernel.yield %rounded : bf16
  }
  kernel.contract {indexing_maps = [#channel_strided, #channel_weight, #channel_result]}
      ins(%x, %w : memref<2x8x28x28xbf16>, memref<8x3x3xbf16>) outs(%z : memref<2x8x14x14xbf16>) {
  ^bb0(%sum: f32):
    %rounded = arith.truncf %sum : f32 to bf16
    kernel.yield %rounded : bf16
  }
  kernel.contract {indexing_maps = [#channel_weight, #channel_input, #channel_result]}
      ins(%w, %y : memref<8x3x3xbf16>, memref<2x8x28x28xbf16>) outs(%x : memref<2x8x28x28xbf16>) {
  ^bb0(%sum: f32):
    %rounded = arith.truncf %sum : f32 to bf16
    kernel.yield %rounded : bf16
  }
  kernel.contract {indexing_maps = [#channel_by_three, #channel_weight, #channel_result]}
      ins(%x, %w : memref<2x8x28x28xbf16>, memref<8x3x3xbf16>) outs(%t : memref<2x8x28x10xbf16>) {
  ^bb0(%sum: f32):
    %rounded = arith.truncf %sum : f32 to bf16
    kernel.yield %rounded : bf16
  }
  kernel.contract {indexing_maps = [#channel_image, #channel_result, #channel_weight]}
      ins(%x, %y : memref<2x8x28x28xbf16>, memref<2x8x28x28xbf16>) outs(%w : memref<8x3x3xbf16>) {
  ^bb0(%sum: f32):
    %rounded = arith.truncf %sum : f32 to bf16
    kernel.yield %rounded : bf16
  }
  return
}

#tail_image = affine_map<(f, i, j, c) -> (c, i, j)>
#tail_weight = affine_map<(f, i, j, c) -> (f, c)>
#tail_result = affine_map<(f, i, j, c) -> (f, i, j)>

// What whole panels leave of 49 columns is one, of 196 four; of a constant rows
// are packed as a tail wants them. Rows in place have none, nor has a rest of
// ten. The 49 columns of 70 rows are packed ahead of tasks. Two million
// multiply-adds are worth a tile of their own, whose results are stored from
// registers; fewer are not.
// CHECK-LABEL: func.func @tail
// CHECK: lhs = k_major, mc = 1024, nc = 512, kc = 512, cached = lhs, tail = 1, rhs_ahead = true>
// CHECK: lhs = k_major, mc = 1024, nc = 512, kc = 512, cached = lhs, store = registers, tail = 4>
// CHECK: lhs = in_place, mc = 1024, nc = 512, kc = 512, rhs_ahead = true>
// CHECK-NOT: tail
// AVX2-LABEL: func.func @tail
// AVX2: cached = lhs, tail = 1>
func.func @tail(%x: memref<600x7x7xf32>, %w: memref<70x600xf32>, %y: memref<70x7x7xf32>,
                %u: memref<64x14x14xf32>, %v: memref<168x64xf32>, %z: memref<168x14x14xf32>,
                %r: memref<64x2x53xf32>, %s: memref<168x2x53xf32>) {
  kernel.contract {indexing_maps = [#tail_weight, #tail_image, #tail_result], kernel.constant = 0 : i64}
      ins(%w, %x : memref<70x600xf32>, memref<600x7x7xf32>) outs(%y : memref<70x7x7xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#tail_weight, #tail_image, #tail_result], kernel.constant = 0 : i64}
      ins(%v, %u : memref<168x64xf32>, memref<64x14x14xf32>) outs(%z : memref<168x14x14xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#tail_weight, #tail_image, #tail_result]}
      ins(%w, %x : memref<70x600xf32>, memref<600x7x7xf32>) outs(%y : memref<70x7x7xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  kernel.contract {indexing_maps = [#tail_weight, #tail_image, #tail_result], kernel.constant = 0 : i64}
      ins(%v, %r : memref<168x64xf32>, memref<64x2x53xf32>) outs(%s : memref<168x2x53xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
