// RUN: mp-opt %s --split-input-file --pass-pipeline="builtin.module(canonicalize)" | FileCheck %s

// A scale that is known to be one changes nothing.
// CHECK-LABEL: module @scale_of_one
// CHECK-NOT: mp.
// CHECK: %[[SUM:.*]] = "onnx.Add"(%seed, %gradient)
// CHECK: onnx.yield %[[SUM]]
module @scale_of_one {
  onnx.graph {
  ^bb0(%seed: tensor<8xf32>, %gradient: tensor<8xf32>):
    %one = arith.constant dense<1.0> : tensor<f32>
    %0 = mp.scale_loss %seed by %one : tensor<8xf32>
    %1 = mp.unscale %gradient by %one : tensor<8xf32>
    %2 = "onnx.Add"(%0, %1) {onnx.results = ["sum"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    onnx.yield %2 : tensor<8xf32> {onnx.inputs = [{name = "seed"}, {name = "gradient"}], onnx.outputs = [{name = "sum"}]}
  }
}

// -----

// Another one does, and so may one that is not known.
// CHECK-LABEL: module @other_scales
// CHECK: mp.scale_loss %seed by %{{.*}} : tensor<8xf32>
// CHECK: mp.unscale %seed by %{{.*}} : tensor<8xf32>
// CHECK: mp.scale_loss %seed by %scale : tensor<8xf32>
// CHECK: mp.unscale %seed by %scale : tensor<8xf32>
module @other_scales {
  onnx.graph {
  ^bb0(%seed: tensor<8xf32>, %scale: tensor<f32>):
    %two = arith.constant dense<2.0> : tensor<f32>
    %0 = mp.scale_loss %seed by %two : tensor<8xf32>
    %1 = mp.unscale %seed by %two : tensor<8xf32>
    %2 = mp.scale_loss %seed by %scale : tensor<8xf32>
    %3 = mp.unscale %seed by %scale : tensor<8xf32>
    onnx.yield %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32> {onnx.inputs = [{name = "seed"}, {name = "scale"}], onnx.outputs = [{name = "a"}, {name = "b"}, {name = "c"}, {name = "d"}]}
  }
}

// -----

// What occurs twice is tested once, in the order of the first places.
// CHECK-LABEL: module @duplicates
// CHECK: mp.all_finite %b, %a : tensor<2xf32>, tensor<f32>
// CHECK: mp.all_finite %a, %b : tensor<f32>, tensor<2xf32>
module @duplicates {
  onnx.graph {
  ^bb0(%a: tensor<f32>, %b: tensor<2xf32>):
    %0 = mp.all_finite %b, %a, %b, %a : tensor<2xf32>, tensor<f32>, tensor<2xf32>, tensor<f32>
    %1 = mp.all_finite %a, %b : tensor<f32>, tensor<2xf32>
    onnx.yield %0, %1 : tensor<i1>, tensor<i1> {onnx.inputs = [{name = "a"}, {name = "b"}], onnx.outputs = [{name = "p"}, {name = "q"}]}
  }
}
