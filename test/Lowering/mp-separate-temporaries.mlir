// RUN: mp-opt %s --mp-separate-temporaries | FileCheck %s

// Each use begins with memory of its own; loops do not allocate.
// CHECK-LABEL: @separate
// CHECK-SAME: %[[N:.*]]: index
// CHECK: %[[OUTSIDE:.*]] = tensor.empty(%[[N]])
// CHECK-NEXT: scf.for
// CHECK-NEXT: linalg.fill ins(%{{.*}}) outs(%[[OUTSIDE]]
// CHECK: %[[FIRST:.*]] = tensor.empty(%[[N]])
// CHECK-NEXT: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}}) outs(%[[FIRST]]
// CHECK: call @use(%[[ZEROS]])
// CHECK-NEXT: %[[SECOND:.*]] = tensor.empty(%[[N]])
// CHECK-NEXT: linalg.fill ins(%{{.*}}) outs(%[[SECOND]]
// CHECK-NOT: tensor.empty
// CHECK: return
func.func private @use(tensor<?xf32>)
func.func @separate(%n: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %from = arith.constant 0 : index
  %step = arith.constant 1 : index
  %unused = tensor.empty(%n) : tensor<?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  scf.for %i = %from to %n step %step {
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
    func.call @use(%1) : (tensor<?xf32>) -> ()
  }
  %2 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  func.call @use(%2) : (tensor<?xf32>) -> ()
  %3 = linalg.fill ins(%zero : f32) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// So does each reduction: equal start values are not copied.
// CHECK-LABEL: @starts
// CHECK-COUNT-2: linalg.fill
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @starts(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%start : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %q = arith.mulf %in, %in : f32
    %s = arith.addf %out, %q : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
