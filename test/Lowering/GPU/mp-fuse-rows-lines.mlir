// RUN: mp-opt %s --mp-fuse-rows=single-rows=true --canonicalize --cse | FileCheck %s
// RUN: mp-opt %s --mp-fuse-rows --canonicalize --cse | FileCheck %s --check-prefix=CPU

// Long rows are read twice in one kernel of a device: the second time from its
// cache. A reshape of the maxima that a later op reads is no obstacle.

// CHECK-LABEL: @exponentials
// CHECK-NOT: linalg.generic
// CHECK: scf.forall (%{{.*}}) in (512)
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: scf.forall.in_parallel
// CHECK: tensor.expand_shape
// CPU-LABEL: @exponentials
// CPU-NOT: scf.forall
// CPU: return
#rows = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @exponentials(%x: tensor<512x50257xf32>) -> (tensor<512xf32>, tensor<512x1xf32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<512xf32>
  %0 = linalg.fill ins(%least : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %max = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x50257xf32>) outs(%0 : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<512xf32>
  %column = tensor.expand_shape %max [[0, 1]] output_shape [512, 1] : tensor<512xf32> into tensor<512x1xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %max : tensor<512x50257xf32>, tensor<512xf32>) outs(%1 : tensor<512xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    %p = math.exp %d : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  return %sum, %column : tensor<512xf32>, tensor<512x1xf32>
}

// Few long rows would leave most of a device idle; so would the channels of
// images, whose elements are not neighbours either.

// CHECK-LABEL: @few
// CHECK-NOT: scf.forall
// CHECK: return
func.func @few(%x: tensor<16x50257xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %mean = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x50257xf32>) outs(%0 : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.addf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<16xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %mean : tensor<16x50257xf32>, tensor<16xf32>) outs(%1 : tensor<16xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    %s = arith.addf %out, %d : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %sum : tensor<16xf32>
}

// CHECK-LABEL: @channels
// CHECK-NOT: scf.forall
// CHECK: return
#image = affine_map<(c, n, i) -> (n, c, i)>
#channel = affine_map<(c, n, i) -> (c)>
func.func @channels(%x: tensor<8x512x4096xf32>) -> tensor<512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %mean = linalg.generic {indexing_maps = [#image, #channel], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<8x512x4096xf32>) outs(%0 : tensor<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.addf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<512xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %sum = linalg.generic {indexing_maps = [#image, #channel, #channel], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x, %mean : tensor<8x512x4096xf32>, tensor<512xf32>) outs(%1 : tensor<512xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    %s = arith.addf %out, %d : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  return %sum : tensor<512xf32>
}
