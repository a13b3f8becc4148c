// RUN: not mp-opt %s --mp-classify=deny=Sofmax 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mp-opt %s --mp-classify=allow=Frobb 2>&1 | FileCheck %s --check-prefix=CUSTOM
// RUN: not mp-opt %s --mp-classify="allow=Conv deny=Conv" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mp-opt %s --mp-classify=precision=fp8 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not mp-opt %s --mp-classify="deny-nodes=a)(b" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mp-opt %s --mp-classify="allow-nodes=hea" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mp-opt %s --mp-classify="allow-nodes=head deny-nodes=h.*" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: mp-opt %s --mp-classify="allow=my.Frob,ai.onnx.Conv deny=com.microsoft.Gelu"

// UNKNOWN: error: unknown operator 'Sofmax' in --deny; did you mean 'Softmax'?
// CUSTOM: error: unknown operator 'Frobb' in --allow; did you mean 'Frob'?
// TWICE: error: operator 'Conv' is in both --allow and --deny
// PRECISION: error: unknown precision 'fp8', expected 'bf16' or 'fp16'
// REGEX: error: pattern 'a)(b' in --deny-node is no regular expression: parentheses not balanced
// NONE: error: pattern 'hea' in --allow-node matches no node; did you mean 'head'?
// BOTH: error: node 'head' (Gemm-13): matches 'head' in --allow-node and 'h.*' in --deny-node
module attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Gemm"(%x, %x) {onnx.name = "head"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = onnx.custom "my" "Frob" (%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}
