// RUN: mp-opt %s --kernel-select-gpu-strategy | FileCheck %s
// RUN: mp-opt %s --kernel-select-gpu-strategy --remarks-filter-analyse=mp-codegen 2>&1 | FileCheck %s --check-prefix=REMARK

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Enough tiles for all multiprocessors: large ones, multiplied by tensor cores.
// CHECK-LABEL: func.func @large
// CHECK: device.group contract strategy <by = tiles, blocks = 256, threads = 128> {
// CHECK: tile = #kernel.tile<by = mma, m = 128, n = 128, k = 64, part_m = 64, part_n = 64, stages = 2>
// REMARK: remark: [Analysis] strategy | Category:mp-codegen
// REMARK-SAME: Blocks=256
// REMARK-SAME: Kind=contract
// REMARK-SAME: Strategy=tiles
// REMARK-SAME: Threads=128
// REMARK-SAME: Tile="#kernel.tile<by = mma, {{.*}}>"
func.func @large(%a: memref<2048x512xbf16>, %b: memref<512x2048xbf16>, %c: memref<2048x2048xf32>) {
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : memref<2048x512xbf16>, memref<512x2048xbf16>) outs(%c : memref<2048x2048xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// fp32 is multiplied exactly.
// CHECK-LABEL: func.func @exact
// CHECK: tile = #kernel.tile<by = fma, m = 128, n = 128, k = 16, part_m = 8, part_n = 8, stages = 3>
func.func @exact(%a: memref<2048x512xf32>, %b: memref<512x2048xf32>, %c: memref<2048x2048xf32>) {
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : memref<2048x512xf32>, memref<512x2048xf32>) outs(%c : memref<2048x2048xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// One block for each multiprocessor: two warps share the steps of a part. Parts
// of 48 rows or columns divide 768 x 3072 into as many blocks.
// CHECK-LABEL: func.func @slices
// CHECK: device.group contract strategy <by = tiles, blocks = 128, threads = 256> {
// CHECK: tile = #kernel.tile<by = mma, m = 128, n = 64, k = 64, part_m = 64, part_n = 32, stages = 3, slices = 2>
// CHECK: device.group contract strategy <by = tiles, blocks = 128, threads = 256> {
// CHECK: tile = #kernel.tile<by = mma, m = 96, n = 192, k = 64, part_m = 96, part_n = 48, stages = 2, slices = 2>
func.func @slices(%a: memref<2048x2048xbf16>, %b: memref<2048x512xbf16>, %c: memref<2048x512xf32>,
                  %d: memref<8192x768xbf16>, %e: memref<8192x3072xbf16>, %f: memref<768x3072xf32>) {
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : memref<2048x2048xbf16>, memref<2048x512xbf16>) outs(%c : memref<2048x512xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, #b, #c]}
        ins(%d, %e : memref<8192x768xbf16>, memref<8192x3072xbf16>) outs(%f : memref<768x3072xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// Operands that are rounded while they are read are multiplied by tensor cores,
// two types are not.
// CHECK-LABEL: func.func @types
// CHECK: tile = #kernel.tile<by = mma
// CHECK: tile = #kernel.tile<by = fma
func.func @types(%a: memref<512x512xf16>, %b: memref<512x512xf32>, %d: memref<512x512xbf16>, %c: memref<512x512xf32>) {
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c], round_b = f16}
        ins(%a, %b : memref<512x512xf16>, memref<512x512xf32>) outs(%c : memref<512x512xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %d : memref<512x512xf16>, memref<512x512xbf16>) outs(%c : memref<512x512xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// Few rows, and few elements: small tiles; a tile that is given is kept.
// CHECK-LABEL: func.func @small
// CHECK: tile = #kernel.tile<by = mma, m = 16, n = {{16|32|64}}, k = 32
// CHECK: tile = #kernel.tile<by = fma, m = 16, n = 16, k = 16
// CHECK: tile = #kernel.tile<by = fma, m = 32, n = 32, k = 8, part_m = 4, part_n = 4, stages = 2>
func.func @small(%a: memref<4x512xf16>, %b: memref<512x512xf16>, %c: memref<4x512xf32>,
                 %d: memref<4x512xf32>, %e: memref<512x10xf32>, %f: memref<4x10xf32>) {
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : memref<4x512xf16>, memref<512x512xf16>) outs(%c : memref<4x512xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]}
        ins(%d, %e : memref<4x512xf32>, memref<512x10xf32>) outs(%f : memref<4x10xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c],
        tile = #kernel.tile<by = fma, m = 32, n = 32, k = 8, part_m = 4, part_n = 4, stages = 2>}
        ins(%d, %e : memref<4x512xf32>, memref<512x10xf32>) outs(%f : memref<4x10xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// Two products of one kernel have larger tiles than one alone: both together
// fill a GPU.
// CHECK-LABEL: func.func @identical
// CHECK: device.group contract strategy <by = tiles, blocks = 128, threads = 128> {
// CHECK: tile = #kernel.tile<by = mma, m = 32, n = 64,
// CHECK: device.group contract strategy <by = tiles, blocks = 128, threads = 128> {
// CHECK-COUNT-2: tile = #kernel.tile<by = mma, m = 64, n = 64,
func.func @identical(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %c: memref<512x512xf32>, %d: memref<512x512xf32>) {
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%a, %b : memref<512x512xbf16>, memref<512x512xbf16>) outs(%c : memref<512x512xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%a, %b : memref<512x512xbf16>, memref<512x512xbf16>) outs(%c : memref<512x512xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%b, %a : memref<512x512xbf16>, memref<512x512xbf16>) outs(%d : memref<512x512xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  return
}

// Unless the module asks for tf32: as many bytes, half as many elements.
module attributes {device.target = #device.target<fp32_products = tf32>} {
  // CHECK-LABEL: func.func @tf32
  // CHECK: tile = #kernel.tile<by = mma, m = 128, n = 128, k = 32, part_m = 64, part_n = 64, stages = 2>
  func.func @tf32(%a: memref<2048x512xf32>, %b: memref<512x2048xf32>, %c: memref<2048x2048xf32>) {
    device.group contract {
      kernel.contract {indexing_maps = [#a, #b, #c]}
          ins(%a, %b : memref<2048x512xf32>, memref<512x2048xf32>) outs(%c : memref<2048x2048xf32>) {
      ^bb0(%sum: f32):
        kernel.yield %sum : f32
      }
    }
    return
  }

  // CHECK-LABEL: func.func @tf32_is_for_f32
  // CHECK: tile = #kernel.tile<by = fma,
  func.func @tf32_is_for_f32(%a: memref<2048x512xf64>, %b: memref<512x2048xf64>, %c: memref<2048x2048xf64>) {
    device.group contract {
      kernel.contract {indexing_maps = [#a, #b, #c]}
          ins(%a, %b : memref<2048x512xf64>, memref<512x2048xf64>) outs(%c : memref<2048x2048xf64>) {
      ^bb0(%sum: f64):
        kernel.yield %sum : f64
      }
    }
    return
  }
}

// Groups of other kinds. Few products are computed by single threads.
// CHECK-LABEL: func.func @kinds
func.func @kinds(%a: memref<64x1024xf32>, %b: memref<64xf32>, %c: memref<1024xf32>, %d: memref<4x4xf32>,
                 %e: memref<16x1024xf32>, %s: memref<f32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: device.group elementwise strategy <by = threads, blocks = 64, threads = 256> {
  device.group elementwise {
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%a : memref<64x1024xf32>) {
    ^bb0(%x: f32):
      %y = math.absf %x : f32
      linalg.yield %y : f32
    }
  }
  // Rows: a block for each. Columns: a block for 32 neighbours.
  // CHECK: device.group reduce strategy <by = blocks, blocks = 64, threads = 256> {
  device.group reduce {
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<64x1024xf32>) outs(%b : memref<64xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    }
  }
  // CHECK: device.group reduce strategy <by = columns, blocks = 32, threads = 256> {
  device.group reduce {
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<64x1024xf32>) outs(%c : memref<1024xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    }
  }
  // CHECK: device.group reduce strategy <by = threads, blocks = 8, threads = 128> {
  device.group reduce {
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%e : memref<16x1024xf32>) outs(%c : memref<1024xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    }
  }
  // CHECK: device.group contract strategy <by = threads, blocks = 1, threads = 32> {
  // CHECK-NOT: #kernel.tile
  device.group contract {
    kernel.contract {indexing_maps = [#a, #b, #c]} ins(%d, %d : memref<4x4xf32>, memref<4x4xf32>) outs(%d : memref<4x4xf32>) {
    ^bb0(%sum: f32):
      kernel.yield %sum : f32
    }
  }
  // CHECK: device.group row_wise strategy <by = rows, blocks = 64, threads = 32, per_row = 32> {
  device.group row_wise {
    scf.forall (%i) in (64) {
      %row = memref.subview %a[%i, 0] [1, 1024] [1, 1] : memref<64x1024xf32> to memref<1024xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(j) -> (j)>], iterator_types = ["parallel"]} outs(%row : memref<1024xf32, strided<[1], offset: ?>>) {
      ^bb0(%x: f32):
        %y = math.absf %x : f32
        linalg.yield %y : f32
      }
    }
  }
  // Parts have the default number of threads; a fused group has their blocks.
  // CHECK: device.group fused strategy <by = blocks, blocks = 3, threads = 256> {
  // CHECK: device.group elementwise strategy <by = threads, blocks = 1, threads = 256> {
  // CHECK: device.group reduce strategy <by = blocks, blocks = 1, threads = 256> {
  // CHECK: device.group single_block strategy <by = blocks, blocks = 1, threads = 256> {
  device.group fused {
    device.group elementwise {
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%b : memref<64xf32>) {
      ^bb0(%x: f32):
        %y = math.absf %x : f32
        linalg.yield %y : f32
      }
    }
    device.group reduce {
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
          ins(%c : memref<1024xf32>) outs(%s : memref<f32>) {
      ^bb0(%x: f32, %y: f32):
        %z = arith.addf %x, %y : f32
        linalg.yield %z : f32
      }
    }
    device.group single_block {
      %x = memref.load %d[%zero, %zero] : memref<4x4xf32>
      memref.store %x, %d[%one, %zero] : memref<4x4xf32>
    }
  }
  return
}
