// RUN: mp-opt %s | mp-opt - | FileCheck %s
// RUN: mp-opt %s --emit=bytecode | mp-opt - | FileCheck %s

module attributes {onnx.opset_import = [["", 17], ["my.domain", 1]]} {
  // Values print under their ONNX names, nodes as their operators.
  // CHECK-LABEL: onnx.graph
  onnx.graph {
  // CHECK: ^bb0(%x: tensor<?x4xf32>, %strings: tensor<2x!onnx.string>)
  ^bb0(%x: tensor<?x4xf32>, %strings: tensor<2x!onnx.string>):
    // CHECK: %w = onnx.initializer "w" dense<1.000000e+00> : tensor<4x2xf32> : tensor<4x2xf32>
    %w = onnx.initializer "w" dense<1.0> : tensor<4x2xf32> : tensor<4x2xf32>
    // CHECK: %absent = onnx.absent
    %none = onnx.absent
    // CHECK: %layer_mm = "onnx.MatMul"(%x, %w)
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "mm", onnx.results = ["/layer/mm"]} : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
    // CHECK: %clipped = "onnx.Clip"(%layer_mm, %absent, %absent)
    %1 = "onnx.Clip"(%0, %none, %none) {onnx.results = ["clipped"]} : (tensor<?x2xf32>, none, none) -> tensor<?x2xf32>
    // CHECK: %own = onnx.custom "my.domain" "Own"(%clipped, %strings)
    %2 = onnx.custom "my.domain" "Own"(%1, %strings) attributes {onnx.results = ["own"], scale = 2 : i64} : (tensor<?x2xf32>, tensor<2x!onnx.string>) -> !onnx.seq<tensor<*xf32>>
    onnx.yield %2 : !onnx.seq<tensor<*xf32>> {onnx.inputs = [{name = "x"}, {name = "strings"}], onnx.outputs = [{name = "own"}]}
  }
  // CHECK-LABEL: onnx.function "my.domain" "F"
  onnx.function "my.domain" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%a: !onnx.unknown):
    %0 = "onnx.Relu"(%a) {onnx.results = ["b"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown {onnx.inputs = ["a"], onnx.outputs = ["b"]}
  }
  // CHECK-LABEL: onnx.training initialization {
  onnx.training initialization {
  } algorithm {
    // CHECK: %lr = onnx.outer "lr" : !onnx.unknown
    %lr = onnx.outer "lr" : !onnx.unknown
    onnx.yield %lr : !onnx.unknown {onnx.inputs = [], onnx.outputs = [{name = "lr"}]}
  }
}

// CHECK: module attributes {test.types = [
// CHECK-SAME: !onnx.map<i64, tensor<*xf32>>
// CHECK-SAME: !onnx.optional<tensor<*xf8E4M3FN>>
// CHECK-SAME: !onnx.sparse<tensor<3xf32>>, tensor<3xi4>
// CHECK-SAME: !onnx.opaque<"d", "n">
// CHECK-SAME: #onnx.proto<{ref_attr_name = "alpha", type = 1 : i64}>
// CHECK-SAME: #onnx.tensor<{name = "t"}, dense<1> : tensor<1xi64>>
// CHECK-SAME: #onnx.tensor<{name = "u"}>
module attributes {test.types = [
  !onnx.map<i64, tensor<*xf32>>, !onnx.optional<tensor<*xf8E4M3FN>>,
  !onnx.sparse<tensor<3xf32>>, tensor<3xi4>, !onnx.opaque<"d", "n">,
  #onnx.proto<{ref_attr_name = "alpha", type = 1 : i64}>,
  #onnx.tensor<{name = "t"}, dense<1> : tensor<1xi64>>,
  #onnx.tensor<{name = "u"}>]} {
}
