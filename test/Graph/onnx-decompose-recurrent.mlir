// RUN: mp-opt %s --split-input-file --onnx-decompose-recurrent | FileCheck %s

// Inputs times weights in front, the recurrence inside; the result keeps its
// name. Without lengths there is no mask.
// CHECK-LABEL: module @rnn
// CHECK: %[[X:.*]] = "onnx.MatMul"({{.*}}) {{.*}} -> tensor<7x3x5xf32>
// CHECK: "onnx.Scan"(%{{.*}}, %[[X]]) ({
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<3x5xf32>, %[[I:.*]]: tensor<3x5xf32>):
// CHECK-NEXT: %[[M:.*]] = "onnx.MatMul"(%[[H]], %{{.*}})
// CHECK-NEXT: %[[A:.*]] = "onnx.Add"(%[[I]], %[[M]])
// CHECK-NEXT: %[[T:.*]] = "onnx.Tanh"(%[[A]])
// CHECK-NEXT: onnx.yield %[[T]]
// CHECK-NOT: scan_input_directions
// CHECK-SAME: {name = "{{.*}}hidden"{{.*}}}
// CHECK: num_scan_inputs = 1 : i64
// CHECK: "onnx.Unsqueeze"{{.*}}onnx.results = ["h"]{{.*}} -> tensor<1x3x5xf32>
module @rnn attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<7x3x2xf32>, %w: tensor<1x5x2xf32>, %r: tensor<1x5x5xf32>):
    %0:2 = "onnx.RNN"(%x, %w, %r) {hidden_size = 5 : i64, onnx.name = "cell", onnx.results = ["", "h"]} : (tensor<7x3x2xf32>, tensor<1x5x2xf32>, tensor<1x5x5xf32>) -> (none, tensor<1x3x5xf32>)
    onnx.yield %0#1 : tensor<1x3x5xf32>
  }
}

// -----

// The default of the schema, written out, has a function for each direction.
// CHECK-LABEL: module @rnn_default_activations
// CHECK: "onnx.Tanh"
// CHECK-NOT: onnx.RNN
module @rnn_default_activations attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<7x3x2xf32>, %w: tensor<1x5x2xf32>, %r: tensor<1x5x5xf32>):
    %0:2 = "onnx.RNN"(%x, %w, %r) {activations = ["Tanh", "Tanh"], hidden_size = 5 : i64, onnx.name = "cell", onnx.results = ["", "h"]} : (tensor<7x3x2xf32>, tensor<1x5x2xf32>, tensor<1x5x5xf32>) -> (none, tensor<1x3x5xf32>)
    onnx.yield %0#1 : tensor<1x3x5xf32>
  }
}

// -----

// Two directions, the second backwards; lengths as a mask; unknown sizes; in a
// subgraph.
// CHECK-LABEL: module @gru
// CHECK: "onnx.If"
// CHECK: %[[MASK:.*]] = "onnx.Less"
// CHECK: "onnx.Scan"(%{{.*}}, %{{.*}}, %[[MASK]]) ({
// CHECK: "onnx.Where"
// CHECK-NOT: scan_input_directions
// CHECK: "onnx.Scan"(%{{.*}}, %{{.*}}, %[[MASK]]) ({
// CHECK: scan_input_directions = array<i64: 1, 1>, scan_output_directions = array<i64: 1>
// CHECK: "onnx.Concat"{{.*}}onnx.results = ["y"]
// CHECK-NOT: onnx.GRU
module @gru attributes {onnx.opset_import = [["", 14]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<?x?x2xf32>, %w: tensor<2x15x2xf32>, %r: tensor<2x15x5xf32>, %l: tensor<?xi32>):
    %0 = "onnx.If"(%c) ({
      %none = onnx.absent
      %1 = "onnx.GRU"(%x, %w, %r, %none, %l) {direction = "bidirectional", hidden_size = 5 : i64, onnx.results = ["y"]} : (tensor<?x?x2xf32>, tensor<2x15x2xf32>, tensor<2x15x5xf32>, none, tensor<?xi32>) -> tensor<?x2x?x5xf32>
      onnx.yield %1 : tensor<?x2x?x5xf32> {onnx.inputs = [], onnx.outputs = [{name = "y"}]}
    }, {
      %1 = "onnx.Neg"(%x) {onnx.results = ["n"]} : (tensor<?x?x2xf32>) -> tensor<?x?x2xf32>
      onnx.yield %1 : tensor<?x?x2xf32> {onnx.inputs = [], onnx.outputs = [{name = "n"}]}
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["z"]} : (tensor<i1>) -> tensor<*xf32>
    onnx.yield %0 : tensor<*xf32>
  }
}
