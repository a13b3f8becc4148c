// RUN: not mp-opt %s --mp-annotate-long-reductions=precision=fp8 2>&1 | FileCheck %s

// CHECK: error: unknown precision 'fp8', expected 'bf16' or 'fp16'
module attributes {onnx.opset_import = [["", 17]]} {
}
