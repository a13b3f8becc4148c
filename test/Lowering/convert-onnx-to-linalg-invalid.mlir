// RUN: mp-opt %s --convert-onnx-to-linalg --split-input-file -verify-diagnostics

// All of them in one error.
module @missing attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  // expected-error @below {{operators that cannot be compiled: node 'a' (my.Magic) and 1 more, node 'c'}}
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %a = onnx.custom "my" "Magic"(%x) attributes {onnx.name = "a", onnx.results = ["ra"]} : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.custom "my" "Magic"(%a) attributes {onnx.name = "b", onnx.results = ["rb"]} : (tensor<4xf32>) -> tensor<4xf32>
    %c = onnx.custom "my" "Spell"(%b) attributes {onnx.name = "c", onnx.results = ["rc"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %c : tensor<4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "rc"}]}
  }
}

// -----

module @elements attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3xf32>):
    %shape = onnx.initializer "shape" dense<[4, 2]> : tensor<2xi64> : tensor<2xi64>
    // expected-error @below {{node 'r' (Reshape-14): cannot make 8 elements of 6}}
    %y = "onnx.Reshape"(%x, %shape) {onnx.name = "r", onnx.results = ["y"]} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    onnx.yield %y : tensor<?x?xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module @inner attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x3xf32>, %w: tensor<4x5xf32>):
    // expected-error @below {{node 'm' (MatMul-13): inner sizes 3 and 4 differ}}
    %y = "onnx.MatMul"(%x, %w) {onnx.name = "m", onnx.results = ["y"]} : (tensor<?x3xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
    onnx.yield %y : tensor<?x5xf32> {onnx.inputs = [{name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module @text attributes {onnx.opset_import = [["", 17]]} {
  // expected-error @below {{input 'x' has the type 'tensor<4x!onnx.string>': expected a tensor of numbers}}
  onnx.graph {
  ^bb0(%x: tensor<4x!onnx.string>):
    onnx.yield %x : tensor<4x!onnx.string> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "x"}]}
  }
}

// -----

module @narrow attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    // expected-error @below {{node 'c' (Cast-19): result 'y' has a type that cannot be compiled}}
    %y = "onnx.Cast"(%x) {onnx.name = "c", onnx.results = ["y"], to = 19 : si64} : (tensor<4xf32>) -> tensor<4xf8E5M2>
    onnx.yield %y : tensor<4xf8E5M2> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
