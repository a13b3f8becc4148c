// RUN: mp-opt %s --split-input-file --onnx-raise-opset=to=18 --verify-diagnostics
// RUN: not mp-opt %s --split-input-file --onnx-raise-opset=to=9 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LOWER
// RUN: not mp-opt %s --split-input-file --onnx-raise-opset=to=999 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN

// LOWER: error: cannot raise opset 10 to 9, which is lower
// UNKNOWN: error: cannot raise opset 10 to 999, which is not known
// Erf-9 takes integers.
module attributes {onnx.opset_import = [["", 10]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi32>):
    // expected-error@below {{node 'erf' (Erf-9): cannot be raised to opset 18: 'input' admits fewer types in Erf-13}}
    %0 = "onnx.Erf"(%x) {onnx.name = "erf"} : (tensor<4x4xi32>) -> tensor<4x4xi32>
    onnx.yield %0 : tensor<4x4xi32>
  }
}

// -----

module attributes {onnx.opset_import = [["", 8]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %v: tensor<4xf32>):
    // expected-error@below {{node 'bn' (BatchNormalization-7): cannot be raised to opset 18: statistics of each feature are gone in BatchNormalization-9}}
    %0:3 = "onnx.BatchNormalization"(%x, %v, %v, %v, %v) {spatial = 0 : i64, onnx.name = "bn"} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    onnx.yield %0#0 : tensor<2x4xf32>
  }
}

// -----

module attributes {onnx.opset_import = [["", 9]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x4xf32>, %v: tensor<4xf32>):
    // expected-error@below {{node 'bn' (BatchNormalization-9): cannot be raised to opset 18: output 'saved' (saved statistics) is gone in BatchNormalization-14}}
    %0:5 = "onnx.BatchNormalization"(%x, %v, %v, %v, %v) {onnx.name = "bn", onnx.results = ["y", "m", "v", "saved", "sv"]} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    onnx.yield %0#3 : tensor<4xf32>
  }
}

// -----

module attributes {onnx.opset_import = [["", 11]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %r: tensor<8xf32>, %s: tensor<4xf32>):
    // expected-error@below {{node 'rs' (Resize-11): cannot be raised to opset 18: coordinate_transformation_mode 'tf_half_pixel_for_nn' is gone in Resize-13}}
    %0 = "onnx.Resize"(%x, %r, %s) {coordinate_transformation_mode = "tf_half_pixel_for_nn", mode = "linear", onnx.name = "rs"} : (tensor<1x1x4x4xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<1x1x?x?xf32>
    onnx.yield %0 : tensor<1x1x?x?xf32>
  }
}

// -----

module attributes {onnx.opset_import = [["", 8]]} {
  onnx.graph {
  ^bb0(%l: tensor<2xi64>, %x: tensor<2x5x3xf32>):
    // expected-error@below {{node 'scan' (Scan-8): cannot be raised to opset 18: input 'sequence_lens' is gone in Scan-9}}
    %0 = "onnx.Scan"(%l, %x) ({
    ^bb0(%e: tensor<3xf32>):
      onnx.yield %e : tensor<3xf32>
    }) {num_scan_inputs = 1 : i64, onnx.name = "scan", onnx.regions = ["body"]} : (tensor<2xi64>, tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
    onnx.yield %0 : tensor<2x5x3xf32>
  }
}

// -----

// A caller may leave the attribute out; a constant must have a value.
module attributes {onnx.opset_import = [["", 11], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    onnx.yield %x : tensor<4x4xf32>
  }
  onnx.function "my" "F" attributes {onnx.opset_import = [["", 11]]} {
  ^bb0(%a: !onnx.unknown):
    // expected-error@below {{node 'sum' (ReduceSum-11): cannot be raised to opset 18: attribute 'axes' may be left out by the function's callers in ReduceSum-13}}
    %0 = "onnx.ReduceSum"(%a) {axes = #onnx.proto<{ref_attr_name = "axes", type = 7 : i64}>, onnx.name = "sum"} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}
