// RUN: mp-opt %s --split-input-file --onnx-raise-opset=to=21 | FileCheck %s
// RUN: mp-opt %s --split-input-file --onnx-raise-opset=to=21 \
// RUN:   | mp-opt --split-input-file --onnx-raise-opset=to=21 | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --onnx-raise-opset=to=21 \
// RUN:   | FileCheck %s --check-prefix=MARKS

// Numbers get the type of the data, and their absence means what it meant:
// Clip-6 has the bounds of fp32 for every type.
// CHECK-LABEL: module @numbers
module @numbers attributes {onnx.opset_import = [["", 7]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %h: tensor<4xf16>):
    // CHECK: %[[MAX:.*]] = "onnx.Constant"() {onnx.name = "c_max", {{.*}}value = dense<6.000000e+00> : tensor<f32>}
    // CHECK: "onnx.Clip"(%{{.*}}, %absent{{.*}}, %[[MAX]]) {onnx.name = "c"
    %0 = "onnx.Clip"(%x) {onnx.name = "c", max = 6.0 : f32, onnx.results = ["c"]} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: dense<0.000000e+00> : tensor<f16>
    // CHECK: dense<0x7C00> : tensor<f16>
    // CHECK: "onnx.Clip"(%{{.*}}, %{{.*}}, %{{.*}}) {onnx.name = "h"
    %1 = "onnx.Clip"(%h) {onnx.name = "h", min = 0.0 : f32, onnx.results = ["h1"]} : (tensor<4xf16>) -> tensor<4xf16>
    // CHECK: dense<[1, 0]> : tensor<2xi64>
    // CHECK: dense<1.500000e+00> : tensor<f16>
    // CHECK: "onnx.Pad"(%{{.*}}, %{{.*}}, %{{.*}}) {onnx.name = "p"
    %2 = "onnx.Pad"(%1) {onnx.name = "p", pads = array<i64: 1, 0>, value = 1.5 : f32, onnx.results = ["p1"]} : (tensor<4xf16>) -> tensor<5xf16>
    // CHECK: dense<2> : tensor<1xi64>
    // CHECK: "onnx.TopK"(%{{.*}}, %{{.*}}) {onnx.name = "t"
    %3:2 = "onnx.TopK"(%0) {onnx.name = "t", k = 2 : i64, onnx.results = ["t0", "t1"]} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
    // CHECK: "onnx.Split"(%{{.*}}) {num_outputs = 2 : i64
    %4:2 = "onnx.Split"(%0) {onnx.results = ["s0", "s1"]} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    onnx.yield %2, %3#0, %4#0 : tensor<5xf16>, tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// Softmax runs over one axis. Where the old one ran over more, it sees a
// matrix, and the value keeps its name.
// CHECK-LABEL: module @softmax
// MARKS-LABEL: module @softmax
module @softmax attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x4xf32>, %r: tensor<2x3x1xf32>):
    // CHECK: %[[FLAT:.*]] = "onnx.Flatten"(%[[X:.*]]) {{.*}} -> tensor<2x12xf32>
    // CHECK: %[[SHAPE:.*]] = "onnx.Shape"(%[[X]])
    // CHECK: %[[ROWS:.*]] = "onnx.Softmax"(%[[FLAT]]) {axis = -1 : i64, onnx.name = "s", onnx.results = ["s_rows"]}
    // CHECK: %y = "onnx.Reshape"(%[[ROWS]], %[[SHAPE]]) {allowzero = 1 : i64, {{.*}}onnx.results = ["y"]} : {{.*}} -> tensor<2x3x4xf32>
    // MARKS: "onnx.Flatten"{{.*}}mp.class = #mp.class<follow
    // MARKS: "onnx.Shape"{{.*}}mp.class = #mp.class<deny
    %0 = "onnx.Softmax"(%x) {onnx.name = "s", onnx.results = ["y"]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: "onnx.Softmax"(%y) {axis = 2 : i64, onnx.results = ["last"]}
    %1 = "onnx.Softmax"(%0) {axis = 2 : i64, onnx.results = ["last"]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: "onnx.Softmax"(%{{.*}}) {axis = 1 : i64, onnx.results = ["ones"]}
    %2 = "onnx.Softmax"(%r) {onnx.results = ["ones"]} : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    onnx.yield %1, %2 : tensor<2x3x4xf32>, tensor<2x3x1xf32>
  }
}

// -----

// CHECK-LABEL: module @resize
module @resize attributes {onnx.opset_import = [["", 7]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x2x2xf32>):
    // CHECK: %[[SCALES:.*]] = "onnx.Constant"() {{.*}}dense<[1.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00]> : tensor<4xf32>
    // CHECK: "onnx.Resize"(%{{.*}}, %absent{{.*}}, %[[SCALES]]) {coordinate_transformation_mode = "asymmetric", nearest_mode = "floor", onnx.name = "u"
    %0 = "onnx.Upsample"(%x) {onnx.name = "u", scales = array<f32: 1.0, 1.0, 2.0, 2.0>, onnx.results = ["u"]} : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %0 : tensor<1x1x4x4xf32>
  }
}

// -----

// Scales that nobody knows are split: elements were found by rounding down
// where an axis grows, up where it shrinks.
// CHECK-LABEL: module @both_ways
module @both_ways attributes {onnx.opset_import = [["", 10]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x2x2xf32>, %s: tensor<4xf32>):
    // CHECK: %[[UP:.*]] = "onnx.Max"
    // CHECK: %[[DOWN:.*]] = "onnx.Min"
    // CHECK: %[[BIG:.*]] = "onnx.Resize"(%{{.*}}, %{{.*}}, %[[UP]]) {{.*}}nearest_mode = "floor"
    // CHECK: %y = "onnx.Resize"(%[[BIG]], %{{.*}}, %[[DOWN]]) {{.*}}nearest_mode = "ceil"
    %0 = "onnx.Resize"(%x, %s) {onnx.results = ["y"]} : (tensor<1x1x2x2xf32>, tensor<4xf32>) -> tensor<1x1x?x?xf32>
    onnx.yield %0 : tensor<1x1x?x?xf32>
  }
}

// -----

// CHECK-LABEL: module @batch_normalization
module @batch_normalization attributes {onnx.opset_import = [["", 8]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x4xf32>, %f: tensor<3x4xf32>, %v: tensor<3xf32>):
    // CHECK: "onnx.Reshape"(%{{.*}}, %{{.*}}) {{.*}} -> tensor<12xf32>
    // CHECK: "onnx.BatchNormalization"({{.*}}) {onnx.name = "features"
    // CHECK: %a = "onnx.Reshape"
    %0 = "onnx.BatchNormalization"(%x, %f, %f, %f, %f) {spatial = 0 : i64, onnx.name = "features", onnx.results = ["a"]} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: %b, %m, %w = "onnx.BatchNormalization"({{.*}}) {onnx.results = ["b", "m", "w"], training_mode = 1 : i64}
    %1:5 = "onnx.BatchNormalization"(%0, %v, %v, %v, %v) {onnx.results = ["b", "m", "w", "sm", "sw"]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    onnx.yield %1#0, %1#1 : tensor<2x3x4xf32>, tensor<3xf32>
  }
}

// -----

// CHECK-LABEL: module @others
module @others attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4x2x2xf64>, %s: tensor<2xf64>, %g: tensor<1x3x3x2xf32>, %i: tensor<1x4x2x2xf32>, %q: tensor<4xi32>, %c: tensor<f32>):
    // CHECK: "onnx.Expand"
    // CHECK: "onnx.GroupNormalization"({{.*}}) {num_groups = 2 : i64, onnx.results = ["n"], stash_type = 11 : i64} : {{.*}}tensor<4xf64>, tensor<4xf64>)
    %0 = "onnx.GroupNormalization"(%x, %s, %s) {num_groups = 2 : i64, onnx.results = ["n"]} : (tensor<1x4x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<1x4x2x2xf64>
    // CHECK: mode = "cubic"
    %1 = "onnx.GridSample"(%i, %g) {mode = "bicubic", onnx.results = ["r"]} : (tensor<1x4x2x2xf32>, tensor<1x3x3x2xf32>) -> tensor<1x4x3x3xf32>
    // CHECK: %[[FLOAT:.*]] = "onnx.Cast"(%{{.*}}) {{.*}}to = 1
    // CHECK: "onnx.QuantizeLinear"(%[[FLOAT]]
    %2 = "onnx.QuantizeLinear"(%q, %c) {onnx.results = ["u"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xui8>
    // CHECK: %[[AXIS:.*]] = "onnx.Constant"() {{.*}}dense<1> : tensor<i64>
    // CHECK: "onnx.DFT"(%{{.*}}, %{{.*}}, %[[AXIS]])
    %3 = "onnx.DFT"(%g) {onnx.results = ["d"]} : (tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xf32>
    onnx.yield %0, %1, %2, %3 : tensor<1x4x2x2xf64>, tensor<1x4x3x3xf32>, tensor<4xui8>, tensor<1x3x3x2xf32>
  }
}

// -----

// In a function types are unknown, and attributes may be the callers'.
// CHECK-LABEL: module @functions
module @functions attributes {onnx.opset_import = [["", 11], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    onnx.yield %x : tensor<4x4xf32>
  }
  // CHECK: onnx.function "my" "F" attributes {onnx.opset_import = {{\[}}["", 21]]}
  onnx.function "my" "F" attributes {onnx.opset_import = [["", 10]]} {
  ^bb0(%a: !onnx.unknown):
    // CHECK: %[[AXES:.*]] = "onnx.Constant"() {{.*}}value_ints = #onnx.proto<{ref_attr_name = "axes", type = 7 : i64}>}
    // CHECK: "onnx.Unsqueeze"(%{{.*}}, %[[AXES]])
    %0 = "onnx.Unsqueeze"(%a) {axes = #onnx.proto<{ref_attr_name = "axes", type = 7 : i64}>, onnx.results = ["u"]} : (!onnx.unknown) -> !onnx.unknown
    // CHECK: "onnx.CastLike"
    // CHECK: "onnx.Clip"
    %1 = "onnx.Clip"(%0) {min = 0.0 : f32, onnx.results = ["c"]} : (!onnx.unknown) -> !onnx.unknown
    // CHECK: "onnx.Flatten"(%{{.*}}) {axis = #onnx.proto
    %2 = "onnx.Softmax"(%1) {axis = #onnx.proto<{ref_attr_name = "axis", type = 2 : i64}>, onnx.results = ["s"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %2 : !onnx.unknown
  }
}
