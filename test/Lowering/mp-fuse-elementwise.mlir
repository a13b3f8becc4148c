// RUN: mp-opt %s --mp-fuse-elementwise | FileCheck %s

#all = affine_map<(n, c) -> (n, c)>
#channel = affine_map<(n, c) -> (c)>
#one = affine_map<(c) -> (c)>

// A shift is computed for each element, a root once for each channel.
// CHECK-LABEL: @spread
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<32xf32>)
// CHECK: math.rsqrt
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x32xf32>)
// CHECK: arith.negf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @spread(%x: tensor<?x32xf32>, %v: tensor<32xf32>, %s: tensor<32xf32>, %out: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %empty = tensor.empty() : tensor<32xf32>
  %root = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%v : tensor<32xf32>) outs(%empty : tensor<32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.rsqrt %a : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %shift = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%s : tensor<32xf32>) outs(%empty : tensor<32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %scaled = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %root : tensor<?x32xf32>, tensor<32xf32>) outs(%out : tensor<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x32xf32>
  %y = linalg.generic {indexing_maps = [#all, #channel, #all], iterator_types = ["parallel", "parallel"]} ins(%scaled, %shift : tensor<?x32xf32>, tensor<32xf32>) outs(%out : tensor<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
