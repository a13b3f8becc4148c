// RUN: mp-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// Outputs of a known number of iterations are slices of one tensor, in the
// order that the direction tells; the number of the iteration is no tensor.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<2xf32> {mp.element = f32, mp.name = "scan_s"}
// CHECK: %[[OUT:.*]] = tensor.empty() : tensor<3x2xf32>
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[ALL:.*]] = %[[OUT]]) -> (tensor<2xf32>, tensor<3x2xf32>)
// CHECK: tensor.extract_slice %{{.*}}[%[[I]], 0] [1, 2] [1, 1] : tensor<3x2xf32> to tensor<2xf32>
// CHECK: %[[PLACE:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK: tensor.insert_slice %{{.*}} into %[[ALL]][%[[PLACE]], 0]
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%scan_s: tensor<2xf32>, %x: tensor<3x2xf32>):
    %y, %z = "onnx.Scan"(%scan_s, %x) ({
    ^bb0(%s: tensor<2xf32>, %next: tensor<2xf32>):
      %sum = "onnx.Add"(%s, %next) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %same = "onnx.Identity"(%sum) : (tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %sum, %same : tensor<2xf32>, tensor<2xf32> {onnx.inputs = [{name = "s"}, {name = "next"}], onnx.outputs = [{name = "sum"}, {name = "same"}]}
    }) {num_scan_inputs = 1 : i64, scan_output_directions = array<i64: 1>, onnx.regions = ["body"]} : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>)
    onnx.yield %y, %z : tensor<2xf32>, tensor<3x2xf32> {onnx.inputs = [{name = "scan_s"}, {name = "x"}], onnx.outputs = [{name = "y"}, {name = "z"}]}
  }
}

// -----

// A size that iterations change is unknown; a condition can end them.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<1xf32> {mp.element = f32, mp.name = "loop_s"}
// CHECK: tensor.cast %{{.*}} : tensor<1xf32> to tensor<?xf32>
// CHECK: scf.while {{.*}} : (index, i1, tensor<?xf32>) -> (index, tensor<?xf32>)
// CHECK: scf.condition
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%loop_s: tensor<1xf32>, %n: tensor<i64>):
    %absent = onnx.absent
    %y = "onnx.Loop"(%n, %absent, %loop_s) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<?xf32>):
      %twice = "onnx.Concat"(%s, %s) {axis = 0 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %sum = "onnx.ReduceSum"(%twice) {keepdims = 0 : i64} : (tensor<?xf32>) -> tensor<f32>
      %zero = "onnx.Sub"(%sum, %sum) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %more = "onnx.Greater"(%sum, %zero) : (tensor<f32>, tensor<f32>) -> tensor<i1>
      onnx.yield %more, %twice : tensor<i1>, tensor<?xf32> {onnx.inputs = [{name = "i"}, {name = "c"}, {name = "s"}], onnx.outputs = [{name = "more"}, {name = "twice"}]}
    }) {onnx.regions = ["body"]} : (tensor<i64>, none, tensor<1xf32>) -> tensor<?xf32>
    onnx.yield %y : tensor<?xf32> {onnx.inputs = [{name = "loop_s"}, {name = "n"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Branches of different sizes give an unknown one.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<i8> {mp.element = i1, mp.name = "if_c"}
// CHECK: scf.if %{{.*}} -> (tensor<?x4xf32>)
// CHECK: tensor.cast %{{.*}} : tensor<2x4xf32> to tensor<?x4xf32>
// CHECK: else
// CHECK: tensor.cast %{{.*}} : tensor<3x4xf32> to tensor<?x4xf32>
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%if_c: tensor<i1>, %x: tensor<2x4xf32>, %z: tensor<3x4xf32>):
    %y = "onnx.If"(%if_c) ({
      %a = "onnx.Neg"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      onnx.yield %a : tensor<2x4xf32> {onnx.inputs = [], onnx.outputs = [{name = "a"}]}
    }, {
      %b = "onnx.Neg"(%z) : (tensor<3x4xf32>) -> tensor<3x4xf32>
      onnx.yield %b : tensor<3x4xf32> {onnx.inputs = [], onnx.outputs = [{name = "b"}]}
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<?x4xf32>
    onnx.yield %y : tensor<?x4xf32> {onnx.inputs = [{name = "if_c"}, {name = "x"}, {name = "z"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A branch is in no module while it is emitted, and its convolution of few
// channels asks the target how it is best laid out.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<i8> {mp.element = i1, mp.name = "conv_c"}
// CHECK: scf.if
// CHECK: kernel.contract
// CHECK: else
module attributes {mp.target = #mp.target<cpu, isa = avx512, products = widen>, onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%conv_c: tensor<i1>, %x: tensor<1x2x16x16xf32>, %w: tensor<2x2x3x3xf32>):
    %y = "onnx.If"(%conv_c) ({
      %a = "onnx.Conv"(%x, %w) {pads = array<i64: 1, 1, 1, 1>} : (tensor<1x2x16x16xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x16x16xf32>
      onnx.yield %a : tensor<1x2x16x16xf32> {onnx.inputs = [], onnx.outputs = [{name = "a"}]}
    }, {
      %b = "onnx.Neg"(%x) : (tensor<1x2x16x16xf32>) -> tensor<1x2x16x16xf32>
      onnx.yield %b : tensor<1x2x16x16xf32> {onnx.inputs = [], onnx.outputs = [{name = "b"}]}
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<1x2x16x16xf32>
    onnx.yield %y : tensor<1x2x16x16xf32> {onnx.inputs = [{name = "conv_c"}, {name = "x"}, {name = "w"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Sequences of known length are no code.
// CHECK-LABEL: func.func @main(%{{.*}}: tensor<3xf32> {mp.element = f32, mp.name = "list_x"}
// CHECK-NEXT: return %arg0, %arg0
module attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%list_x: tensor<3xf32>):
    %one = onnx.initializer "one" dense<-1> : tensor<i64> : tensor<i64>
    %0 = "onnx.SequenceConstruct"(%list_x, %list_x) : (tensor<3xf32>, tensor<3xf32>) -> !onnx.seq<tensor<3xf32>>
    %1 = "onnx.SequenceAt"(%0, %one) : (!onnx.seq<tensor<3xf32>>, tensor<i64>) -> tensor<3xf32>
    %2 = "onnx.Identity"(%1) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.yield %1, %2 : tensor<3xf32>, tensor<3xf32> {onnx.inputs = [{name = "list_x"}], onnx.outputs = [{name = "y"}, {name = "z"}]}
  }
}
