// RUN: mp-opt %s --mp-set-policy --mp-annotate-sensitive-values --mp-classify --mp-assign \
// RUN:   --mp-check-inputs --verify-diagnostics | FileCheck %s

// Phases of unknown range that products of products make: these are all of the
// model's work, so they stay 16 bit.
// CHECK: "onnx.MatMul"{{.*}}mp.costly{{.*}}mp.precision = #mp.precision<bf16
// expected-warning@below {{products are in bf16, as they take more than a tenth of the multiply-adds, though their readers magnify errors: node 'second' (MatMul-13) (makes the angle of node 'sine' (Sin-7), and no range proves it small); --deny-node='second' keeps them fp32}}
module @phases attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<256x256xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<256x256xf32> : tensor<256x256xf32>
    %0 = "onnx.MatMul"(%x, %w) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %1 = "onnx.Relu"(%0) : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %2 = "onnx.MatMul"(%1, %w) {onnx.name = "second"} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %3 = "onnx.Sin"(%2) {onnx.name = "sine"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
    onnx.yield %3 : tensor<256x256xf32>
  }
}
