// RUN: mp-opt %s --split-input-file --onnx-inline-functions=limit=40 \
// RUN:   -verify-diagnostics

module @recursive attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "f", onnx.results = ["a"]} : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "G"(%p) attributes {onnx.name = "g", onnx.results = ["b"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "G" attributes {onnx.opset_import = [["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    // expected-error @below {{node 'f/g/f' (loc.F): the function calls itself}}
    %0 = onnx.custom "loc" "F"(%p) attributes {onnx.name = "f", onnx.results = ["c"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

module @exponential attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "f", onnx.results = ["a"]} : (tensor<2xf32>) -> !onnx.unknown
    // expected-error @below {{node 'f2' (loc.F): its function and those before have more than 40 nodes, the limit}}
    %1 = onnx.custom "loc" "F"(%0) attributes {onnx.name = "f2", onnx.results = ["b"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "G"(%p) attributes {onnx.results = ["b"]} : (!onnx.unknown) -> !onnx.unknown
    %1 = onnx.custom "loc" "G"(%0) attributes {onnx.results = ["c"]} : (!onnx.unknown) -> !onnx.unknown
    %2 = onnx.custom "loc" "G"(%1) attributes {onnx.results = ["d"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %2 : !onnx.unknown
  }
  onnx.function "loc" "G" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Exp"(%p) {onnx.results = ["b"]} : (!onnx.unknown) -> !onnx.unknown
    %1 = "onnx.Exp"(%0) {onnx.results = ["c"]} : (!onnx.unknown) -> !onnx.unknown
    %2 = "onnx.Exp"(%1) {onnx.results = ["d"]} : (!onnx.unknown) -> !onnx.unknown
    %3 = "onnx.Exp"(%2) {onnx.results = ["e"]} : (!onnx.unknown) -> !onnx.unknown
    %4 = "onnx.Exp"(%3) {onnx.results = ["f"]} : (!onnx.unknown) -> !onnx.unknown
    %5 = "onnx.Exp"(%4) {onnx.results = ["g"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %5 : !onnx.unknown
  }
}

// -----

module @inputs attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    // expected-error @below {{node 'f' (loc.F): expected at most 1 inputs, as the function has, found 2}}
    %0 = onnx.custom "loc" "F"(%x, %x) attributes {onnx.name = "f", onnx.results = ["a"]} : (tensor<2xf32>, tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
}

// -----

module @outputs attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    // expected-error @below {{node 'f' (loc.F): expected at most 1 outputs, as the function has, found 2}}
    %0:2 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "f", onnx.results = ["a", "b"]} : (tensor<2xf32>) -> (!onnx.unknown, !onnx.unknown)
    onnx.yield %0#1 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
}

// -----

module @absent attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    // expected-error @below {{node 'f' (loc.F): output #0 is an input of the function that is not given}}
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "f", onnx.results = ["a"]} : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["loc", 1]]} {
  ^bb0(%p: !onnx.unknown, %q: !onnx.unknown):
    onnx.yield %q : !onnx.unknown
  }
}

// -----

module @subgraphs attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    // expected-error @below {{node 'f' (loc.F): a call with subgraphs cannot be replaced by the function's body}}
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "f", onnx.regions = ["g"], onnx.results = ["a"]} {
      onnx.yield %x : tensor<2xf32> {onnx.inputs = [], onnx.outputs = [{name = "x"}]}
    } : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["loc", 1]]} {
  ^bb0(%p: !onnx.unknown):
    onnx.yield %p : !onnx.unknown
  }
}

// -----

module @newer attributes {onnx.opset_import = [["", 11], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    // expected-error @below {{node 'f' (loc.F): the function has node with output 'b' (Softmax-13), which is another operator at opset 11 of the calling graph}}
    %0 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "f", onnx.results = ["a"]} : (tensor<2xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.opset_import = [["", 13]]} {
  ^bb0(%p: !onnx.unknown):
    %0 = "onnx.Softmax"(%p) {onnx.results = ["b"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

module @older attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<2x?xf32>):
    %0 = onnx.custom "loc" "F"(%x) attributes {axes = array<i64: 0>, onnx.name = "f", onnx.results = ["a"]} : (tensor<2x?xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" attributes {onnx.extra = {attribute = ["axes"]}, onnx.opset_import = [["", 11]]} {
  ^bb0(%p: !onnx.unknown):
    // expected-error @below {{node with output 'b' (Squeeze-11): cannot be raised to opset 17, the model's}}
    %0 = "onnx.Squeeze"(%p) {axes = #onnx.proto<{ref_attr_name = "axes", type = 7 : i64}>, onnx.results = ["b"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}
