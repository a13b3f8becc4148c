// RUN: mp-opt %s --split-input-file --mp-differentiate="loss=loss wrt=a" \
// RUN:   -verify-diagnostics

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<3xf32>):
    // expected-error @below {{node 'r' (Relu-14): the type of its output #0 is unknown}}
    %0 = "onnx.Relu"(%a) {onnx.name = "r", onnx.results = ["y"]} : (tensor<3xf32>) -> !onnx.unknown
    %1 = "onnx.ReduceSum"(%0) {keepdims = 0 : i64, onnx.name = "s", onnx.results = ["loss"]} : (!onnx.unknown) -> tensor<f32>
    onnx.yield %1 : tensor<f32> {onnx.inputs = [{name = "a"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<3xf32>, %x: tensor<2x3xf32>, %c: tensor<i1>, %n: tensor<i64>):
    // expected-error @below {{node 'r' (If-16): its outputs are not those of its branches}}
    %0:2 = "onnx.If"(%c) ({
      %2 = "onnx.Mul"(%a, %a) {onnx.name = "m", onnx.results = ["t"]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      onnx.yield %2 : tensor<3xf32> {onnx.inputs = [], onnx.outputs = [{name = "t"}]}
    }, {
      %2 = "onnx.Mul"(%a, %a) {onnx.name = "m", onnx.results = ["e"]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      onnx.yield %2 : tensor<3xf32> {onnx.inputs = [], onnx.outputs = [{name = "e"}]}
    }) {onnx.name = "r", onnx.regions = ["then_branch", "else_branch"], onnx.results = ["y", "z"]} : (tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>)
    %1 = "onnx.ReduceSum"(%0#0) {keepdims = 0 : i64, onnx.name = "s", onnx.results = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    onnx.yield %1 : tensor<f32> {onnx.inputs = [{name = "a"}, {name = "x"}, {name = "c"}, {name = "n"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<3xf32>, %x: tensor<2x3xf32>, %c: tensor<i1>, %n: tensor<i64>):
    // expected-error @below {{node 'r' (Scan-16): its outputs are not those of its body}}
    %0:2 = "onnx.Scan"(%a, %x) ({
    ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>):
      %2 = "onnx.Mul"(%p, %q) {onnx.name = "m", onnx.results = ["t"]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      onnx.yield %2 : tensor<3xf32> {onnx.inputs = [{name = "p"}, {name = "q"}], onnx.outputs = [{name = "t"}]}
    }) {num_scan_inputs = 1 : i64, onnx.name = "r", onnx.regions = ["body"], onnx.results = ["y", "z"]} : (tensor<3xf32>, tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>)
    %1 = "onnx.ReduceSum"(%0#0) {keepdims = 0 : i64, onnx.name = "s", onnx.results = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    onnx.yield %1 : tensor<f32> {onnx.inputs = [{name = "a"}, {name = "x"}, {name = "c"}, {name = "n"}], onnx.outputs = [{name = "loss"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%a: tensor<3xf32>, %x: tensor<2x3xf32>, %c: tensor<i1>, %n: tensor<i64>):
    // expected-error @below {{node 'r' (Loop-16): its outputs are not those of its body}}
    %0 = "onnx.Loop"(%n, %c, %a) ({
    ^bb0(%i: tensor<i64>, %k: tensor<i1>, %p: tensor<3xf32>):
      onnx.yield %p : tensor<3xf32> {onnx.inputs = [{name = "i"}, {name = "k"}, {name = "p"}], onnx.outputs = [{name = "p"}]}
    }) {onnx.name = "r", onnx.regions = ["body"], onnx.results = ["y"]} : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> tensor<3xf32>
    %1 = "onnx.ReduceSum"(%0#0) {keepdims = 0 : i64, onnx.name = "s", onnx.results = ["loss"]} : (tensor<3xf32>) -> tensor<f32>
    onnx.yield %1 : tensor<f32> {onnx.inputs = [{name = "a"}, {name = "x"}, {name = "c"}, {name = "n"}], onnx.outputs = [{name = "loss"}]}
  }
}
