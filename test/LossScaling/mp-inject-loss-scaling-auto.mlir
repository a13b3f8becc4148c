// RUN: mp-opt %s --split-input-file --mp-inject-loss-scaling | FileCheck %s

// fp16 has too few exponents for gradients.
// CHECK-LABEL: module @fp16
// CHECK: onnx.initializer "loss_scale" dense<6.553600e+04> : tensor<f32> overridable
// CHECK: mp.update_scale
module @fp16 attributes {mp.policy = #mp.policy<f16>, onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %l: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %3 = mp.update %w to %2 {onnx.results = ["w_new"]} : tensor<4xf32>
    onnx.yield %3 : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "l"}], onnx.outputs = [{name = "w_new"}]}
  }
}

// -----

// bf16 has all of fp32's.
// CHECK-LABEL: module @bf16
// CHECK-NOT: loss_scale
// CHECK: onnx.yield
module @bf16 attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %l: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %3 = mp.update %w to %2 {onnx.results = ["w_new"]} : tensor<4xf32>
    onnx.yield %3 : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "l"}], onnx.outputs = [{name = "w_new"}]}
  }
}

// -----

// No 16-bit type, no scale.
// CHECK-LABEL: module @fp32
// CHECK-NOT: loss_scale
// CHECK: onnx.yield
module @fp32 attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %l: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %3 = mp.update %w to %2 {onnx.results = ["w_new"]} : tensor<4xf32>
    onnx.yield %3 : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "l"}], onnx.outputs = [{name = "w_new"}]}
  }
}

// -----

// A graph that came with its backward pass may be scaled already.
// CHECK-LABEL: module @onnxruntime
// CHECK: ^bb0(%w: tensor<4xf32>, %wb: tensor<4xf32>, %lazy: tensor<1xi1>):
// CHECK-NOT: mp.
// CHECK: onnx.yield
module @onnxruntime attributes {mp.policy = #mp.policy<f16>, onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %wb: tensor<4xf32>, %lazy: tensor<1xi1>):
    %seed = onnx.initializer "loss_grad" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Mul"(%w, %seed) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %0, %lazy) {onnx.results = ["w_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %1 : tensor<1xi1> {onnx.inputs = [{name = "w"}, {name = "wb"}, {name = "lazy"}], onnx.outputs = [{name = "w_out"}]}
  }
}
