// RUN: mlir-opt --load-dialect-plugin=%mp_plugin --load-pass-plugin=%mp_plugin %s --split-input-file \
// RUN:   --pass-pipeline="builtin.module(func.func(mp-fuse-updates,cse))" | FileCheck %s
// REQUIRES: mlir-opt

// A parameter and its moment, skipped where a gradient is not finite: the test
// and the update each unscale the gradient, and the rest is one op.

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>

// CHECK-LABEL: func @main
// CHECK-SAME:  %[[G:[a-z0-9]+]]: tensor<8xf16>, %[[SCALE:[a-z0-9]+]]: tensor<f32>, %[[W:[a-z0-9]+]]: tensor<8xf32>, %[[M:[a-z0-9]+]]: tensor<8xf32>
// CHECK:       linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[G]], %[[SCALE]] : tensor<8xf16>, tensor<f32>)
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.divf
// CHECK:       %[[FINITE:.*]] = linalg.generic {{.*}} iterator_types = []}
// CHECK:       %[[BOTH:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[G]], %[[SCALE]], %[[M]], %[[FINITE]], %[[W]] :
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.divf
// CHECK-NEXT:    %[[MOMENT:.*]] = arith.addf
// CHECK-NEXT:    arith.subf %{{.*}}, %[[MOMENT]]
// CHECK-NEXT:    arith.select
// CHECK-NEXT:    arith.select
// CHECK-NEXT:    linalg.yield
// CHECK-NOT:   linalg.generic
// CHECK:       return %[[BOTH]]#0, %[[BOTH]]#1
func.func @main(%g: tensor<8xf16>, %scale: tensor<f32>, %w: tensor<8xf32>, %m: tensor<8xf32>)
    -> (tensor<8xf32> {mp.state = 2 : i64}, tensor<8xf32> {mp.state = 3 : i64}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %empty = tensor.empty() : tensor<8xf32>
  %flag = tensor.empty() : tensor<i1>
  %unscaled = linalg.generic {indexing_maps = [#id, #all, #id], iterator_types = ["parallel"]}
      ins(%g, %scale : tensor<8xf16>, tensor<f32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f16, %s: f32, %out: f32):
    %wide = arith.extf %a : f16 to f32
    %quotient = arith.divf %wide, %s : f32
    linalg.yield %quotient : f32
  } -> tensor<8xf32>
  %moment = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%unscaled, %m : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<8xf32>
  %total = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]}
      ins(%unscaled : tensor<8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %sum = arith.addf %out, %a : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  %finite = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%total : tensor<f32>) outs(%flag : tensor<i1>) {
  ^bb0(%a: f32, %out: i1):
    %ord = arith.cmpf ord, %a, %a : f32
    linalg.yield %ord : i1
  } -> tensor<i1>
  %wNew = linalg.generic {indexing_maps = [#all, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%finite, %w, %moment : tensor<i1>, tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%ok: i1, %a: f32, %b: f32, %out: f32):
    %new = arith.subf %a, %b : f32
    %kept = arith.select %ok, %new, %a : f32
    linalg.yield %kept : f32
  } -> tensor<8xf32>
  %mNew = linalg.generic {indexing_maps = [#all, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%finite, %m, %moment : tensor<i1>, tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%ok: i1, %a: f32, %b: f32, %out: f32):
    %kept = arith.select %ok, %b, %a : f32
    linalg.yield %kept : f32
  } -> tensor<8xf32>
  return %wNew, %mNew : tensor<8xf32>, tensor<8xf32>
}

// -----

// What a product reads as well stays, and so does what would keep more memory
// alive: the sum of two temporaries.

#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func @main
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[A:.*]], %[[B:.*]] : tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%[[SUM]] :
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[SUM]] :
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<f32>, tensor<4x4xf32> {mp.state = 1 : i64}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %empty = tensor.empty() : tensor<4x4xf32>
  %a = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = linalg.matmul ins(%w, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %total = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%sum : tensor<4x4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%p: f32, %out: f32):
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %wNew = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %sum : tensor<4x4xf32>, tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.subf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %total, %wNew : tensor<f32>, tensor<4x4xf32>
}
