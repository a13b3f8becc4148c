// RUN: mp-opt %s --mp-join-reductions | FileCheck %s

#id = affine_map<(n, c, i) -> (n, c, i)>
#channel = affine_map<(n, c, i) -> (c)>
#vector = affine_map<(c) -> (c)>
#row = affine_map<(r, c) -> (r, c)>
#column = affine_map<(r, c) -> (c)>

// The sum and the sum of squares are one op, which reads the image once, after
// the mean of 2 of 128 images.

// CHECK-LABEL: func.func @variance(
// CHECK-SAME: %[[X:.*]]: tensor<128x4x4096xbf16>
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [2, 4, 4096] [1, 1, 1]
// CHECK: %[[SAMPLE:.*]] = linalg.generic {{.*}} ins(%[[PART]] :
// CHECK: %[[SHIFT:.*]] = linalg.generic {{.*}} ins(%[[SAMPLE]] :
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[SHIFT]] : {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: arith.subf
// CHECK-NOT: ins(%[[X]]
// CHECK: return
func.func @variance(%x: tensor<128x4x4096xbf16>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 524288.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#id, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%x : tensor<128x4x4096xbf16>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: bf16, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %mean = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%sum : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.divf %a, %n : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %squares = linalg.generic {indexing_maps = [#id, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%x, %mean : tensor<128x4x4096xbf16>, tensor<4xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: bf16, %m: f32, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.subf %0, %m : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  return %mean, %squares : tensor<4xf32>, tensor<4xf32>
}

// Differences from another number than the mean stay as they are.

// CHECK-LABEL: func.func @other_center
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @other_center(%x: tensor<128x4x4096xbf16>, %center: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %squares = linalg.generic {indexing_maps = [#id, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%x, %center : tensor<128x4x4096xbf16>, tensor<4xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: bf16, %m: f32, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.subf %0, %m : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  return %center, %squares : tensor<4xf32>, tensor<4xf32>
}

// Gradients of a shift and a scale are one op.

// CHECK-LABEL: func.func @gradients(
// CHECK-SAME: %[[G:.*]]: tensor<128x4x4096xbf16>, %[[H:.*]]: tensor<128x4x4096xbf16>
// CHECK: %[[BOTH:.*]]:2 = linalg.generic {{.*}} ins(%[[G]], %[[H]] :
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @gradients(%g: tensor<128x4x4096xbf16>, %h: tensor<128x4x4096xbf16>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %shift = linalg.generic {indexing_maps = [#id, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%g : tensor<128x4x4096xbf16>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: bf16, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %scale = linalg.generic {indexing_maps = [#id, #id, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%h, %g : tensor<128x4x4096xbf16>, tensor<128x4x4096xbf16>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: bf16, %c: bf16, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %c : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  return %shift, %scale : tensor<4xf32>, tensor<4xf32>
}

// A sum that depends on the other one, and sums of columns, stay alone.

// CHECK-LABEL: func.func @dependent
// CHECK-NOT: :2 = linalg.generic
// CHECK: return
func.func @dependent(%g: tensor<128x4x4096xbf16>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %shift = linalg.generic {indexing_maps = [#id, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%g : tensor<128x4x4096xbf16>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: bf16, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %scale = linalg.generic {indexing_maps = [#id, #channel, #channel], iterator_types = ["reduction", "parallel", "reduction"]} ins(%g, %shift : tensor<128x4x4096xbf16>, tensor<4xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: bf16, %c: f32, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.mulf %0, %c : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %shift, %scale : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @columns
// CHECK-NOT: :2 = linalg.generic
// CHECK: return
func.func @columns(%g: tensor<4096x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %shift = linalg.generic {indexing_maps = [#row, #column], iterator_types = ["reduction", "parallel"]} ins(%g : tensor<4096x64xf32>) outs(%start : tensor<64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.addf %s, %a : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  %scale = linalg.generic {indexing_maps = [#row, #column], iterator_types = ["reduction", "parallel"]} ins(%g : tensor<4096x64xf32>) outs(%start : tensor<64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %s, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  return %shift, %scale : tensor<64xf32>, tensor<64xf32>
}
