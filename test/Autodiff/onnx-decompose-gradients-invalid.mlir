// RUN: mp-opt %s --split-input-file --onnx-decompose-gradients \
// RUN:   --verify-diagnostics

// An operator that cannot be expressed as it is used, in a subgraph too.
module @opset attributes {onnx.opset_import = [["", 15], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%s: tensor<2xi64>, %i: tensor<3x2xi64>, %dy: tensor<3x2xf32>, %c: tensor<i1>):
    %0 = "onnx.If"(%c) ({
      // expected-error @below {{node 'gather' (com.microsoft.GatherElementsGrad-1): sums of scattered elements need opset 16 or newer}}
      %1 = "onnx.com.microsoft.GatherElementsGrad"(%dy, %s, %i) {axis = 0 : i64, onnx.name = "gather", onnx.results = ["t"]} : (tensor<3x2xf32>, tensor<2xi64>, tensor<3x2xi64>) -> tensor<4x2xf32>
      onnx.yield %1 : tensor<4x2xf32> {onnx.inputs = [], onnx.outputs = [{name = "t"}]}
    }, {
      %1 = "onnx.Identity"(%dy) {onnx.results = ["e"]} : (tensor<3x2xf32>) -> tensor<3x2xf32>
      onnx.yield %1 : tensor<3x2xf32> {onnx.inputs = [], onnx.outputs = [{name = "e"}]}
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["dx"]} : (tensor<i1>) -> tensor<?x2xf32>
    onnx.yield %0 : tensor<?x2xf32> {onnx.inputs = [{name = "s"}, {name = "i"}, {name = "dy"}, {name = "c"}], onnx.outputs = [{name = "dx"}]}
  }
}

// -----

module @rank attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%dy: tensor<*xf32>, %y: tensor<*xf32>):
    // expected-error @below {{node 'softmax' (com.microsoft.SoftmaxGrad-1): the rank of its operands is unknown}}
    %0 = "onnx.com.microsoft.SoftmaxGrad"(%dy, %y) {axis = 1 : i64, onnx.name = "softmax", onnx.results = ["dx"]} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.yield %0 : tensor<*xf32> {onnx.inputs = [{name = "dy"}, {name = "y"}], onnx.outputs = [{name = "dx"}]}
  }
}

// -----

module @axis attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%dy: tensor<2x2xf32>, %y: tensor<2x2xf32>):
    // expected-error @below {{node 'softmax' (com.microsoft.SoftmaxGrad-1): its attribute 'axis' is out of range}}
    %0 = "onnx.com.microsoft.SoftmaxGrad"(%dy, %y) {axis = 3 : i64, onnx.name = "softmax", onnx.results = ["dx"]} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %0 : tensor<2x2xf32> {onnx.inputs = [{name = "dy"}, {name = "y"}], onnx.outputs = [{name = "dx"}]}
  }
}

// -----

// A function's values have no types.
module @types attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    onnx.yield %x : tensor<4xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "x"}]}
  }
  onnx.function "my" "F" attributes {onnx.opset_import = [["", 18], ["com.microsoft", 1]]} {
  ^bb0(%dy: !onnx.unknown, %y: !onnx.unknown):
    // expected-error @below {{node 'sigmoid' (com.microsoft.SigmoidGrad-1): the type of its operand #0 is unknown}}
    %0 = "onnx.com.microsoft.SigmoidGrad"(%dy, %y) {onnx.name = "sigmoid", onnx.results = ["dx"]} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = ["dy", "y"], onnx.outputs = ["dx"]}
  }
}
