// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=prove-optimum=true | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign=prove-optimum=true | FileCheck %s --check-prefix=BF16
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=assign=first-operand \
// RUN:   | FileCheck %s --check-prefix=FIRST

// The result of If is one variable with what its branches yield.
// CHECK-LABEL: @if
// CHECK: "onnx.If"
// CHECK: mp.precision = #mp.precision<f16, variables = [f16], reason = "minimum cut: 
// FIRST-LABEL: @if
// FIRST: mp.precision = #mp.precision<f32, variables = [f32], reason = "control flow"
module @if attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<4x4xf32>):
    %k = onnx.initializer "k" dense<0.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.If"(%c) ({
      %1 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %1 : tensor<4x4xf32>
    }, {
      %1 = "onnx.Identity"(%k) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %1 : tensor<4x4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32>
  }
}

// -----

// A state that is computed anew by a contraction is 16 bit; one that is added
// to stays f32; what is scanned out is a variable of its own.
// CHECK-LABEL: @loop
// CHECK: "onnx.Tanh"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32
// CHECK: variables = [f16, f32, f16], reason = "2 of its 3 joined values are fp16; iterations accumulate in 'sum'"
// FIRST-LABEL: @loop
// FIRST: variables = [f32, f32, f32]
module @loop attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4x4xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1:3 = "onnx.Loop"(%n, %c, %0, %x) ({
    ^bb0(%i: tensor<i64>, %k: tensor<i1>, %h: tensor<4x4xf32>, %s: tensor<4x4xf32>):
      %2 = "onnx.MatMul"(%h, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %3 = "onnx.Tanh"(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %4 = "onnx.Add"(%s, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %k, %3, %4, %3 : tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "i"}, {name = "k"}, {name = "h"}, {name = "sum"}]}
    }) {onnx.regions = ["body"]} : (tensor<i64>, tensor<i1>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<?x4x4xf32>)
    %5 = "onnx.MatMul"(%1#0, %1#2) : (tensor<4x4xf32>, tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
    onnx.yield %5, %1#1 : tensor<?x4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Scan: states, what is scanned in, what is scanned out.
// CHECK-LABEL: @scan
// CHECK: variables = [f32, f16, f16]
module @scan attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%s: tensor<4xf32>, %x: tensor<9x4xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<9x4xf32>, tensor<4x4xf32>) -> tensor<9x4xf32>
    %1:2 = "onnx.Scan"(%s, %0) ({
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %2 = "onnx.Add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = "onnx.MatMul"(%b, %w) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
      onnx.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
    }) {num_scan_inputs = 1 : i64, onnx.regions = ["body"]} : (tensor<4xf32>, tensor<9x4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>)
    %4 = "onnx.MatMul"(%1#1, %w) : (tensor<9x4xf32>, tensor<4x4xf32>) -> tensor<9x4xf32>
    onnx.yield %1#0, %4 : tensor<4xf32>, tensor<9x4xf32>
  }
}

// -----

// The elements of a sequence have one type, wherever it goes. No opset's
// sequences hold bf16.
// CHECK-LABEL: @sequence
// CHECK: "onnx.SequenceConstruct"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.SequenceInsert"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.SequenceAt"{{.*}}mp.precision = #mp.precision<f16
// BF16-LABEL: @sequence
// BF16: "onnx.SequenceConstruct"{{.*}}mp.precision = #mp.precision<f32, variables = [f32], reason = "SequenceConstruct-11 does not admit bf16"
// BF16: "onnx.SequenceAt"{{.*}}mp.precision = #mp.precision<f32
module @sequence attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%i: tensor<i64>, %x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.SequenceConstruct"(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> !onnx.seq<tensor<4x4xf32>>
    %2 = "onnx.SequenceInsert"(%1, %0) : (!onnx.seq<tensor<4x4xf32>>, tensor<4x4xf32>) -> !onnx.seq<tensor<4x4xf32>>
    %3 = "onnx.SequenceAt"(%2, %i) : (!onnx.seq<tensor<4x4xf32>>, tensor<i64>) -> tensor<4x4xf32>
    %4 = "onnx.MatMul"(%3, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %4 : tensor<4x4xf32>
  }
}

// -----

// A sequence that leaves the graph keeps its type, and so do all that share it.
// CHECK-LABEL: @sequence_output
// CHECK: "onnx.SequenceConstruct"{{.*}}mp.precision = #mp.precision<f32, reason = "'{0}' is used where its type cannot change", values = ["s"]
module @sequence_output attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.SequenceConstruct"(%0, %0) {onnx.results = ["s"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> !onnx.seq<tensor<4x4xf32>>
    onnx.yield %1 : !onnx.seq<tensor<4x4xf32>>
  }
}
