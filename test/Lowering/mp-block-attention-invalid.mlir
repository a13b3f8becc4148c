// RUN: mp-opt %s --mp-block-attention --split-input-file -verify-diagnostics

#q = affine_map<(b, m, n, d, e) -> (b, m, d)>
#k = affine_map<(b, m, n, d, e) -> (b, n, d)>
#v = affine_map<(b, m, n, d, e) -> (b, n, e)>
#o = affine_map<(b, m, n, d, e) -> (b, m, e)>
#row = affine_map<(b, m, n, d, e) -> (b, m)>

func.func @sizes(%q: memref<6x?x64xf32>, %k: memref<6x2048x64xf32>, %o: memref<6x?x64xf32>, %max: memref<6x?xf32>) {
  // expected-error @+1 {{expected memrefs of known sizes, got 'memref<6x?x64xf32>'}}
  kernel.attention {indexing_maps = [#q, #k, #v, #o, #row, #row]}
      ins(%q, %k, %k : memref<6x?x64xf32>, memref<6x2048x64xf32>, memref<6x2048x64xf32>)
      outs(%o, %max, %max : memref<6x?x64xf32>, memref<6x?xf32>, memref<6x?xf32>) {
  ^bb0(%s: f32, %p: f32, %x: f32, %b: index, %m: index, %n: index):
    kernel.yield %s, %p, %x : f32, f32, f32
  }
  return
}
