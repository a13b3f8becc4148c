// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify \
// RUN:   --onnx-raise-opset=runtime=tensorrt:11.2 | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify \
// RUN:   --onnx-raise-opset="runtime=tensorrt:11.2 limit=8" | FileCheck %s --check-prefix=LIMIT

// TensorRT reads opsets from 9 on. A later model needs no newer one for fp16.
// CHECK: module @old attributes {{.*}}onnx.opset_import = {{\[}}["", 9]]
// LIMIT: module @old attributes {{.*}}onnx.opset_import = {{\[}}["", 7]]
module @old attributes {onnx.opset_import = [["", 7]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}

// -----

// CHECK: module @later attributes {{.*}}onnx.opset_import = {{\[}}["", 11]]
module @later attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}

// -----

// A node that has no newer form stands against it; the last check then says
// which opsets the runtime reads.
// CHECK: module @stays attributes {{.*}}onnx.opset_import = {{\[}}["", 8]]
module @stays attributes {onnx.opset_import = [["", 8]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4x3xf32>, %n: tensor<2xi64>):
    %0:1 = "onnx.Scan"(%n, %x) ({
    ^bb0(%e: tensor<3xf32>):
      onnx.yield %e : tensor<3xf32> {onnx.inputs = [{name = "e"}], onnx.outputs = [{name = "o"}]}
    }) {num_scan_inputs = 1 : i64, onnx.regions = ["body"]} : (tensor<2xi64>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    onnx.yield %0#0 : tensor<2x4x3xf32>
  }
}
