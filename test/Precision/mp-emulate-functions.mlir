// RUN: mp-opt %s --onnx-specialize-functions --mp-emulate \
// RUN:   --onnx-merge-functions=suffix=f32 | FileCheck %s

// Functions that calls give 16-bit values are emulated like the graph: values
// are rounded where they are computed, and cross the call in f32. One called
// in both ways has a clone for one of them; ops that nobody knows keep types.
// CHECK: ^bb0(%[[X:.*]]: tensor<4xbf16>, %[[Y:.*]]: tensor<4xf32>):
// CHECK: %[[XF:.*]] = "onnx.Cast"(%[[X]]){{.*}} -> tensor<4xf32>
// CHECK: %[[A:.*]] = onnx.custom "loc" "F_f32"(%[[XF]]){{.*}} : (tensor<4xf32>)
// CHECK: onnx.custom "loc" "F"(%[[Y]]){{.*}} : (tensor<4xf32>)
// CHECK: onnx.custom "my" "Op"(%[[X]]) : (tensor<4xbf16>)
// CHECK: onnx.function "loc" "F" attributes
// CHECK-NEXT: ^bb0(%{{.*}}: !onnx.unknown):
// CHECK: onnx.function "loc" "F_f32" attributes
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[E:.*]] = "onnx.Exp"(%[[P]]) {onnx.results = ["e_exact"]} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[N:.*]] = "onnx.Cast"(%[[E]]) {{.*}}to = 16
// CHECK-NEXT: %[[W:.*]] = "onnx.Cast"(%[[N]]) {{.*}}onnx.results = ["e"], to = 1
// CHECK-NEXT: onnx.yield %[[W]]
module attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xbf16>, %y: tensor<4xf32>):
    %0 = onnx.custom "loc" "F"(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
    %1 = onnx.custom "loc" "F"(%y) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = onnx.custom "my" "Op"(%x) : (tensor<4xbf16>) -> tensor<4xf32>
    onnx.yield %0, %1, %2 : tensor<4xbf16>, tensor<4xf32>, tensor<4xf32> {onnx.inputs = [{name = "x"}, {name = "y"}]}
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) {onnx.results = ["e"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}
