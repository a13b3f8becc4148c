// RUN: mp-opt %s --mp-set-input-ranges="ranges=image:0..255,{a:b:-1e3..+2.5}" \
// RUN:   | FileCheck %s
// RUN: mp-opt %s --mp-set-input-ranges="ranges=image:300..400" \
// RUN:   --mp-annotate-ranges=precision=fp16 | FileCheck %s --check-prefix=SQUARE
// RUN: not mp-opt %s --mp-set-input-ranges="ranges=imag:0..255" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mp-opt %s --mp-set-input-ranges="ranges=image:0-255" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not mp-opt %s --mp-set-input-ranges="ranges=image:0..nan" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not mp-opt %s --mp-set-input-ranges="ranges=image:5..1" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not mp-opt %s --mp-set-input-ranges="ranges=ids:0..1" 2>&1 | FileCheck %s --check-prefix=FLOAT
// RUN: not mp-opt %s --mp-set-input-ranges="ranges=image:0..1,image:0..2" 2>&1 | FileCheck %s --check-prefix=TWICE

// CHECK: onnx.graph attributes {{.*}}mp.input_ranges = {"a:b" = array<f64: -1.000000e+03, 2.500000e+00>, image = array<f64: 0.000000e+00, 2.550000e+02>}
// The square of an input that may reach 400 is not proved to overflow.
// SQUARE: "onnx.Mul"
// SQUARE-NOT: mp.hazard
// UNKNOWN: --input-range=imag:0..255: the model has no input 'imag'; did you mean 'image'?
// FORM: expected NAME:LOW..HIGH with two numbers, such as image:0..255
// ORDER: --input-range=image:5..1: expected the smaller number first, found 5..1
// FLOAT: --input-range=ids:0..1: expected a float input, 'ids' is
// TWICE: --input-range=image:0..2: the input has a range already
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>, %2: tensor<4xi64>):
    %3 = "onnx.Mul"(%0, %0) {onnx.results = ["p"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %3 : tensor<4xf32> {onnx.inputs = [{name = "image"}, {name = "a:b"}, {name = "ids"}]}
  }
}
