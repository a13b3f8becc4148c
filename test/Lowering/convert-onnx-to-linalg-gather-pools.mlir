// RUN: mp-opt %s --convert-onnx-to-linalg=gather-pools --split-input-file | FileCheck %s
// RUN: mp-opt %s --convert-onnx-to-linalg --split-input-file | FileCheck %s --check-prefix=SCATTER

// Windows at borders read the image itself. A window keeps 8 bits, and a cell
// loads those of the four windows that may cover it.
// CHECK-LABEL: module @gathers
// CHECK-NOT: tensor.insert_slice
// CHECK: tensor.extract %arg0
// CHECK: %[[NUMBERS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x5x5xi8>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x9x9xf32>)
// CHECK-COUNT-4: tensor.extract %[[NUMBERS]]
// CHECK-NOT: scf.for
// CHECK: return
// SCATTER-LABEL: module @gathers
// SCATTER: tensor.insert_slice
// SCATTER: scf.for
module @gathers attributes {onnx.opset_import = [["", 21]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x9x9xf32>, %g: tensor<2x3x5x5xf32>):
    %rows = onnx.initializer "rows" dense<[6, 25]> : tensor<2xi64> : tensor<2xi64>
    %all = onnx.initializer "all" dense<[6, 81]> : tensor<2xi64> : tensor<2xi64>
    %image = onnx.initializer "image" dense<[2, 3, 9, 9]> : tensor<4xi64> : tensor<4xi64>
    %begins = onnx.initializer "begins" dense<[[0], [81], [162], [243], [324], [405]]> : tensor<6x1xi64> : tensor<6x1xi64>
    %none = onnx.initializer "none" dense<0.000000e+00> : tensor<f32> : tensor<f32>
    %y, %places = "onnx.MaxPool"(%x) {kernel_shape = array<i64: 3, 3>, onnx.results = ["y", "places"], pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x3x9x9xf32>) -> (tensor<2x3x5x5xf32>, tensor<2x3x5x5xi64>)
    %flat = "onnx.Reshape"(%places, %rows) {onnx.results = ["flat"]} : (tensor<2x3x5x5xi64>, tensor<2xi64>) -> tensor<6x25xi64>
    %own = "onnx.Sub"(%flat, %begins) {onnx.results = ["own"]} : (tensor<6x25xi64>, tensor<6x1xi64>) -> tensor<6x25xi64>
    %zeros = "onnx.Expand"(%none, %all) {onnx.results = ["zeros"]} : (tensor<f32>, tensor<2xi64>) -> tensor<6x81xf32>
    %values = "onnx.Reshape"(%g, %rows) {onnx.results = ["values"]} : (tensor<2x3x5x5xf32>, tensor<2xi64>) -> tensor<6x25xf32>
    %sums = "onnx.ScatterElements"(%zeros, %own, %values) {axis = 1 : i64, onnx.results = ["sums"], reduction = "add"} : (tensor<6x81xf32>, tensor<6x25xi64>, tensor<6x25xf32>) -> tensor<6x81xf32>
    %d = "onnx.Reshape"(%sums, %image) {onnx.results = ["d"]} : (tensor<6x81xf32>, tensor<4xi64>) -> tensor<2x3x9x9xf32>
    onnx.yield %y, %d : tensor<2x3x5x5xf32>, tensor<2x3x9x9xf32> {onnx.inputs = [{name = "x"}, {name = "g"}], onnx.outputs = [{name = "y"}, {name = "d"}]}
  }
}

// -----

// Positions relative to other cells than the first of each plane are scattered.
// CHECK-LABEL: module @other_begins
// CHECK: scf.for
module @other_begins attributes {onnx.opset_import = [["", 21]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x3x9x9xf32>, %g: tensor<2x3x5x5xf32>):
    %rows = onnx.initializer "rows" dense<[6, 25]> : tensor<2xi64> : tensor<2xi64>
    %all = onnx.initializer "all" dense<[6, 81]> : tensor<2xi64> : tensor<2xi64>
    %image = onnx.initializer "image" dense<[2, 3, 9, 9]> : tensor<4xi64> : tensor<4xi64>
    %begins = onnx.initializer "begins" dense<[[0], [81], [162], [243], [324], [324]]> : tensor<6x1xi64> : tensor<6x1xi64>
    %none = onnx.initializer "none" dense<0.000000e+00> : tensor<f32> : tensor<f32>
    %y, %places = "onnx.MaxPool"(%x) {kernel_shape = array<i64: 3, 3>, onnx.results = ["y", "places"], pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<2x3x9x9xf32>) -> (tensor<2x3x5x5xf32>, tensor<2x3x5x5xi64>)
    %flat = "onnx.Reshape"(%places, %rows) {onnx.results = ["flat"]} : (tensor<2x3x5x5xi64>, tensor<2xi64>) -> tensor<6x25xi64>
    %own = "onnx.Sub"(%flat, %begins) {onnx.results = ["own"]} : (tensor<6x25xi64>, tensor<6x1xi64>) -> tensor<6x25xi64>
    %zeros = "onnx.Expand"(%none, %all) {onnx.results = ["zeros"]} : (tensor<f32>, tensor<2xi64>) -> tensor<6x81xf32>
    %values = "onnx.Reshape"(%g, %rows) {onnx.results = ["values"]} : (tensor<2x3x5x5xf32>, tensor<2xi64>) -> tensor<6x25xf32>
    %sums = "onnx.ScatterElements"(%zeros, %own, %values) {axis = 1 : i64, onnx.results = ["sums"], reduction = "add"} : (tensor<6x81xf32>, tensor<6x25xi64>, tensor<6x25xf32>) -> tensor<6x81xf32>
    %d = "onnx.Reshape"(%sums, %image) {onnx.results = ["d"]} : (tensor<6x81xf32>, tensor<4xi64>) -> tensor<2x3x9x9xf32>
    onnx.yield %y, %d : tensor<2x3x5x5xf32>, tensor<2x3x9x9xf32> {onnx.inputs = [{name = "x"}, {name = "g"}], onnx.outputs = [{name = "y"}, {name = "d"}]}
  }
}
