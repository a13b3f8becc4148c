// RUN: mp-opt %s --split-input-file --mp-emulate --verify-diagnostics

// What keeps its type and cannot be cast.
module attributes {onnx.opset_import = [["", 17]]} {
  // expected-error@below {{graph input 's' of type '!onnx.seq<tensor<2xf16>>' cannot be emulated}}
  onnx.graph {
  ^bb0(%s: !onnx.seq<tensor<2xf16>>):
    onnx.yield {onnx.inputs = [{name = "s"}]}
  }
}

// -----

module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf16>):
    %0 = "onnx.SequenceConstruct"(%x) : (tensor<2xf16>) -> !onnx.seq<tensor<2xf16>>
    // expected-error@below {{operand #0 of type '!onnx.seq<tensor<2xf16>>' cannot be emulated}}
    onnx.yield %0 : !onnx.seq<tensor<2xf16>>
  }
}
