// RUN: mp-opt %s --split-input-file --mp-check-export --verify-diagnostics -o /dev/null

// One line of all that normalize by statistics, and one of what drops nothing.
// What trains is not meant, nor a Dropout of which the caller decides.
module @modes attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{the statistics of 4 BatchNormalization nodes ('n1', 'n2', 'n3' and 1 more) stay as the model has them; exported from a model in training mode they would learn: torch.onnx.export(..., training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False), Keras' model(x, training=True)}}
  // expected-warning @below {{2 Dropout nodes ('d1', 'd2') drop nothing: the model was exported for inference; torch.onnx.export(..., training=torch.onnx.TrainingMode.TRAINING) keeps them in training mode}}
  onnx.graph {
  ^bb0(%x: tensor<?x2xf32>, %t: tensor<i1>):
    %s = onnx.initializer "s" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %half = onnx.initializer "half" dense<0.5> : tensor<f32> : tensor<f32>
    %zero = onnx.initializer "zero" dense<0.0> : tensor<f32> : tensor<f32>
    %no = onnx.initializer "no" dense<false> : tensor<i1> : tensor<i1>
    %yes = onnx.initializer "yes" dense<true> : tensor<i1> : tensor<i1>
    %1 = "onnx.BatchNormalization"(%x, %s, %s, %s, %s) {onnx.name = "n1", onnx.results = ["a"]} : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %2 = "onnx.BatchNormalization"(%1, %s, %s, %s, %s) {training_mode = 0 : i64, onnx.name = "n2", onnx.results = ["b"]} : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %3 = "onnx.BatchNormalization"(%2, %s, %s, %s, %s) {onnx.results = ["n3"]} : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %4 = "onnx.BatchNormalization"(%3, %s, %s, %s, %s) {onnx.name = "n4", onnx.results = ["c"]} : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    %5:3 = "onnx.BatchNormalization"(%4, %s, %s, %s, %s) {training_mode = 1 : i64, onnx.name = "n5", onnx.results = ["d", "m", "v"]} : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>)
    %6 = "onnx.Dropout"(%5#0) {onnx.name = "d1", onnx.results = ["e"]} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %7 = "onnx.Dropout"(%6, %half, %no) {onnx.name = "d2", onnx.results = ["f"]} : (tensor<?x2xf32>, tensor<f32>, tensor<i1>) -> tensor<?x2xf32>
    %8 = "onnx.Dropout"(%7, %half, %yes) {onnx.name = "d3", onnx.results = ["g"]} : (tensor<?x2xf32>, tensor<f32>, tensor<i1>) -> tensor<?x2xf32>
    %9 = "onnx.Dropout"(%8, %half, %t) {onnx.name = "d4", onnx.results = ["h"]} : (tensor<?x2xf32>, tensor<f32>, tensor<i1>) -> tensor<?x2xf32>
    %10 = "onnx.Dropout"(%9, %zero) {onnx.name = "d5", onnx.results = ["i"]} : (tensor<?x2xf32>, tensor<f32>) -> tensor<?x2xf32>
    onnx.yield %10 : tensor<?x2xf32> {onnx.inputs = [{name = "x"}, {name = "t"}], onnx.outputs = [{name = "i"}]}
  }
}

// -----

// What torch's exporters, the older one and dynamo's, fold into a convolution is
// known by its name; a bias of the module's own is not meant.
module @folded attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{BatchNormalization was folded into 2 Conv nodes ('c1', 'c2'), and is not trained: torch.onnx.export(..., dynamo=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False) keeps it}}
  onnx.graph {
  ^bb0(%x: tensor<?x1x1x1xf32>):
    %w1 = onnx.initializer "onnx::Conv_201" dense<1.0> : tensor<1x1x1x1xf32> : tensor<1x1x1x1xf32>
    %b1 = onnx.initializer "onnx::Conv_202" dense<1.0> : tensor<1xf32> : tensor<1xf32>
    %w2 = onnx.initializer "conv2.weight" dense<1.0> : tensor<1x1x1x1xf32> : tensor<1x1x1x1xf32>
    %b2 = onnx.initializer "conv2.weight_bias" dense<1.0> : tensor<1xf32> : tensor<1xf32>
    %w3 = onnx.initializer "conv3.weight" dense<1.0> : tensor<1x1x1x1xf32> : tensor<1x1x1x1xf32>
    %b3 = onnx.initializer "conv3.bias" dense<1.0> : tensor<1xf32> : tensor<1xf32>
    %1 = "onnx.Conv"(%x, %w1, %b1) {onnx.name = "c1", onnx.results = ["a"]} : (tensor<?x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<?x1x1x1xf32>
    %2 = "onnx.Conv"(%1, %w2, %b2) {onnx.name = "c2", onnx.results = ["b"]} : (tensor<?x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<?x1x1x1xf32>
    %3 = "onnx.Conv"(%2, %w3, %b3) {onnx.name = "c3", onnx.results = ["c"]} : (tensor<?x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<?x1x1x1xf32>
    %4 = "onnx.Conv"(%3, %w1) {onnx.name = "c4", onnx.results = ["d"]} : (tensor<?x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<?x1x1x1xf32>
    onnx.yield %4 : tensor<?x1x1x1xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "d"}]}
  }
}

// -----

// A batch that is open, and settled by a shape.
module @reshape attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{the step works for batches of 8 only, though inputs have any: 'r' reshape to constant sizes; torch.onnx.export(..., dynamic_axes={...}), or dynamic_shapes with dynamo, or --dynamic-batch of export_torch.py, keeps the size open}}
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %shape = onnx.initializer "shape" dense<[4, 2, 4]> : tensor<3xi64> : tensor<3xi64>
    %0 = "onnx.Reshape"(%x, %shape) {onnx.name = "r", onnx.results = ["y"]} : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<4x2x4xf32>
    onnx.yield %0 : tensor<4x2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Any batch fits: nothing is said.
module @open attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>):
    %shape = onnx.initializer "shape" dense<[-1, 2, 2]> : tensor<3xi64> : tensor<3xi64>
    %same = onnx.initializer "same" dense<[0, 4]> : tensor<2xi64> : tensor<2xi64>
    %0 = "onnx.Reshape"(%x, %shape) {onnx.results = ["y"]} : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x2x2xf32>
    %1 = "onnx.Reshape"(%x, %same) {onnx.results = ["z"]} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
    onnx.yield %0, %1 : tensor<?x2x2xf32>, tensor<?x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}, {name = "z"}]}
  }
}

// -----

// Inputs of one fixed batch; a number and a default have none.
module @fixed attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{the step works for batches of 1 only: inputs 'x', 'ids' have a fixed first axis; torch.onnx.export(..., dynamic_axes={...}), or dynamic_shapes with dynamo, or --dynamic-batch of export_torch.py, keeps the size open}}
  onnx.graph {
  ^bb0(%x: tensor<1x4xf32>, %ids: tensor<1x?xi64>, %scale: tensor<3xf32>, %w: tensor<4x4xf32>):
    %0 = onnx.initializer "w" dense<1.0> : tensor<4x4xf32> overridable : tensor<4x4xf32>
    %1 = "onnx.MatMul"(%x, %w) {onnx.results = ["y"]} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    onnx.yield %1 : tensor<1x4xf32> {onnx.inputs = [{name = "x"}, {name = "ids"}, {name = "scale"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// First axes of different sizes are no batch, nor are those of some inputs.
module @different attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<3x4xf32>, %z: tensor<4x2xf32>):
    %1 = "onnx.MatMul"(%x, %z) {onnx.results = ["y"]} : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    onnx.yield %1 : tensor<3x2xf32> {onnx.inputs = [{name = "x"}, {name = "z"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module @layers attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %state: tensor<2x?x4xf32>):
    %1 = "onnx.Add"(%x, %state) {onnx.results = ["y"]} : (tensor<?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
    onnx.yield %1 : tensor<2x?x4xf32> {onnx.inputs = [{name = "x"}, {name = "state"}], onnx.outputs = [{name = "y"}]}
  }
}
