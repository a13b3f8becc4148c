// RUN: mp-opt %s --split-input-file --mp-verify-precision --verify-diagnostics

module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    // expected-error@below {{node 'mm' (MatMul-13): assigned bf16, got operand #0 of type 'tensor<4x4xf32>'}}
    %0 = "onnx.MatMul"(%x, %x) {onnx.name = "mm", mp.precision = #mp.precision<bf16>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0 : tensor<4x4xf32>
  }
}

// -----

module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Cast"(%x) {mp.inserted, to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    // expected-error@below {{node 'sm' (Softmax-13): assigned f32, got operand #0 of type 'tensor<4x4xbf16>'}}
    %1 = "onnx.Softmax"(%0) {onnx.name = "sm", mp.precision = #mp.precision<f32>} : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
    onnx.yield %1 : tensor<4x4xbf16>
  }
}

// -----

module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %r: tensor<f32>):
    %0 = "onnx.Cast"(%r) {mp.inserted, to = 10 : i64} : (tensor<f32>) -> tensor<f16>
    // expected-error@below {{node 'd' (Dropout-13): operand #1 keeps its type, got 'tensor<f16>'}}
    %1 = "onnx.Dropout"(%x, %0) {onnx.name = "d", mp.precision = #mp.precision<f32>} : (tensor<4x4xf32>, tensor<f16>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

// An accumulation buffer behind a cast would never be updated.
module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%buffer: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<1xi1>):
    %0 = "onnx.Cast"(%buffer) {mp.inserted, to = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@below {{node 'acc' (com.microsoft.InPlaceAccumulatorV2-1): operand #0 is updated in place, but is the result of a cast}}
    %1 = "onnx.com.microsoft.InPlaceAccumulatorV2"(%0, %g, %b) {onnx.name = "acc"} : (tensor<4xf32>, tensor<4xf32>, tensor<1xi1>) -> tensor<1xi1>
    onnx.yield %1 : tensor<1xi1>
  }
}

// -----

// expected-error@below {{graph output #0 has type 'tensor<4xbf16>', expected 'tensor<4xf32>'}}
module attributes {mp.policy = #mp.policy<bf16>, mp.input_types = [tensor<4xbf16>], mp.output_types = [tensor<4xf32>], onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xbf16>):
    onnx.yield %x : tensor<4xbf16>
  }
}

// -----

module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.Cast"(%x) {mp.inserted, to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    // expected-error@below {{node 'frob' (my.Frob): operand #0 keeps its type, got 'tensor<4x4xbf16>'}}
    %1 = onnx.custom "my" "Frob" (%0) attributes {onnx.name = "frob"} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%c: tensor<i1>, %x: tensor<4x4xf32>):
    %0 = "onnx.Cast"(%x) {mp.inserted, to = 16 : i64} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %1 = "onnx.If"(%c) ({
      // expected-error@below {{operand #0 keeps its type, got 'tensor<4x4xbf16>'}}
      onnx.yield %0 : tensor<4x4xbf16>
    }, {
      onnx.yield %x : tensor<4x4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"]} : (tensor<i1>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

// The dialect's verifier lets ops of domains that are not imported pass.
module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xbf16>):
    // expected-error@below {{node 'g' (com.microsoft.GeluGrad-1): assigned f32, got a result of type 'tensor<4xbf16>'}}
    %0 = "onnx.com.microsoft.GeluGrad"(%x, %x) {onnx.name = "g", mp.precision = #mp.precision<f32>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xbf16>
    onnx.yield
  }
}

// -----

module attributes {mp.policy = #mp.policy<bf16>, onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x1x1xbf16>):
    // expected-error@below {{node 'g' (com.microsoft.ConvGrad-1): assigned bf16, which its schema does not admit}}
    %0 = "onnx.com.microsoft.ConvGrad"(%x, %x, %x) {onnx.name = "g", mp.precision = #mp.precision<bf16>} : (tensor<1x1x1x1xbf16>, tensor<1x1x1x1xbf16>, tensor<1x1x1x1xbf16>) -> tensor<1x1x1x1xbf16>
    onnx.yield
  }
}
