// RUN: mp-opt %s --split-input-file --verify-diagnostics

module attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<8xi32>):
    // expected-error @+1 {{node 'sm' (Softmax-13): input #0 ('input') has type 'tensor<8xi32>', which 'T' of Softmax-13 does not admit}}
    %0 = "onnx.Softmax"(%x) {onnx.name = "sm", onnx.results = ["y"]} : (tensor<8xi32>) -> tensor<8xi32>
    onnx.yield %0 : tensor<8xi32>
  }
}

// -----

// bf16 is a question of the opset: Conv admits it from 22.
module attributes {onnx.opset_import = [["", 21]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xbf16>, %w: tensor<1x1x1x1xbf16>):
    // expected-error @+1 {{(Conv-11): input #0 ('X') has type 'tensor<1x1x4x4xbf16>', which 'T' of Conv-11 does not admit}}
    %0 = "onnx.Conv"(%x, %w) {onnx.results = ["y"]} : (tensor<1x1x4x4xbf16>, tensor<1x1x1x1xbf16>) -> tensor<1x1x4x4xbf16>
    onnx.yield %0 : tensor<1x1x4x4xbf16>
  }
}

// -----

module attributes {onnx.opset_import = [["", 22]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xbf16>, %w: tensor<1x1x1x1xbf16>):
    %0 = "onnx.Conv"(%x, %w) {onnx.results = ["y"]} : (tensor<1x1x4x4xbf16>, tensor<1x1x1x1xbf16>) -> tensor<1x1x4x4xbf16>
    onnx.yield %0 : tensor<1x1x4x4xbf16>
  }
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>, %y: tensor<4xbf16>):
  // expected-error @+1 {{node with output 'z' (Add-14): input #1 ('B') has type 'tensor<4xbf16>', but 'T' is already 'tensor<4xf32>'}}
  %0 = "onnx.Add"(%x, %y) {onnx.results = ["z"]} : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{expected 2 inputs, got 1}}
  %0 = "onnx.Add"(%x) {onnx.results = ["z"]} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{expected at least 1 inputs, got 0}}
  %0 = "onnx.Concat"() {axis = 0 : i64, onnx.results = ["z"]} : () -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{expected 1 outputs, got 2}}
  %0:2 = "onnx.Relu"(%x) {onnx.results = ["z", "u"]} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  onnx.yield %0#0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  %none = onnx.absent
  // expected-error @+1 {{input #1 ('B') is not optional, but absent}}
  %0 = "onnx.Add"(%x, %none) {onnx.results = ["z"]} : (tensor<4xf32>, none) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{attribute 'axes' is unknown to Softmax-13}}
  %0 = "onnx.Softmax"(%x) {axes = 1 : i64, onnx.results = ["z"]} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{attribute 'axis' is STRING, expected INT}}
  %0 = "onnx.Softmax"(%x) {axis = "one", onnx.results = ["z"]} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{attribute 'axis' is missing}}
  %0 = "onnx.Concat"(%x) {onnx.results = ["z"]} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}
