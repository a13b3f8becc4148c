// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --convert-onnx-to-linalg | FileCheck %s

// Each element is a function of its place and of what the run draws for the
// node.

// A seed decides what is drawn.
// CHECK-LABEL: mp.name = "like"
// CHECK: %[[START:.*]] = runtime.draw -8586179365795795475
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3xf32>)
// CHECK: arith.addi %{{.*}}, %[[START]] : i64
// CHECK: arith.uitofp
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%like: tensor<2x3xf32>):
    %0 = "onnx.RandomUniformLike"(%like) {seed = 1.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "like"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A Dropout for inference is the operand.
// CHECK-LABEL: mp.name = "kept"
// CHECK-NOT: runtime.draw
// CHECK: return %arg0
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%kept: tensor<2x3xf32>):
    %0 = "onnx.Dropout"(%kept) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    onnx.yield %0 : tensor<2x3xf32> {onnx.inputs = [{name = "kept"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// One where a uniform number is less than the operand.
// CHECK-LABEL: mp.name = "chance"
// CHECK: runtime.draw
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf32>)
// CHECK: arith.cmpf olt
// CHECK: arith.select
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%chance: tensor<4xf32>):
    %0 = "onnx.Bernoulli"(%chance) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "chance"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0():
    // expected-error @below {{size -3 in 'shape'}}
    %0 = "onnx.RandomNormal"() {shape = array<i64: 2, -3>} : () -> tensor<?x?xf32>
    onnx.yield %0 : tensor<?x?xf32> {onnx.inputs = [], onnx.outputs = [{name = "y"}]}
  }
}
