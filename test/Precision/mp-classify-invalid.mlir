// RUN: not mp-opt %s --mp-set-policy=deny=Sofmax --mp-classify 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mp-opt %s --mp-set-policy=allow=Frobb --mp-classify 2>&1 | FileCheck %s --check-prefix=CUSTOM
// RUN: not mp-opt %s --mp-set-policy="allow=Conv deny=Conv" --mp-classify 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mp-opt %s --mp-set-policy=precision=fp8 --mp-classify 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not mp-opt %s --mp-set-policy="deny-nodes=a)(b" --mp-classify 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mp-opt %s --mp-set-policy="allow-nodes=hea" --mp-classify 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mp-opt %s --mp-set-policy="allow-nodes=head deny-nodes=h.*" --mp-classify 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not mp-opt %s --mp-set-policy="deny=Conv,Conv" --mp-classify 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not mp-opt %s --mp-set-policy="allow=linear deny=addmm,mm" --mp-classify 2>&1 | FileCheck %s --check-prefix=TORCH
// RUN: not mp-opt %s --mp-set-policy="allow=mm deny=matmul" --mp-classify 2>&1 | FileCheck %s --check-prefix=ALIAS
// RUN: not mp-opt %s --mp-set-policy="policy=mixed_bflat16" --mp-classify 2>&1 | FileCheck %s --check-prefix=KERAS
// RUN: not mp-opt %s --mp-set-policy="policy=float32 allow=Conv" --mp-classify 2>&1 | FileCheck %s --check-prefix=FLOAT32
// RUN: not mp-opt %s --mp-set-policy="policy=mixed_float16 precision=bf16" --mp-classify 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not mp-opt %s --mp-set-policy="deny-nodes=((a{200}){200}){200}" --mp-classify 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not mp-opt %s --mp-set-policy="deny-nodes=(a*)\1" --mp-classify 2>&1 | FileCheck %s --check-prefix=BACK
// RUN: mp-opt %s --mp-set-policy="allow=linear deny=mm" --mp-classify | FileCheck %s --check-prefix=SHARED
// RUN: mp-opt %s --mp-set-policy="deny=smooth_l1_loss" --mp-classify 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: mp-opt %s --mp-set-policy="deny-nodes=head|hea" --mp-classify 2>&1 | FileCheck %s --check-prefix=PART
// RUN: mp-opt %s --mp-set-policy="deny-nodes=(x|hea).*" --mp-classify 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not mp-opt %s --mp-set-policy="deny-nodes=a|b" --mp-classify 2>&1 | FileCheck %s --check-prefix=NEITHER
// RUN: mp-opt %s --mp-set-policy="deny=ai.onnx.*" --mp-classify | FileCheck %s --check-prefix=DOMAIN
// RUN: mp-opt %s --mp-set-policy="allow=my.Frob,ai.onnx.Conv deny=com.microsoft.Gelu" --mp-classify

// UNKNOWN: error: unknown operator 'Sofmax' in --deny; did you mean 'Softmax'?
// CUSTOM: error: unknown operator 'Frobb' in --allow; did you mean 'Frob'?
// TWICE: error: operator 'Conv' is in both --allow and --deny
// PRECISION: error: unknown precision 'fp8', expected 'bf16' or 'fp16'
// REGEX: error: pattern 'a)(b' in --deny-node is not a regular expression: parentheses not balanced
// NONE: error: pattern 'hea' in --allow-node matches no node; did you mean 'head'?
// BOTH: error: node 'head' (Gemm-13): matches 'head' in --allow-node and 'h.*' in --deny-node
// AGAIN: error: operator 'Conv' is twice in --deny
// TORCH: error: 'linear' in --allow stands for Gemm and MatMul, which are all on other lists: 'MatMul' is in --deny
// ALIAS: error: operator 'MatMul' is in both --allow (as 'mm') and --deny (as 'matmul')
// KERAS: error: unknown policy 'mixed_bflat16'; did you mean 'mixed_bfloat16'?
// FLOAT32: error: the precision is float32 (--policy), which leaves nothing to allow in --allow
// OTHER: error: the precision is bf16 in --mixed-bf16 and fp16 in --policy
// HUGE: error: pattern '((a{200}){200}){200}' in --deny-node is not a regular expression: it repeats too much
// BACK: error: pattern '(a*)\1' in --deny-node is not a regular expression: back references are not supported
// SHARED: "onnx.Gemm"{{.*}}mp.class = #mp.class<allow
// NOTHING: warning: functions without an ONNX op of their own match nothing, list the ops that they are made of: 'smooth_l1_loss' (--deny)
// PART: warning: 'hea', an alternative of pattern 'head|hea' in --deny-node, matches no node; did you mean 'head'?
// WHOLE-NOT: warning
// NEITHER-NOT: warning
// NEITHER: error: pattern 'a|b' in --deny-node matches no node
// DOMAIN: "onnx.Gemm"{{.*}}mp.class = #mp.class<deny
module attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Gemm"(%x, %x) {onnx.name = "head"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = onnx.custom "my" "Frob" (%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}
