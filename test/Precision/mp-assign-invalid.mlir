// RUN: mp-opt %s --split-input-file --mp-assign --verify-diagnostics
// RUN: not mp-opt %s --mp-set-policy --mp-classify --mp-assign=assign=fastest 2>&1 | FileCheck %s

// CHECK: error: unknown assignment rule 'fastest', expected 'min-cut' or 'first-operand'

// expected-error@below {{the 16-bit type is not set, expected mp-set-policy to have run}}
module {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    onnx.yield %x : tensor<4x4xf32>
  }
}

// -----

module attributes {mp.policy = #mp.policy<bf16>} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    // expected-error@below {{node 'r' (Relu-14): has no precision class, expected mp-classify to have run}}
    %0 = "onnx.Relu"(%x) {onnx.name = "r"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}
