// RUN: mp-opt %s --mp-split-sums | FileCheck %s

#rows = affine_map<(c, n, i, j) -> (n, i, j, c)>
#columns = affine_map<(c, n, i, j) -> (n, c, i, j)>
#channel = affine_map<(c, n, i, j) -> (c)>

// Of 16 x 40 x 30 pixels, 640 parts of 30 are closest to the square root.
// CHECK-LABEL: @sum
// CHECK-SAME: %[[X:.*]]: tensor<16x40x30x24xf32>, %[[INIT:.*]]: tensor<24xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[FIRST:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<16x40x24xf32>)
// CHECK: %[[PARTS:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[X]] : {{.*}} outs(%[[FIRST]] :
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "parallel"]} ins(%[[PARTS]] : {{.*}} outs(%[[INIT]] :
// CHECK-NOT: arith.mulf
// CHECK: arith.addf
// CHECK: return %[[SUM]]
func.func @sum(%x: tensor<16x40x30x24xf32>, %init: tensor<24xf32>) -> tensor<24xf32> {
  %sum = linalg.generic {indexing_maps = [#rows, #channel], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%x : tensor<16x40x30x24xf32>) outs(%init : tensor<24xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %b, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<24xf32>
  return %sum : tensor<24xf32>
}

// Images of a size that is not known; a maximum.
// CHECK-LABEL: @unknown
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x24xf32>)
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]
// CHECK: arith.maximumf
func.func @unknown(%x: tensor<?x8x8x24xf32>, %init: tensor<24xf32>) -> tensor<24xf32> {
  %most = linalg.generic {indexing_maps = [#rows, #channel], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%x : tensor<?x8x8x24xf32>) outs(%init : tensor<24xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<24xf32>
  return %most : tensor<24xf32>
}

// Where rows are innermost, vectors have parts; few rows are one; what is
// rounded at each step is so in its order.
// CHECK-LABEL: @others
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @others(%x: tensor<16x24x40x30xf32>, %y: tensor<2x4x4x24xf32>, %z: tensor<16x40x30x24xbf16>, %init: tensor<24xf32>, %narrow: tensor<24xbf16>) -> (tensor<24xf32>, tensor<24xf32>, tensor<24xbf16>) {
  %rows = linalg.generic {indexing_maps = [#columns, #channel], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%x : tensor<16x24x40x30xf32>) outs(%init : tensor<24xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<24xf32>
  %few = linalg.generic {indexing_maps = [#rows, #channel], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%y : tensor<2x4x4x24xf32>) outs(%init : tensor<24xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<24xf32>
  %rounded = linalg.generic {indexing_maps = [#rows, #channel], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%z : tensor<16x40x30x24xbf16>) outs(%narrow : tensor<24xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.addf %1, %0 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<24xbf16>
  return %rows, %few, %rounded : tensor<24xf32>, tensor<24xf32>, tensor<24xbf16>
}
