// RUN: mp-opt %s --split-input-file --mp-distribute | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-distribute="bucket-bytes=-1 first-bytes=0" \
// RUN:   | FileCheck %s --check-prefix=NONE
// RUN: mp-opt %s --split-input-file --mp-distribute="bucket-bytes=64 first-bytes=1" | FileCheck %s --check-prefix=SMALL

// Gradients are reduced where they are computed, in front of the optimizer and
// of whatever else comes; with them the loss, and statistics that no optimizer
// updates. The test whether they are finite is everyone's.
// Whatever is asked for, a bucket has a member.
// NONE: mp.all_reduce %{{.*}} bucket 0 of 1
// NONE: mp.all_reduce %{{.*}} bucket 1 of 1
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
    // CHECK-NEXT: %[[ALLV:.*]] = mp.all_reduce %[[V]] bucket 0 of 4 : tensor<8xf32> to tensor<8xf32>
    // SMALL: mp.all_reduce {{.*}} bucket 1 of 2 : tensor<8xf32> to tensor<8xf32>
    %gv = "onnx.Mul"(%x, %v) {onnx.results = ["gv"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[STATISTICS:.*]] = "onnx.Add"
    // CHECK-NEXT: %[[ALLS:.*]] = mp.all_reduce %[[STATISTICS]] bucket 0 of 4
    // SMALL: mp.all_reduce {{.*}} bucket 1 of 2 {{.*}}: tensor<8xf32>
    %statistics = "onnx.Add"(%running, %x) {onnx.results = ["running_new"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[GW:.*]] = "onnx.Mul"
    // CHECK-NEXT: mp.unscale
    // CHECK-NEXT: %[[W:.*]] = mp.gradient
    // CHECK-NEXT: %[[ALLW:.*]] = mp.all_reduce %[[W]] bucket 0 of 4
    // SMALL: mp.all_reduce {{.*}} bucket 2 of 1 : tensor<8xf32> to tensor<8xf32>
    %gw = "onnx.Mul"(%x, %w) {onnx.results = ["gw"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %uw = mp.unscale %gw by %scale : tensor<8xf32>
    %uv = mp.unscale %gv by %scale : tensor<8xf32>
    %dw = mp.gradient %uw of %w : tensor<8xf32>, tensor<8xf32>
    %dv = mp.gradient %uv of %v : tensor<8xf32>, tensor<8xf32>
    // CHECK: %[[FINITE:.*]] = mp.all_finite %[[GW]], %[[GV]]
    // CHECK-NEXT: %[[ALL:.*]] = mp.all_reduce %[[FINITE]] bucket 1 of 1 : tensor<i1> to tensor<i1>
    // SMALL: mp.all_reduce {{.*}} bucket 3 of 1 : tensor<i1> to tensor<i1>
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

// -----

// Where batches are accumulated, the sum is reduced, in the last step of a
// window; what tells that it is the last comes first.
// CHECK: onnx.graph
// CHECK: %[[NEXT:.*]] = "onnx.Add"(%count, %one)
// CHECK: %[[LAST:.*]] = "onnx.Equal"(%[[NEXT]], %four)
// CHECK: %[[G:.*]] = "onnx.Mul"
// CHECK-NEXT: %[[D:.*]] = mp.gradient %[[G]]
// CHECK-NEXT: %[[SUM:.*]] = "onnx.Add"(%sums, %[[D]])
// CHECK-NEXT: %[[ALL:.*]] = mp.all_reduce %[[SUM]] if %[[LAST]] bucket 0 of 1 : tensor<8xf32> to tensor<8xf32>
// CHECK: "onnx.Where"(%[[LAST]], %zero, %[[ALL]])
// CHECK: "onnx.Div"(%[[ALL]], %fours)
module attributes {onnx.model = {ir_version = 9 : i64}, onnx.opset_import = [["", 21]]} {
  onnx.graph {
  ^bb0(%x: tensor<8xf32>, %w: tensor<8xf32>, %sums: tensor<8xf32>, %count: tensor<i64>):
    %gw = "onnx.Mul"(%x, %w) {onnx.results = ["gw"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %other = "onnx.Neg"(%x) {onnx.results = ["other"]} : (tensor<8xf32>) -> tensor<8xf32>
    %dw = mp.gradient %gw of %w : tensor<8xf32>, tensor<8xf32>
    %one = "onnx.Constant"() {onnx.results = ["one"], value = dense<1> : tensor<i64>} : () -> tensor<i64>
    %four = "onnx.Constant"() {onnx.results = ["four"], value = dense<4> : tensor<i64>} : () -> tensor<i64>
    %fours = "onnx.Constant"() {onnx.results = ["fours"], value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
    %zero = "onnx.Constant"() {onnx.results = ["zero"], value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %next = "onnx.Add"(%count, %one) {onnx.results = ["next"]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %applies = "onnx.Equal"(%next, %four) {onnx.results = ["applies"]} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %countnew = mp.update %count to %next always {onnx.results = ["count_new"]} : tensor<i64>
    %sum = "onnx.Add"(%sums, %dw) {onnx.results = ["sum"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %reset = "onnx.Where"(%applies, %zero, %sum) {onnx.results = ["reset"]} : (tensor<i1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
    %sumsnew = mp.update %sums to %reset always {onnx.results = ["sums_new"]} : tensor<8xf32>
    %mean = "onnx.Div"(%sum, %fours) {onnx.results = ["mean"]} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %nw = "onnx.Sub"(%w, %mean) {onnx.results = ["nw"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %wnew = mp.update %w to %nw if %applies {onnx.results = ["w_new"]} : tensor<8xf32>
    onnx.yield %other, %wnew, %sumsnew, %countnew : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<i64> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "sums"}, {name = "count"}], onnx.outputs = [{name = "other"}, {name = "w_new"}, {name = "sums_new"}, {name = "count_new"}]}
  }
}

// -----

// Only the rows of a table that are looked up are sent.
// CHECK: onnx.graph
// CHECK: %[[PLACES:.*]] = "onnx.Cast"(%ids) {{.*}} -> tensor<2x3xi64>
// CHECK-NEXT: mp.all_reduce %{{.*}} rows %[[PLACES]] : tensor<2x3xi64>, bucket 0 of 2 : tensor<99x8xf32> to tensor<99x8xf32>
// CHECK: mp.all_reduce %{{.*}} rows %places : tensor<2x1xi64>, bucket 0 of 2
module attributes {onnx.model = {ir_version = 9 : i64}, onnx.opset_import = [["", 21], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%ids: tensor<2x3xi32>, %e: tensor<2x3x8xf32>, %places: tensor<2x1xi64>, %d: tensor<2x8xf32>, %w: tensor<99x8xf32>, %v: tensor<99x8xf32>):
    %shape = "onnx.Constant"() {onnx.results = ["shape"], value = dense<[99, 8]> : tensor<2xi64>} : () -> tensor<2xi64>
    %zeros = "onnx.Constant"() {onnx.results = ["zeros"], value = dense<0.0> : tensor<99x8xf32>} : () -> tensor<99x8xf32>
    %gw = "onnx.com.microsoft.GatherGrad"(%shape, %ids, %e) {onnx.results = ["gw"], axis = 0 : i64} : (tensor<2xi64>, tensor<2x3xi32>, tensor<2x3x8xf32>) -> tensor<99x8xf32>
    %gv = "onnx.ScatterND"(%zeros, %places, %d) {onnx.results = ["gv"], reduction = "add"} : (tensor<99x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<99x8xf32>
    %dw = mp.gradient %gw of %w : tensor<99x8xf32>, tensor<99x8xf32>
    %dv = mp.gradient %gv of %v : tensor<99x8xf32>, tensor<99x8xf32>
    %nw = "onnx.Sub"(%w, %dw) {onnx.results = ["nw"]} : (tensor<99x8xf32>, tensor<99x8xf32>) -> tensor<99x8xf32>
    %nv = "onnx.Sub"(%v, %dv) {onnx.results = ["nv"]} : (tensor<99x8xf32>, tensor<99x8xf32>) -> tensor<99x8xf32>
    %wnew = mp.update %w to %nw {onnx.results = ["w_new"]} : tensor<99x8xf32>
    %vnew = mp.update %v to %nv {onnx.results = ["v_new"]} : tensor<99x8xf32>
    onnx.yield %wnew, %vnew : tensor<99x8xf32>, tensor<99x8xf32> {onnx.inputs = [{name = "ids"}, {name = "e"}, {name = "places"}, {name = "d"}, {name = "w"}, {name = "v"}], onnx.outputs = [{name = "w_new"}, {name = "v_new"}]}
  }
}
