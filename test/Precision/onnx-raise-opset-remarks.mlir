// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --onnx-raise-opset \
// RUN:   --remarks-filter=mp-precision --remark-format=emitRemark \
// RUN:   --verify-diagnostics -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: mp-opt %s --split-input-file --mp-mixed-precision=opset-limit=21 \
// RUN:   | FileCheck %s --check-prefix=LIMIT

// A node that stands against it keeps the model where it is.
// CHECK: module @blocked {{.*}}["", 11]
module @blocked attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %i: tensor<4xi32>):
    // expected-remark@below {{[Missed] precision | Category:mp-precision | Bytes=4, From=f32, Node="node 'conv' (Conv-11)", Reason="needs opset 22, but node 'erf' (Erf-9) stands against it: 'input' admits fewer types in Erf-13", To=f32}}
    %0 = "onnx.Conv"(%x, %x) {onnx.name = "conv"} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    %1 = "onnx.Erf"(%i) {onnx.name = "erf"} : (tensor<4xi32>) -> tensor<4xi32>
    onnx.yield %0, %1 : tensor<1x1x1x1xf32>, tensor<4xi32>
  }
}

// -----

// Runtimes for graphs that update values in place stop at earlier opsets.
// CHECK: module @training {{.*}}["", 17]
module @training attributes {onnx.opset_import = [["", 17], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %buffer: tensor<1x1x1x1xf32>, %b: tensor<1xi1>):
    // expected-remark@below {{Reason="needs opset 22, but the graph updates values in place"}}
    %0 = "onnx.Conv"(%x, %x) {onnx.name = "conv"} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    %1 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%buffer, %0, %b) : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %1 : tensor<1xi1>
  }
}

// -----

// Einsum admits bf16 at an opset that few runtimes load; Conv is served.
// CHECK: module @limit {{.*}}["", 22]
// LIMIT: module @limit {{.*}}["", 17]
module @limit attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %y: tensor<4x4xf32>):
    %0 = "onnx.Conv"(%x, %x) {onnx.name = "conv"} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    // expected-remark@below {{Reason="needs opset 28, but the limit is 25"}}
    %1 = "onnx.Einsum"(%y, %y) {equation = "ij,jk->ik"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0, %1 : tensor<1x1x1x1xf32>, tensor<4x4xf32>
  }
}
