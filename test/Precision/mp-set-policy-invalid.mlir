// RUN: not mp-opt %s --mp-set-policy=precision=fp8 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not mp-opt %s --mp-set-policy=deny=Sofmax 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mp-opt %s --mp-set-policy="deny=Relu allow=Relu" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mp-opt %s --mp-set-policy=allow-files=%t.none 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not mp-opt %s --mp-classify 2>&1 | FileCheck %s --check-prefix=NONE

// PRECISION: error: unknown precision 'fp8', expected 'bf16' or 'fp16'
// NAME: error: {{.*}}'Sofmax'{{.*}}'Softmax'
// TWICE: error: operator 'Relu' is in both --{{allow|deny}} and --{{allow|deny}}
// FILE: error: {{.*}}none
// NONE: error: the module has no policy, expected mp-set-policy to have run
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    %0 = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32>
  }
}
