// RUN: mp-opt %s --split-input-file --mp-inject-loss-scaling=loss-scale=0.3 \
// RUN:   --verify-diagnostics

// What is no power of two rounds, what is below one helps no gradient.
module @scale attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{loss scale 3.000000e-01 is not a power of two: it changes gradients by rounding}}
  // expected-warning @below {{loss scale 3.000000e-01 makes gradients smaller}}
  // expected-warning @below {{the backward pass has a loss scale of 0.3, and the gradients that are outputs are divided by it; the output 'loss_scale' is that scale}}
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %l: tensor<f32>):
    %0 = mp.loss_seed %l {onnx.results = ["seed"]} : tensor<f32>
    %1 = "onnx.Mul"(%w, %0) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = mp.gradient %1 of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    onnx.yield %2 : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "l"}], onnx.outputs = [{name = "w_grad"}]}
  }
}

// -----

// Nobody scales what comes from elsewhere: half of the gradients would be
// divided by a scale that they were never multiplied with.
module @no_seed attributes {onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  // expected-error @below {{loss scaling: the graph accumulates gradients, but no constant is found that all of them are multiples of, where the backward pass starts}}
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %d: tensor<4xf32>, %wb: tensor<4xf32>, %db: tensor<4xf32>, %lazy: tensor<1xi1>):
    %seed = onnx.initializer "loss_grad" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Mul"(%w, %seed) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %0, %lazy) {onnx.results = ["w_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    %2 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%db, %d, %lazy) {onnx.results = ["d_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %1, %2 : tensor<1xi1>, tensor<1xi1> {onnx.inputs = [{name = "w"}, {name = "d"}, {name = "wb"}, {name = "db"}, {name = "lazy"}], onnx.outputs = [{name = "w_out"}, {name = "d_out"}]}
  }
}

// -----

// A sum is no multiple of the constant.
module @no_factor attributes {onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  // expected-error @below {{no constant is found that all of them are multiples of}}
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %wb: tensor<4xf32>, %lazy: tensor<1xi1>):
    %one = onnx.initializer "one" dense<1.0> : tensor<f32> : tensor<f32>
    %0 = "onnx.Add"(%w, %one) {onnx.results = ["dw"]} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %0, %lazy) {onnx.results = ["w_out"]} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %1 : tensor<1xi1> {onnx.inputs = [{name = "w"}, {name = "wb"}, {name = "lazy"}], onnx.outputs = [{name = "w_out"}]}
  }
}

// -----

// Gradients of 16 bits have lost already what a scale is to save.
module @half attributes {onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  // expected-warning @below {{not a power of two}}
  // expected-warning @below {{makes gradients smaller}}
  // expected-error @below {{loss scaling: expected gradients in fp32, got 'dw' of type 'tensor<4xf16>'}}
  onnx.graph {
  ^bb0(%s: tensor<1xi64>, %wb: tensor<4xf32>, %lazy: tensor<1xi1>):
    %seed = onnx.initializer "loss_grad" dense<1.0> : tensor<f32> : tensor<f32>
    %e = "onnx.Expand"(%seed, %s) {onnx.results = ["e"]} : (tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
    %0 = "onnx.Cast"(%e) {to = 10 : i64, onnx.results = ["dw"]} : (tensor<4xf32>) -> tensor<4xf16>
    %1 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%wb, %0, %lazy) {onnx.results = ["w_out"]} : (tensor<4xf32>, tensor<4xf16>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %1 : tensor<1xi1> {onnx.inputs = [{name = "s"}, {name = "wb"}, {name = "lazy"}], onnx.outputs = [{name = "w_out"}]}
  }
}
