// RUN: kernel-opt %s --kernel-to-cpu --split-input-file --verify-diagnostics

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func @inside(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{expected a contraction in a function of its own, as kernel-outline-contracts makes it}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]} ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @no_config(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{expected a config, as kernel-select-strategy writes it}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out]} ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @pairs(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{its config does not fit: products of pairs need factors of bf16, got}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], config = #kernel.config<strategy = blocked, products = dot, mr = 8, nr = 48, lanes = 16, mc = 480, nc = 512, kc = 256>}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @lhs(%a: memref<4x8xbf16>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{lhs = in_place needs rows of a sum in the accumulator's type}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, lhs = in_place, mc = 480, nc = 512, kc = 256>}
      ins(%a, %b : memref<4x8xbf16>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @rhs(%a: memref<4x8xf32>, %b: memref<6x8xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{rhs = in_place needs lines of N within bounds}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, rhs = in_place, mc = 480, nc = 512, kc = 256>}
      ins(%a, %b : memref<4x8xf32>, memref<6x8xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

// Lines of a few rows are batches, which have the same left-hand side.
#lhs = affine_map<(g, m, n, k) -> (m, k)>
#rhs = affine_map<(g, m, n, k) -> (k, g, n)>
#out = affine_map<(g, m, n, k) -> (g, m, n)>
func.func private @batches(%a: memref<4x8xf32>, %b: memref<8x2x40xf32>, %c: memref<2x4x40xf32>) {
  // expected-error @below {{what is the same for all batches is not cached}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, mc = 480, nc = 512, kc = 256, cached = lhs>}
      ins(%a, %b : memref<4x8xf32>, memref<8x2x40xf32>) outs(%c : memref<2x4x40xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @registers(%a: memref<4x800xf32>, %b: memref<800x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{store = registers needs a short sum, done in one step, and rows of results}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, mc = 480, nc = 512, kc = 256, store = registers>}
      ins(%a, %b : memref<4x800xf32>, memref<800x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @filters(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{transforms need 3 x 3 filters at stride 1 and an image that is read by rows}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], config = #kernel.config<strategy = winograd, products = widen, mr = 8, nr = 48, lanes = 16, f = 2>}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func private @channels(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{depthwise needs sums over windows of one channel}}
  kernel.contract {indexing_maps = [#lhs, #rhs, #out], config = #kernel.config<strategy = depthwise, products = widen, mr = 8, nr = 48, lanes = 16>}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#image = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>
func.func private @wide(%x: memref<2x40x12x20xf32>, %w: memref<41x40x3x3xf32>, %y: memref<2x41x12x20xf32>) {
  // expected-error @below {{f = 4 needs factors and results of 16 bits}}
  kernel.contract {indexing_maps = [#image, #weight, #result], config = #kernel.config<strategy = winograd, products = widen, mr = 8, nr = 48, lanes = 16, f = 4, lhs = k_major>}
      ins(%x, %w : memref<2x40x12x20xf32>, memref<41x40x3x3xf32>) outs(%y : memref<2x41x12x20xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#image = affine_map<(n, f, i, j, c, k, l) -> (n, c, i + k - 1, j + l - 1)>
#weight = affine_map<(n, f, i, j, c, k, l) -> (f, c, k, l)>
#result = affine_map<(n, f, i, j, c, k, l) -> (n, f, i, j)>
func.func private @odd(%u: memref<8x40x17x20xf32>, %d: memref<8x41x17x20xf32>, %w: memref<41x40x3x3xf32>) {
  // expected-error @below {{winograd_weights needs mr that divides lanes, or the reverse}}
  kernel.contract {indexing_maps = [#image, #result, #weight], config = #kernel.config<strategy = winograd_weights, products = widen, mr = 6, nr = 16, lanes = 8, f = 2>}
      ins(%u, %d : memref<8x40x17x20xf32>, memref<8x41x17x20xf32>) outs(%w : memref<41x40x3x3xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func private @no_lines(%a: memref<30x20xf32>, %b: memref<30x49xf32>, %c: memref<20x49xf32>) {
  // expected-error @below {{k_major needs lines of K}}
  kernel.contract {indexing_maps = [#a, #b, #c], config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, lhs = k_major, mc = 480, nc = 512, kc = 256, tail = 1>}
      ins(%a, %b : memref<30x20xf32>, memref<30x49xf32>) outs(%c : memref<20x49xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

#a = affine_map<(b, m, n, k) -> (b, m, k)>
#b = affine_map<(b, m, n, k) -> (b, k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
func.func private @batches(%a: memref<2x30x20xf32>, %b: memref<2x20x49xf32>, %c: memref<2x30x49xf32>) {
  // expected-error @below {{batches are not packed ahead}}
  kernel.contract {indexing_maps = [#a, #b, #c], config = #kernel.config<strategy = blocked, products = widen, mr = 8, nr = 48, lanes = 16, mc = 480, nc = 512, kc = 256, rhs_ahead = true>}
      ins(%a, %b : memref<2x30x20xf32>, memref<2x20x49xf32>) outs(%c : memref<2x30x49xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}
