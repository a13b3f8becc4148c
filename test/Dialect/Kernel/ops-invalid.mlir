// RUN: kernel-opt %s --split-input-file --verify-diagnostics

func.func @count(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected 3 indexing maps, got 2}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @dims(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected maps of 3 dimensions, got affine_map<(d0, d1) -> (d0, d1)>}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @results(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected a map with 2 results for 'memref<8x6xf32>', got affine_map<(d0, d1, d2) -> (d2)>}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @linear(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected linear expressions}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m floordiv 2, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @sizes(%a: memref<4x8xf32>, %b: memref<7x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{dimension d2 has the sizes 8 and 7}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<7x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @unused(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{dimension d3 occurs in no map}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, affine_map<(m, n, k, l) -> (k, n)>, affine_map<(m, n, k, l) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @missing_sizes(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected 1 sizes for the dimensions that stand nowhere alone, got 0}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, 2 * k)>, affine_map<(m, n, k) -> (2 * k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @superfluous_sizes(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected 0 sizes for the dimensions that stand nowhere alone, got 1}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) sizes(%n) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @twice(%a: memref<4x8xf32>, %b: memref<8x4xf32>, %c: memref<4x4xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected every dimension at most once in the map of c}}
  kernel.contract {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k, m)>, affine_map<(m, k) -> (m, m)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x4xf32>) outs(%c : memref<4x4xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @extra(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected an extra operand that does not depend on what is summed over}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) extra(%e : memref<8xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32, %x: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @elements(%a: memref<4x8xi32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected operands of f32, bf16 or f16, or two of f64, got 'i32' and 'f32'}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xi32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @f64(%a: memref<4x8xf64>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected operands of f32, bf16 or f16, or two of f64, got 'f64' and 'f32'}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf64>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @arguments(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected an epilogue of the arguments ('f32'), got ('f64')}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f64):
    kernel.yield %sum : f64
  }
  return
}

// -----

func.func @yield(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xbf16>, %e: memref<8xf32>, %n: index) {
  // expected-error @below {{expected an epilogue that yields 'bf16'}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xbf16>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @result(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>, %e: tensor<8xf32>, %n: index) {
  // expected-error @below {{expected a result of c's type for tensors, none for memrefs}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @mixed(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{expected tensors only or memrefs only}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @epilogue(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>, %m: memref<f32>) {
  // expected-error @below {{expected an epilogue of elementwise operations, got 'memref.load'}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    %0 = memref.load %m[] : memref<f32>
    kernel.yield %0 : f32
  }
  return
}

// -----

func.func @round_narrow(%a: memref<4x8xbf16>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{expected f32 that is rounded to bf16 or f16, got 'bf16' rounded to 'bf16'}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], round_a = bf16}
      ins(%a, %b : memref<4x8xbf16>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @round_to_wide(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  // expected-error @below {{expected f32 that is rounded to bf16 or f16, got 'f32' rounded to 'f32'}}
  kernel.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], round_a = f32}
      ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  return
}

// -----

func.func @unsigned_floats(%x: f32, %i: i64) -> (f32, i64) {
  // expected-error @below {{expected integers that are unsigned, got 'f32'}}
  %0:2 = kernel.arg_select gt unsigned %x, %i over %x, %i : f32, i64
  return %0#0, %0#1 : f32, i64
}

// -----

func.func @attention_sizes(%q: memref<2x64x40xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf32>, %sum: memref<2x64xf32>) {
  // expected-error @below {{dimension d3 has the sizes 40 and 32}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x40xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  return
}

// -----

func.func @attention_rows(%q: memref<2x64x32xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf16>, %sum: memref<2x64xf16>) {
  // expected-error @below {{expected a maximum and a sum of f32}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf16>, memref<2x64xf16>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  return
}

// -----

func.func @attention_dims(%q: memref<2x48x32xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf32>, %sum: memref<2x64xf32>) {
  // expected-error @below {{operand 0 depends on dimension d2}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x48x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  return
}

// -----

func.func @attention_maps(%q: memref<2x64x32xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf32>, %sum: memref<2x64xf32>) {
  // expected-error @below {{expected 7 indexing maps, got 6}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  return
}

// -----

func.func @attention_linear(%q: memref<2x64x32xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf32>, %sum: memref<2x64xf32>) {
  // expected-error @below {{expected dimensions and 0, got affine_map<(d0, d1, d2, d3, d4) -> (0, d1 + d2)>}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n + m)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = arith.addf %s, %hidden : f32
    %1 = arith.truncf %p : f32 to bf16
    %2 = arith.truncf %x : f32 to bf16
    kernel.yield %0, %1, %2 : f32, bf16, bf16
  }
  return
}

// -----

func.func @attention_arguments(%q: memref<2x64x32xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf32>, %sum: memref<2x64xf32>) {
  // expected-error @below {{expected a region of the arguments ('f32', 'f32', 'f32', 'f32', 'index', 'index', 'index')}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32):
    %1 = arith.truncf %p : f32 to bf16
    kernel.yield %s, %1, %1 : f32, bf16, bf16
  }
  return
}

// -----

func.func @attention_yield(%q: memref<2x64x32xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf32>, %sum: memref<2x64xf32>) {
  // expected-error @below {{expected a region that yields ('f32', 'bf16', 'bf16')}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    kernel.yield %s, %p, %x : f32, f32, f32
  }
  return
}

// -----

func.func @attention_effects(%q: memref<2x64x32xbf16>, %k: memref<2x48x32xbf16>, %v: memref<2x48x16xbf16>, %mask: memref<1x48xf32>, %o: memref<2x64x16xbf16>, %max: memref<2x64xf32>, %sum: memref<2x64xf32>) {
  // expected-error @below {{expected arithmetic, got 'memref.load'}}
  kernel.attention {indexing_maps = [affine_map<(b, m, n, d, e) -> (b, m, d)>, affine_map<(b, m, n, d, e) -> (b, n, d)>, affine_map<(b, m, n, d, e) -> (b, n, e)>, affine_map<(b, m, n, d, e) -> (0, n)>, affine_map<(b, m, n, d, e) -> (b, m, e)>, affine_map<(b, m, n, d, e) -> (b, m)>, affine_map<(b, m, n, d, e) -> (b, m)>]}
      ins(%q, %k, %v, %mask : memref<2x64x32xbf16>, memref<2x48x32xbf16>, memref<2x48x16xbf16>, memref<1x48xf32>) outs(%o, %max, %sum : memref<2x64x16xbf16>, memref<2x64xf32>, memref<2x64xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %hidden: f32, %i: index, %j: index, %l: index):
    %0 = memref.load %max[%i, %j] : memref<2x64xf32>
    %1 = arith.truncf %p : f32 to bf16
    kernel.yield %0, %1, %1 : f32, bf16, bf16
  }
  return
}
