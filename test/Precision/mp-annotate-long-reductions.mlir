// RUN: mp-opt %s --split-input-file --mp-annotate-long-reductions | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-annotate-long-reductions=precision=fp16 \
// RUN:   | FileCheck %s --check-prefix=FP16

// 256 ones are a bf16, 257 are none.
// CHECK-LABEL: @reductions
// CHECK-NOT: mp.hazard
// CHECK: mp.hazard = #mp.hazard<"accumulates 257 elements, bf16 counts to 256">, onnx.results = {{\[}}"long"]
// CHECK-NEXT: mp.hazard = #mp.hazard<"accumulates 4096 elements, bf16 counts to 256">, onnx.results = {{\[}}"both"]
// CHECK-NEXT: mp.hazard = #mp.hazard<"accumulates an unknown number of elements, bf16 counts to 256">, onnx.results = {{\[}}"unknown"]
// CHECK-NEXT: mp.hazard = #mp.hazard<"accumulates 257 elements, bf16 counts to 256">, onnx.results = {{\[}}"running"]
// CHECK-NOT: mp.hazard
// FP16-LABEL: @reductions
// FP16-NOT: mp.hazard
// FP16: mp.hazard = #mp.hazard<"accumulates 4096 elements, fp16 counts to 2048">, onnx.results = {{\[}}"both"]
// FP16-NEXT: mp.hazard = #mp.hazard<"accumulates an unknown number
// FP16-NOT: mp.hazard
// FP16-LABEL: @pools
// FP16: mp.hazard = #mp.hazard<"accumulates 3136 elements, fp16 counts to 2048">, onnx.results = {{\[}}"big"]
// FP16-NEXT: onnx.results = {{\[}}"window"]
module @reductions attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%a: tensor<4x256xf32>, %b: tensor<4x257xf32>, %c: tensor<64x64xf32>, %d: tensor<4x?xf32>, %i: tensor<4096xi32>):
    %axis = onnx.initializer "axis" dense<-1> : tensor<1xi64> : tensor<1xi64>
    %one = onnx.initializer "one" dense<1> : tensor<i64> : tensor<i64>
    %0 = "onnx.ReduceSum"(%a, %axis) {onnx.results = ["short"]} : (tensor<4x256xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %1 = "onnx.ReduceMax"(%b) {onnx.results = ["max"]} : (tensor<4x257xf32>) -> tensor<1x1xf32>
    %2 = "onnx.ReduceSum"(%i) {onnx.results = ["integers"]} : (tensor<4096xi32>) -> tensor<1xi32>
    %3 = "onnx.ReduceMean"(%d) {axes = array<i64: 0>, onnx.results = ["first"]} : (tensor<4x?xf32>) -> tensor<1x?xf32>
    %4 = "onnx.ReduceSum"(%b, %axis) {onnx.results = ["long"]} : (tensor<4x257xf32>, tensor<1xi64>) -> tensor<4x1xf32>
    %5 = "onnx.ReduceMean"(%c) {onnx.results = ["both"]} : (tensor<64x64xf32>) -> tensor<1x1xf32>
    %6 = "onnx.ReduceMean"(%d) {axes = array<i64: 1>, onnx.results = ["unknown"]} : (tensor<4x?xf32>) -> tensor<4x1xf32>
    %7 = "onnx.CumSum"(%b, %one) {onnx.results = ["running"]} : (tensor<4x257xf32>, tensor<i64>) -> tensor<4x257xf32>
    %8 = "onnx.MatMul"(%c, %c) {onnx.results = ["contraction"]} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %9 = "onnx.Softmax"(%b) {onnx.results = ["softmax"]} : (tensor<4x257xf32>) -> tensor<4x257xf32>
    onnx.yield %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<4x1xf32>, tensor<1x1xf32>, tensor<1xi32>, tensor<1x?xf32>, tensor<4x1xf32>, tensor<1x1xf32>, tensor<4x1xf32>, tensor<4x257xf32>, tensor<64x64xf32>, tensor<4x257xf32>
  }
}

// -----

// Pools: 7 x 7 and unknown sizes are short; a hazard that is there stays.
// Additions by index may all meet in one place.
// CHECK-LABEL: @pools
// CHECK-NOT: mp.hazard
// CHECK: mp.hazard = #mp.hazard<"accumulates 3136 elements, bf16 counts to 256">, onnx.results = {{\[}}"big"]
// CHECK-NEXT: mp.hazard = #mp.hazard<"accumulates 289 elements, bf16 counts to 256">, onnx.results = {{\[}}"window"]
// CHECK-NEXT: mp.hazard = #mp.hazard<"known">, onnx.results = {{\[}}"kept"]
// CHECK-NEXT: mp.hazard = #mp.hazard<"accumulates 300 elements, bf16 counts to 256">, onnx.results = {{\[}}"added"]
// CHECK-NOT: mp.hazard
module @pools attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%a: tensor<1x2x7x7xf32>, %b: tensor<1x2x?x?xf32>, %c: tensor<1x2x56x56xf32>, %t: tensor<8xf32>, %i: tensor<300x1xi64>, %u: tensor<300xf32>):
    %0 = "onnx.GlobalAveragePool"(%a) : (tensor<1x2x7x7xf32>) -> tensor<1x2x1x1xf32>
    %1 = "onnx.GlobalAveragePool"(%b) : (tensor<1x2x?x?xf32>) -> tensor<1x2x1x1xf32>
    %2 = "onnx.GlobalAveragePool"(%c) {onnx.results = ["big"]} : (tensor<1x2x56x56xf32>) -> tensor<1x2x1x1xf32>
    %3 = "onnx.AveragePool"(%c) {kernel_shape = array<i64: 17, 17>, onnx.results = ["window"]} : (tensor<1x2x56x56xf32>) -> tensor<1x2x40x40xf32>
    %4 = "onnx.GlobalAveragePool"(%c) {mp.hazard = #mp.hazard<"known">, onnx.results = ["kept"]} : (tensor<1x2x56x56xf32>) -> tensor<1x2x1x1xf32>
    %5 = "onnx.ScatterND"(%t, %i, %u) {onnx.results = ["added"], reduction = "add"} : (tensor<8xf32>, tensor<300x1xi64>, tensor<300xf32>) -> tensor<8xf32>
    %6 = "onnx.ScatterND"(%t, %i, %u) : (tensor<8xf32>, tensor<300x1xi64>, tensor<300xf32>) -> tensor<8xf32>
    %7 = "onnx.Sum"(%t, %t, %t) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    onnx.yield %0, %1, %2, %3, %4, %5, %6, %7 : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x40x40xf32>, tensor<1x2x1x1xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
