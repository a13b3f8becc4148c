// RUN: mp-opt %s --split-input-file --mp-inline-training --verify-diagnostics

// expected-error @below {{the model has no training_info that says how it is trained, and no loss is given}}
module @none attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    onnx.yield %x : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "x"}]}
  }
}

// -----

module @undefined attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: the algorithm takes 'q', which the model does not define}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "q" : !onnx.unknown
    %0 = "onnx.Neg"(%w) {onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {update_binding = [{key = "w", value = "n"}]}}
}

// -----

module @input attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: the algorithm's input 'y' has the name of a value of the model}}
  onnx.training initialization {
  } algorithm {
  ^bb0(%w: tensor<4xf32>):
    %0 = "onnx.Neg"(%w) {onnx.results = ["n"]} : (tensor<4xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [{name = "y"}], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {update_binding = [{key = "w", value = "n"}]}}
}

// -----

module @no_output attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: update_binding of 'w': the algorithm has no output 'm'}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "w" : !onnx.unknown
    %0 = "onnx.Neg"(%w) {onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {update_binding = [{key = "w", value = "m"}]}}
}

// -----

module @no_initializer attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: update_binding: the model has no initializer 'q'}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "w" : !onnx.unknown
    %0 = "onnx.Neg"(%w) {onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {update_binding = [{key = "q", value = "n"}]}}
}

// -----

module @no_state attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: update_binding: expected an initializer, got 'y'}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "w" : !onnx.unknown
    %0 = "onnx.Neg"(%w) {onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {update_binding = [{key = "y", value = "n"}]}}
}

// -----

module @type attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: update_binding of 'w': expected 'tensor<4xf32>', got 'n' of type 'tensor<4xi64>'}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "w" : !onnx.unknown
    %0 = "onnx.Cast"(%w) {to = 7 : i64, onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {update_binding = [{key = "w", value = "n"}]}}
}

// -----

module @no_binding attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: no update_binding: nothing would be trained}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "w" : !onnx.unknown
    %0 = "onnx.Neg"(%w) {onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {update_binding = []}}
}

// -----

module @no_algorithm attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-error @below {{training_info 0: it has no algorithm}}
  onnx.training initialization {
  } algorithm {
  }
}

// -----

// What initializes is left out: states start from the initializers.
module @initialization attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>):
    %w = onnx.initializer "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["y"]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    onnx.yield %0 : tensor<2x4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
  // expected-warning @below {{training_info 0: its initialization is left out; states start from the initializers}}
  onnx.training initialization {
  } algorithm {
    %w = onnx.outer "w" : !onnx.unknown
    %0 = "onnx.Neg"(%w) {onnx.results = ["n"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
  } attributes {onnx.extra = {initialization_binding = [{key = "w", value = "i"}], update_binding = [{key = "w", value = "n"}]}}
}
