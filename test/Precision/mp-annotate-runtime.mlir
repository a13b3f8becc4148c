// RUN: mp-opt %s --mp-annotate-runtime="runtime=onnxruntime-cuda:1.25 precision=bf16" \
// RUN:   | FileCheck %s --check-prefix=CUDA
// RUN: mp-opt %s --mp-annotate-runtime="runtime=onnxruntime-cuda:1.25 precision=fp16" \
// RUN:   | FileCheck %s --check-prefix=HALF
// RUN: mp-opt %s --mp-annotate-runtime="runtime=tensorrt:10.15 precision=bf16" \
// RUN:   | FileCheck %s --check-prefix=TENSORRT
// RUN: mp-opt %s --mp-annotate-runtime="runtime=onnxruntime-cpu:1.32 precision=fp16" \
// RUN:   | FileCheck %s --check-prefix=CPU
// RUN: not mp-opt %s --mp-annotate-runtime="runtime=tensort" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME
// RUN: not mp-opt %s --mp-annotate-runtime="runtime=tensorrt:9.2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=VERSION
// RUN: mp-opt %s --mp-annotate-runtime="runtime=tensorrt:11.9" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NEWER

// Kernels belong to versions of an operator. The schema of MaxPool-12 does not
// admit bf16, so nothing is to be said of its kernel. TensorRT has Resize for
// some modes only.
// CUDA: "onnx.MatMul"
// CUDA-NOT: mp.no_kernel
// CUDA: "onnx.Resize"
// CUDA-SAME: mp.no_kernel = "onnxruntime-cuda 1.25 has no bf16 kernel for Resize-13"
// CUDA: "onnx.Unique"
// CUDA-SAME: mp.no_kernel = "onnxruntime-cuda 1.25 has no kernel for Unique-11"

// HALF: "onnx.MaxPool"
// HALF-NOT: mp.no_kernel
// HALF: "onnx.BatchNormalization"

// TENSORRT: "onnx.MaxPool"
// TENSORRT-NOT: mp.no_kernel
// TENSORRT: "onnx.Resize"
// TENSORRT-SAME: mp.no_kernel = "tensorrt 10.15 has no bf16 kernel for Resize-13 unless mode != cubic"
// TENSORRT: "onnx.BatchNormalization"
// TENSORRT-SAME: mp.one_type

// CPU: "onnx.MatMul"
// CPU-SAME: mp.no_kernel = "onnxruntime-cpu 1.32 has no fp16 kernel for MatMul-13"
// CPU: "onnx.Transpose"
// CPU-SAME: mp.no_kernel = "onnxruntime-cpu 1.32 only stores 16 bit, and computes in fp32"

// NAME: --runtime: unknown runtime 'tensort', expected any, {{.*}}; did you mean 'tensorrt'?
// VERSION: --runtime: runtime 'tensorrt': unknown version '9.2', known releases are 10.1, 10.15, 11.0, 11.2, 11.5
// NEWER: warning: the table of tensorrt ends at tensorrt 11.5, whose rows are used for tensorrt:11.9
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x3x8x8xf32>, %w: tensor<8x8xf32>, %s: tensor<4xf32>, %b: tensor<3xf32>):
    %0 = "onnx.MatMul"(%x, %w) {onnx.name = "mm", onnx.results = ["p"]} : (tensor<1x3x8x8xf32>, tensor<8x8xf32>) -> tensor<1x3x8x8xf32>
    %1 = "onnx.MaxPool"(%0) {kernel_shape = array<i64: 2, 2>, onnx.name = "pool", onnx.results = ["q"]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x7x7xf32>
    %none = onnx.absent
    %2 = "onnx.Resize"(%1, %none, %s) {mode = "cubic", onnx.name = "resize", onnx.results = ["r"]} : (tensor<1x3x7x7xf32>, none, tensor<4xf32>) -> tensor<?x?x?x?xf32>
    %3 = "onnx.BatchNormalization"(%2, %b, %b, %b, %b) {onnx.name = "bn", onnx.results = ["n"]} : (tensor<?x?x?x?xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x?x?x?xf32>
    %4 = "onnx.Transpose"(%3) {onnx.name = "t", onnx.results = ["t"]} : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
    %5 = "onnx.Unique"(%4) {onnx.name = "u", onnx.results = ["u"]} : (tensor<?x?x?x?xf32>) -> tensor<?xf32>
    onnx.yield %5 : tensor<?xf32> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "s"}, {name = "b"}], onnx.outputs = [{name = "u"}]}
  }
}
