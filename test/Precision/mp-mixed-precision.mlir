// RUN: mp-opt %s --split-input-file --mp-mixed-precision | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-mixed-precision="precision=fp16 loss-scale=none" \
// RUN:   | FileCheck %s --check-prefix=FP16
// RUN: mp-opt %s --split-input-file --mp-mixed-precision=deny=Conv,MatMul,com.microsoft.FusedMatMul \
// RUN:   | FileCheck %s --check-prefix=DENIED
// RUN: mp-opt %s --split-input-file --mp-mixed-precision=raise-opset=false \
// RUN:   | FileCheck %s --check-prefix=KEPT
//
// Twice is once: the second run inserts nothing.
// RUN: mp-opt %s --split-input-file --mp-mixed-precision | grep -v 'module @' > %t.once
// RUN: mp-opt %s --split-input-file --mp-mixed-precision \
// RUN:   | mp-opt - --split-input-file --mp-mixed-precision > %t.again
// RUN: grep -v 'module @' %t.again | diff %t.once -
// RUN: FileCheck %s --check-prefix=AGAIN --input-file=%t.again
// AGAIN-COUNT-4: casts_inserted = 0 : i64, casts_removed = 0 : i64

// CHECK-LABEL: @inference
// CHECK-SAME: mp.summary = {casts_inserted = 3 : i64, casts_removed = 1 : i64, cost_bytes = 560 : i64, nodes_f32 = 3 : i64, nodes_low = 2 : i64, nodes_other = 0 : i64, precision = "bf16"}
// CHECK-NEXT: onnx.graph
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4x4xf32>):
// CHECK-NEXT: %[[LOW:.*]] = "onnx.Cast"(%[[X]])
// CHECK-NEXT: %[[W:.*]] = onnx.initializer "w" {{.*}} : tensor<4x4xbf16>
// CHECK: %[[T:.*]] = "onnx.Transpose"(%[[W]])
// CHECK-NEXT: %[[A:.*]] = "onnx.MatMul"(%[[LOW]], %[[T]])
// CHECK-NEXT: %[[AF:.*]] = "onnx.Cast"(%[[A]])
// CHECK-NEXT: "onnx.Softmax"(%[[AF]])
// CHECK-NOT: mp.
// DENIED-LABEL: @inference
// DENIED: onnx.graph
// DENIED-NOT: bf16
// DENIED-LABEL: @users_casts
module @inference attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %w = onnx.initializer "w" dense<2.0> : tensor<4x4xf32> : tensor<4x4xf32>
    %b = onnx.initializer "b" dense<2.0> : tensor<4xf32> : tensor<4xf32>
    %t = "onnx.Transpose"(%w) {onnx.results = ["t"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %t) {onnx.results = ["a"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Softmax"(%0) {onnx.results = ["s"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Add"(%1, %0) {onnx.results = ["c"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Add"(%0, %b) {onnx.results = ["d"]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    onnx.yield %2, %3 : tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// A cast of the model's own between f32 ops changes no decision.
// CHECK-LABEL: @users_casts
// CHECK-SAME: casts_inserted = 0
// CHECK: "onnx.Add"({{.*}} -> tensor<4xf32>
module @users_casts attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xbf16>):
    %0 = "onnx.Exp"(%x) {onnx.results = ["a"]} : (tensor<4xbf16>) -> tensor<4xbf16>
    %1 = "onnx.Cast"(%0) {onnx.results = ["b"], to = 1 : i64} : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = "onnx.Add"(%1, %1) {onnx.results = ["c"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "onnx.Cast"(%2) {onnx.results = ["d"], to = 16 : i64} : (tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield %3 : tensor<4xbf16>
  }
}

// -----

// CHECK-LABEL: @raised
// CHECK-SAME: {{\[}}["", 22]]
// CHECK: "onnx.Conv"({{.*}} -> tensor<1x1x1x1xbf16>
// KEPT-LABEL: @raised
// KEPT-SAME: {{\[}}["", 17]]
// KEPT: "onnx.Conv"({{.*}} -> tensor<1x1x1x1xf32>
module @raised attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>):
    %0 = "onnx.Conv"(%x, %x) {onnx.results = ["y"]} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    onnx.yield %0 : tensor<1x1x1x1xf32>
  }
}

// -----

// In a training graph parameters stay f32 and are cast at use, gradients reach
// the accumulator in f32, and nothing stands before what is updated in place.
// CHECK-LABEL: @training
// CHECK: ^bb0(%[[X:.*]]: tensor<?x4xf32>, %[[W:.*]]: tensor<4x4xf32>, %[[BUFFER:.*]]: tensor<4x4xf32>, %[[RESET:.*]]: tensor<1xi1>):
// CHECK-DAG: %[[XL:.*]] = "onnx.Cast"(%[[X]]){{.*}}to = 16
// CHECK-DAG: %[[WL:.*]] = "onnx.Cast"(%[[W]]){{.*}}to = 16
// CHECK: %[[TL:.*]] = "onnx.Transpose"(%[[WL]]){{.*}} -> tensor<4x4xbf16>
// CHECK: "onnx.MatMul"(%[[XL]], %[[TL]])
// CHECK: %[[G:.*]] = "onnx.com.microsoft.FusedMatMul"(%[[XL]],
// CHECK-NEXT: %[[GF:.*]] = "onnx.Cast"(%[[G]]){{.*}}to = 1
// CHECK-NEXT: "onnx.com.microsoft.InPlaceAccumulatorV2"(%[[BUFFER]], %[[GF]], %[[RESET]])
// FP16-LABEL: @training
// FP16: "onnx.com.microsoft.InPlaceAccumulatorV2"({{.*}}(tensor<4x4xf32>, tensor<4x4xf32>, tensor<1xi1>)
module @training attributes {onnx.opset_import = [["", 17], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %w: tensor<4x4xf32>, %buffer: tensor<4x4xf32>, %reset: tensor<1xi1>):
    %t = "onnx.Transpose"(%w) {onnx.results = ["t"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %t) {onnx.results = ["a"]} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %1 = "onnx.com.microsoft.FusedMatMul"(%x, %0) {onnx.results = ["g"], transA = 1 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%buffer, %1, %reset) {onnx.results = ["f"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %2 : tensor<1xi1> {onnx.inputs = [{name = "x"}, {name = "w"}, {name = "buffer"}, {name = "reset"}]}
  }
}
