// RUN: mp-opt %s --mp-distribute | FileCheck %s
// RUN: mp-opt %s --mp-distribute="bucket-bytes=64 first-bytes=1" | FileCheck %s --check-prefix=SMALL

// Gradients are reduced where they are computed, in front of the optimizer and
// of whatever else comes; with them the loss, and statistics that no optimizer
// updates. The test whether they are finite is everyone's.
module attributes {onnx.model = {ir_version = 9 : i64}, onnx.opset_import = [["", 21]]} {
  // CHECK: onnx.graph
  // SMALL: onnx.graph
  onnx.graph {
  ^bb0(%x: tensor<8xf32>, %w: tensor<8xf32>, %v: tensor<8xf32>, %running: tensor<8xf32>, %scale: tensor<f32>):
    // CHECK: %[[LOSS:.*]] = "onnx.ReduceSum"
    // CHECK: %[[MEAN:.*]] = mp.all_reduce %[[LOSS]] bucket 0 of 4 {onnx.results = ["loss"]}
    // SMALL: mp.all_reduce {{.*}} bucket 0 of 1 {{.*}}: tensor<f32>
    %loss = "onnx.ReduceSum"(%x) {keepdims = 0 : i64, onnx.results = ["loss"]} : (tensor<8xf32>) -> tensor<f32>
    // CHECK: %[[GV:.*]] = "onnx.Mul"
    // CHECK-NEXT: %[[UV:.*]] = mp.unscale %[[GV]] by
    // CHECK-NEXT: %[[V:.*]] = mp.gradient %[[UV]] of
    // CHECK-NEXT: %[[ALLV:.*]] = mp.all_reduce %[[V]] bucket 0 of 4 : tensor<8xf32>
    // SMALL: mp.all_reduce {{.*}} bucket 1 of 2 : tensor<8xf32>
    %gv = "onnx.Mul"(%x, %v) {onnx.results = ["gv"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[STATISTICS:.*]] = "onnx.Add"
    // CHECK-NEXT: %[[ALLS:.*]] = mp.all_reduce %[[STATISTICS]] bucket 0 of 4
    // SMALL: mp.all_reduce {{.*}} bucket 1 of 2 {{.*}}: tensor<8xf32>
    %statistics = "onnx.Add"(%running, %x) {onnx.results = ["running_new"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[GW:.*]] = "onnx.Mul"
    // CHECK-NEXT: mp.unscale
    // CHECK-NEXT: %[[W:.*]] = mp.gradient
    // CHECK-NEXT: %[[ALLW:.*]] = mp.all_reduce %[[W]] bucket 0 of 4
    // SMALL: mp.all_reduce {{.*}} bucket 2 of 1 : tensor<8xf32>
    %gw = "onnx.Mul"(%x, %w) {onnx.results = ["gw"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %uw = mp.unscale %gw by %scale : tensor<8xf32>
    %uv = mp.unscale %gv by %scale : tensor<8xf32>
    %dw = mp.gradient %uw of %w : tensor<8xf32>, tensor<8xf32>
    %dv = mp.gradient %uv of %v : tensor<8xf32>, tensor<8xf32>
    // CHECK: %[[FINITE:.*]] = mp.all_finite %[[GW]], %[[GV]]
    // CHECK-NEXT: %[[ALL:.*]] = mp.all_reduce %[[FINITE]] bucket 1 of 1 : tensor<i1>
    // SMALL: mp.all_reduce {{.*}} bucket 3 of 1 : tensor<i1>
    %finite = mp.all_finite %gw, %gv : tensor<8xf32>, tensor<8xf32>
    // CHECK: %[[NEXTW:.*]] = "onnx.Sub"(%{{.*}}, %[[ALLW]])
    // CHECK: %[[NEXTV:.*]] = "onnx.Sub"(%{{.*}}, %[[ALLV]])
    %nw = "onnx.Sub"(%w, %dw) {onnx.results = ["nw"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %nv = "onnx.Sub"(%v, %dv) {onnx.results = ["nv"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[NEW:.*]] = mp.update %{{.*}} to %[[NEXTW]] if %[[ALL]]
    // CHECK: %[[NEWV:.*]] = mp.update %{{.*}} to %[[NEXTV]] if %[[ALL]]
    %wnew = mp.update %w to %nw if %finite {onnx.results = ["w_new"]} : tensor<8xf32>
    %vnew = mp.update %v to %nv if %finite {onnx.results = ["v_new"]} : tensor<8xf32>
    // CHECK: onnx.yield {{.*}}%[[MEAN]], %[[NEW]], %[[NEWV]], %[[ALLS]]
    onnx.yield %loss, %wnew, %vnew, %statistics : tensor<f32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "v"}, {name = "running"}, {name = "scale"}], onnx.outputs = [{name = "loss"}, {name = "w_new"}, {name = "v_new"}, {name = "running_new"}]}
  }
}
