// RUN: mp-opt %s --split-input-file --mp-annotate-sensitive-values=precision=fp16 \
// RUN:   --mp-set-io-types=io=fp16,y=fp32 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STAYS --input-file=%t
// RUN: mp-opt %s --split-input-file --mp-annotate-sensitive-values=precision=fp16 \
// RUN:   --mp-set-io-types=io={[a-z]{1,9}=bf16} 2>%t \
// RUN:   | FileCheck %s --check-prefix=PATTERN
// RUN: FileCheck %s --check-prefix=ROUNDED --input-file=%t

// A type for all leaves out float64, integers and inputs with a default; a
// pattern beats it. No type changes here.
// CHECK-LABEL: @all
// CHECK-SAME: mp.wanted_inputs = [f16, none, none, none]
// CHECK-SAME: mp.wanted_outputs = [f16, none]
// CHECK: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf64>, %{{.*}}: tensor<4xi64>, %{{.*}}: tensor<4xf32>)

// A pattern takes float64, too.
// PATTERN-LABEL: @all
// PATTERN-SAME: mp.wanted_inputs = [bf16, bf16, none, none]
// PATTERN-SAME: mp.wanted_outputs = [bf16, bf16]
module @all attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %d: tensor<4xf64>, %i: tensor<4xi64>, %w: tensor<4xf32>):
    %0 = onnx.initializer "w" dense<1.0> : tensor<4xf32> overridable : tensor<4xf32>
    %1 = "onnx.Add"(%x, %w) {onnx.results = ["z"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Exp"(%1) {onnx.results = ["y"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %1, %2 : tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "d"}, {name = "i"}, {name = "w"}]}
  }
}

// -----

// An input whose last digits decide results stays fp32 unless it is named. An
// output that is an input has its type.
// CHECK-LABEL: @sensitive
// CHECK-SAME: mp.wanted_inputs = [none, f16]
// CHECK-SAME: mp.wanted_outputs = [f16, none, f16]
// STAYS: input 't' stays fp32: makes the angle of node with output 'z' (Sin-7), and no range proves it small; --io='t=fp16' converts it all the same

// ROUNDED: warning: input 't' is rounded to bf16, as '[a-z]{1,9}=bf16' in --io asks for: makes the angle of node
// PATTERN-LABEL: @sensitive
// PATTERN-SAME: mp.wanted_inputs = [bf16, bf16]
// PATTERN-SAME: mp.wanted_outputs = [bf16, bf16, bf16]
module @sensitive attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%t: tensor<4xf32>, %q: tensor<4xf32>):
    %0 = "onnx.Sin"(%t) {onnx.results = ["z"]} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Exp"(%q) {onnx.results = ["y"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0, %1, %q : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "t"}, {name = "q"}]}
  }
}

// -----

// Values that are known to exceed fp16 stay fp32. If nothing changes, there is
// no mark.
// CHECK-LABEL: @ranges
// CHECK-NOT: mp.wanted
// CHECK: onnx.graph
// STAYS: input 'x' stays fp32: its range, as stated by --input-range, ends beyond fp16, which ends at 65504

// PATTERN-LABEL: @ranges
// PATTERN-SAME: mp.wanted_inputs = [bf16, bf16]
module @ranges attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph attributes {mp.input_ranges = {x = array<f64: 0.0, 1.0e6>}} {
  ^bb0(%x: tensor<4xf32>, %h: tensor<4xf16>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "h"}]}
  }
}
