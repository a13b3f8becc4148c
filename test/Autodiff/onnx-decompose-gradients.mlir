// RUN: mp-opt %s --split-input-file --onnx-decompose-gradients | FileCheck %s
// RUN: mp-opt %s --split-input-file \
// RUN:   --onnx-decompose-gradients=contractions=true \
// RUN:   | FileCheck %s --check-prefix=CONTRACTIONS

// The result keeps its name; the import goes with the domain's last node.
// CHECK-LABEL: module @relu
// CHECK-SAME: onnx.opset_import = {{\[}}["", 18]]
// CHECK-NOT: com.microsoft
// CHECK: %[[ZERO:.*]] = "onnx.Constant"() {{.*}}dense<0.000000e+00> : tensor<f32>
// CHECK: %[[POSITIVE:.*]] = "onnx.Greater"(%y, %[[ZERO]])
// CHECK: %dx = "onnx.Where"(%[[POSITIVE]], %dy, %[[ZERO]])
// CHECK: onnx.yield %dx
// CONTRACTIONS-LABEL: module @relu
// CONTRACTIONS-SAME: ["com.microsoft", 1]
// CONTRACTIONS: "onnx.com.microsoft.ReluGrad"
module @relu attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%dy: tensor<4xf32>, %y: tensor<4xf32>):
    %0 = "onnx.com.microsoft.ReluGrad"(%dy, %y) {onnx.results = ["dx"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "dy"}, {name = "y"}], onnx.outputs = [{name = "dx"}]}
  }
}

// -----

// Only what becomes a convolution goes before precision is decided.
// CHECK-LABEL: module @convolution
// CHECK-NOT: ConvGrad
// CHECK: "onnx.ConvTranspose"
// CHECK: onnx.yield %dx
// CONTRACTIONS-LABEL: module @convolution
// CONTRACTIONS-NOT: ConvGrad
// CONTRACTIONS: "onnx.ConvTranspose"
module @convolution attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%dy: tensor<1x2x3x3xf32>, %x: tensor<1x2x4x4xf32>, %w: tensor<2x2x2x2xf32>):
    %0 = "onnx.com.microsoft.ConvGrad"(%dy, %x, %w) {kernel_shape = array<i64: 2, 2>, onnx.results = ["dx"]} : (tensor<1x2x3x3xf32>, tensor<1x2x4x4xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x4x4xf32>
    onnx.yield %0 : tensor<1x2x4x4xf32> {onnx.inputs = [{name = "dy"}, {name = "x"}, {name = "w"}], onnx.outputs = [{name = "dx"}]}
  }
}

// -----

// In subgraphs and functions too, whose imports are their own.
// CHECK-LABEL: module @inner
// CHECK-NOT: SigmoidGrad
// CHECK: onnx.function "my" "F" attributes {onnx.opset_import = {{\[}}["", 18]]}
// CHECK-NOT: SigmoidGrad
// CHECK: onnx.yield
module @inner attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1], ["my", 1]]} {
  onnx.graph {
  ^bb0(%dy: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<i1>):
    %0 = "onnx.If"(%c) ({
      %1 = "onnx.com.microsoft.SigmoidGrad"(%dy, %y) {onnx.results = ["t"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %1 : tensor<4xf32> {onnx.inputs = [], onnx.outputs = [{name = "t"}]}
    }, {
      %1 = "onnx.Neg"(%dy) {onnx.results = ["e"]} : (tensor<4xf32>) -> tensor<4xf32>
      onnx.yield %1 : tensor<4xf32> {onnx.inputs = [], onnx.outputs = [{name = "e"}]}
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["dx"]} : (tensor<i1>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "dy"}, {name = "y"}, {name = "c"}], onnx.outputs = [{name = "dx"}]}
  }
  onnx.function "my" "F" attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  ^bb0(%dy: tensor<4xf32>, %y: tensor<4xf32>):
    %0 = "onnx.com.microsoft.SigmoidGrad"(%dy, %y) {onnx.results = ["dx"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = ["dy", "y"], onnx.outputs = ["dx"]}
  }
}

// -----

// What updates an operand in place has no other form, and stays; so do other
// operators of the domain, and the import with them.
// CHECK-LABEL: module @kept
// CHECK-SAME: ["com.microsoft", 1]
// CHECK: "onnx.com.microsoft.InPlaceAccumulatorV2"
// CHECK: "onnx.com.microsoft.Inverse"
// CONTRACTIONS-LABEL: module @kept
// CONTRACTIONS: "onnx.com.microsoft.InPlaceAccumulatorV2"
module @kept attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%b: tensor<4x4xf32>, %d: tensor<4x4xf32>, %r: tensor<1xi1>):
    %0 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%b, %d, %r) {onnx.results = ["out"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<1xi1>) -> tensor<1xi1>
    %1 = "onnx.com.microsoft.Inverse"(%b) {onnx.results = ["m"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0, %1 : tensor<1xi1>, tensor<4x4xf32> {onnx.inputs = [{name = "b"}, {name = "d"}, {name = "r"}], onnx.outputs = [{name = "out"}, {name = "m"}]}
  }
}
