// RUN: mp-opt %s --split-input-file --mp-shard-optimizer="ranks=3 rank=1 least-elements=8" | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-shard-optimizer="ranks=3 rank=1" | FileCheck %s --check-prefix=SMALL
// RUN: not mp-opt %s --split-input-file --mp-shard-optimizer="ranks=3 rank=3" 2>&1 | FileCheck %s --check-prefix=RANK

// Of 32 elements, rank 1 of 3 has those from 10 on and in front of 21. Its state
// is a range; the parameter is gathered, in bf16 since the model reads nothing
// else of it. A norm is a sum over all ranks.
// RANK: error: mp-shard-optimizer: there is no rank 3 of 3
// SMALL: onnx.graph
// SMALL-NOT: mp.take_range
// SMALL-NOT: mp.put_range
module attributes {onnx.model = {ir_version = 9 : i64}, onnx.opset_import = [["", 21]]} {
  // CHECK: onnx.graph {
  // CHECK-NEXT: ^bb0({{.*}}%[[W:.*]]: tensor<8x4xf32>, %[[M:.*]]: tensor<11xf32>, %{{.*}}: tensor<4xf32>):
  onnx.graph {
  ^bb0(%x: tensor<8x4xf32>, %w: tensor<8x4xf32>, %m: tensor<8x4xf32>, %b: tensor<4xf32>):
    // CHECK-NEXT: %[[OWN:.*]] = mp.take_range %[[W]] from 10 : tensor<8x4xf32> to tensor<11xf32>
    // CHECK-NEXT: onnx.initializer "m" dense<0.000000e+00> : tensor<11xf32> overridable
    %0 = onnx.initializer "m" dense<0.0> : tensor<8x4xf32> overridable : tensor<8x4xf32>
    %w16 = "onnx.Cast"(%w) {onnx.results = ["w16"], to = 16 : i64} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %y16 = "onnx.Mul"(%w16, %w16) {onnx.results = ["y16"]} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> tensor<8x4xbf16>
    %g = "onnx.Cast"(%y16) {onnx.results = ["g"], to = 1 : i64} : (tensor<8x4xbf16>) -> tensor<8x4xf32>
    // CHECK: %[[ALL:.*]] = mp.all_reduce %{{.*}} as scatter bucket 0 of 2 : tensor<8x4xf32> to tensor<8x4xf32>
    // CHECK: %[[G:.*]] = mp.take_range %[[ALL]] from 10 : tensor<8x4xf32> to tensor<11xf32>
    %mean = mp.all_reduce %g bucket 0 of 2 : tensor<8x4xf32> to tensor<8x4xf32>
    // Of fewer elements: every rank updates it.
    // CHECK: mp.all_reduce %{{.*}} bucket 0 of 2 : tensor<4xf32> to tensor<4xf32>
    %bmean = mp.all_reduce %b bucket 0 of 2 : tensor<4xf32> to tensor<4xf32>
    // CHECK: %[[NEXTM:.*]] = "onnx.Add"(%[[M]], %[[G]]) {{.*}} : (tensor<11xf32>, tensor<11xf32>) -> tensor<11xf32>
    %mnew = "onnx.Add"(%m, %mean) {onnx.results = ["m_new"]} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    // CHECK: %[[SQUARES:.*]] = "onnx.ReduceSumSquare"(%[[NEXTM]])
    // CHECK-NEXT: %[[SUM:.*]] = mp.all_reduce %[[SQUARES]] as sum bucket 1 of 1 : tensor<f32> to tensor<f32>
    // CHECK: "onnx.Sqrt"(%[[SUM]])
    %squares = "onnx.ReduceSumSquare"(%mnew) {onnx.results = ["squares"], keepdims = 0 : i64} : (tensor<8x4xf32>) -> tensor<f32>
    %norm = "onnx.Sqrt"(%squares) {onnx.results = ["norm"]} : (tensor<f32>) -> tensor<f32>
    // CHECK: %[[STEP:.*]] = "onnx.Mul"(%[[NEXTM]], %{{.*}}) {{.*}} -> tensor<11xf32>
    %step = "onnx.Mul"(%mnew, %norm) {onnx.results = ["step"]} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    // CHECK: %[[NEXT:.*]] = "onnx.Sub"(%[[OWN]], %[[STEP]]) {{.*}}onnx.results = ["w_new_own"]
    %wnew = "onnx.Sub"(%w, %step) {onnx.results = ["w_new"]} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %bnew = "onnx.Sub"(%b, %bmean) {onnx.results = ["b_new"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: %[[PUT:.*]] = mp.put_range %[[NEXT]] into %[[W]] from 10 : tensor<11xf32> into tensor<8x4xf32>
    // CHECK-NEXT: %[[WHOLE:.*]] = mp.all_reduce %[[PUT]] as gather_bf16 bucket 2 of 1 {onnx.results = ["w_new"]} : tensor<8x4xf32> to tensor<8x4xf32>
    // CHECK-NEXT: onnx.yield %[[WHOLE]], %[[NEXTM]], %{{.*}} : tensor<8x4xf32>, tensor<11xf32>, tensor<4xf32>
    onnx.yield %wnew, %mnew, %bnew : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "m"}, {name = "b"}], onnx.outputs = [{name = "w_new"}, {name = "m_new"}, {name = "b_new"}]}
  }
}

// -----

// What is not computed element by element stays as it is; so does a mean that
// is a state itself, as running statistics are.
// CHECK: onnx.graph
// CHECK-NOT: mp.take_range
// SMALL: onnx.graph
module attributes {onnx.model = {ir_version = 9 : i64}, onnx.opset_import = [["", 21]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %r: tensor<4x4xf32>):
    %mean = mp.all_reduce %x bucket 0 of 2 : tensor<4x4xf32> to tensor<4x4xf32>
    %step = "onnx.Transpose"(%mean) {onnx.results = ["step"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %wnew = "onnx.Sub"(%w, %step) {onnx.results = ["w_new"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %own = "onnx.Add"(%x, %r) {onnx.results = ["r_new_own"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %rnew = mp.all_reduce %own bucket 0 of 2 {onnx.results = ["r_new"]} : tensor<4x4xf32> to tensor<4x4xf32>
    onnx.yield %wnew, %rnew : tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "r"}], onnx.outputs = [{name = "w_new"}, {name = "r_new"}]}
  }
}
