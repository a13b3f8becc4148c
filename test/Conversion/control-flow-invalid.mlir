// RUN: mp-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%s0: tensor<1xf32>):
    %absent = onnx.absent
    // expected-error @below {{nothing ends its iterations}}
    %y = "onnx.Loop"(%absent, %absent, %s0) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<1xf32>):
      %go = "onnx.Identity"(%c) : (tensor<i1>) -> tensor<i1>
      %same = "onnx.Identity"(%s) : (tensor<1xf32>) -> tensor<1xf32>
      onnx.yield %go, %same : tensor<i1>, tensor<1xf32> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "s"}], onnx.outputs = [{name = "go"}, {name = "same"}]}
    }) {onnx.regions = ["body"]} : (none, none, tensor<1xf32>) -> tensor<1xf32>
    onnx.yield %y : tensor<1xf32> {onnx.inputs = [{name = "s0"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %s0: tensor<1xf32>):
    %absent = onnx.absent
    // expected-error @below {{state 0 has 1 axes at first and then 2}}
    %y = "onnx.Loop"(%n, %absent, %s0) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<*xf32>):
      %go = "onnx.Identity"(%c) : (tensor<i1>) -> tensor<i1>
      %zero = "onnx.Constant"() {value_ints = array<i64: 0>} : () -> tensor<1xi64>
      %more = "onnx.Unsqueeze"(%s, %zero) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
      onnx.yield %go, %more : tensor<i1>, tensor<*xf32> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "s"}], onnx.outputs = [{name = "go"}, {name = "more"}]}
    }) {onnx.regions = ["body"]} : (tensor<i64>, none, tensor<1xf32>) -> tensor<*xf32>
    onnx.yield %y : tensor<*xf32> {onnx.inputs = [{name = "n"}, {name = "s0"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<2xf32>):
    // expected-error @below {{output 0 has another number of axes or type in each branch}}
    %y = "onnx.If"(%c) ({
      %a = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %a : tensor<2xf32> {onnx.inputs = [], onnx.outputs = [{name = "a"}]}
    }, {
      %b = "onnx.ReduceSum"(%x) {keepdims = 0 : i64} : (tensor<2xf32>) -> tensor<f32>
      onnx.yield %b : tensor<f32> {onnx.inputs = [], onnx.outputs = [{name = "b"}]}
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<*xf32>
    onnx.yield %y : tensor<*xf32> {onnx.inputs = [{name = "c"}, {name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<3xf32>):
    %two = onnx.initializer "two" dense<2> : tensor<i64> : tensor<i64>
    %0 = "onnx.SequenceConstruct"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> !onnx.seq<tensor<3xf32>>
    // expected-error @below {{position 2 of a sequence of 2}}
    %1 = "onnx.SequenceAt"(%0, %two) : (!onnx.seq<tensor<3xf32>>, tensor<i64>) -> tensor<3xf32>
    onnx.yield %1 : tensor<3xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
