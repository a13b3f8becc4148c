// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=prove-optimum=true | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign | FileCheck %s --check-prefix=BF16
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=assign=first-operand | FileCheck %s --check-prefix=FIRST
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=keep-quantized-f32=true | FileCheck %s --check-prefix=KEPT
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=requantized-biases=false | FileCheck %s --check-prefix=BIAS
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=own-scales=true | FileCheck %s --check-prefix=OWN
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=microsoft-pairs=true | FileCheck %s --check-prefix=MICROSOFT

// DequantizeLinear has the type of its users, and QuantizeLinear that of the
// node before it. Nodes between pairs are 16 bit, too; the input of the graph is
// fp32.
// CHECK-LABEL: @chain
// CHECK: "onnx.QuantizeLinear"(%{{.*}}mp.precision = #mp.precision<f32, reason = "operand '{0}' is f32", values = ["x"]>
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f16, reason = "its users are fp16"
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f16, reason = "its users are fp16"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.Relu"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f16, reason = "operand '{0}' is fp16", values = ["r"]>
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "its users are f32"
// FIRST-LABEL: @chain
// FIRST: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
// FIRST: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f16
// FIRST: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32
// FIRST: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32
// FIRST: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f32
// KEPT-LABEL: @chain
// KEPT-NOT: mp.precision<f16
// KEPT: "onnx.MatMul"{{.*}}reason = "its operand is dequantized in f32: the runtime has integer kernels for fp32 pairs only"
// KEPT-NOT: mp.precision<f16
// KEPT-LABEL: @shared
module @chain attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %w = onnx.initializer "w" dense<3> : tensor<4x4xi8> : tensor<4x4xi8>
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %z = onnx.initializer "z" dense<0> : tensor<i8> : tensor<i8>
    %0 = "onnx.QuantizeLinear"(%x, %s, %z) {onnx.results = ["q0"]} : (tensor<4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<4x4xi8>
    %1 = "onnx.DequantizeLinear"(%0, %s, %z) {onnx.results = ["d0"]} : (tensor<4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<4x4xf32>
    %2 = "onnx.DequantizeLinear"(%w, %s, %z) {onnx.results = ["d1"]} : (tensor<4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<4x4xf32>
    %3 = "onnx.MatMul"(%1, %2) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Relu"(%3) {onnx.results = ["r"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.QuantizeLinear"(%4, %s, %z) {onnx.results = ["q1"]} : (tensor<4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<4x4xi8>
    %6 = "onnx.DequantizeLinear"(%5, %s, %z) {onnx.results = ["d2"]} : (tensor<4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<4x4xf32>
    %7 = "onnx.Add"(%6, %6) {onnx.results = ["a"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %8 = "onnx.QuantizeLinear"(%7, %s, %z) {onnx.results = ["q2"]} : (tensor<4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<4x4xi8>
    %9 = "onnx.DequantizeLinear"(%8, %s, %z) {onnx.results = ["y"]} : (tensor<4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<4x4xf32>
    onnx.yield %9 : tensor<4x4xf32> {onnx.inputs = [{name = "x"}]}
  }
}

// -----

// Users of both types keep the node fp32; a second one is made later. Softmax
// and the QuantizeLinear after it are fp32.
// CHECK-LABEL: @shared
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "users want f32 and fp16: it is copied"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.Softmax"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f32
module @shared attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Softmax"(%0) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.QuantizeLinear"(%2, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    onnx.yield %1, %3 : tensor<4x4xf32>, tensor<4x4xui8>
  }
}

// -----

// Below opset 19 the pair is fp32, and so is the product, also if its operand is
// moved first.
// CHECK-LABEL: @old_opset
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "DequantizeLinear-13 does not admit fp16, opset 19 does"
// CHECK: "onnx.Transpose"{{.*}}mp.precision = #mp.precision<f32, reason = "its operand is dequantized in f32: DequantizeLinear-13 does not admit fp16, opset 19 does"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "its operand is dequantized in f32: DequantizeLinear-13
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "its result is quantized in f32: QuantizeLinear-13 does not admit fp16, opset 19 does"
// CHECK: "onnx.Relu"{{.*}}mp.precision = #mp.precision<f32, reason = "its result is quantized in f32: QuantizeLinear-13
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f32
module @old_opset attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Transpose"(%0) {onnx.results = ["t"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%f, %1) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.MatMul"(%f, %f) {onnx.results = ["n"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Relu"(%3) {onnx.results = ["r"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.QuantizeLinear"(%4, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    onnx.yield %2, %5 : tensor<4x4xf32>, tensor<4x4xui8>
  }
}

// -----

// A scale that fp16 makes subnormal keeps its product fp32, except if it is
// exact; bf16 has the range of fp32.
// CHECK-LABEL: @small_scale
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "scale '{0}' is subnormal in fp16", values = ["s"]>
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "its operand is dequantized in f32: scale '{0}' is subnormal in fp16", values = ["s"]>
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "scale '{0}' is not a constant", values = ["v"]>
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "values of scale '{0}' are out of range of fp16", values = ["g"]>
// BF16-LABEL: @small_scale
// BF16: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<bf16
// BF16: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
module @small_scale attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>, %v: tensor<f32>):
    %s = onnx.initializer "s" dense<3.3e-5> : tensor<f32> : tensor<f32>
    %e = onnx.initializer "e" dense<0x37800000> : tensor<f32> : tensor<f32>
    %g = onnx.initializer "g" dense<1.0e3> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.DequantizeLinear"(%x, %e) {onnx.results = ["d1"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %3 = "onnx.MatMul"(%f, %2) {onnx.results = ["m1"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.DequantizeLinear"(%x, %v) {onnx.results = ["d2"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %5 = "onnx.MatMul"(%f, %4) {onnx.results = ["m2"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.DequantizeLinear"(%x, %g) {onnx.results = ["d3"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %7 = "onnx.MatMul"(%f, %6) {onnx.results = ["m3"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %3, %5, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "f"}, {name = "v"}]}
  }
}

// -----

// From opset 23 on, the scale has a type of its own; runtimes that compute that
// need not hold it in 16 bit.
// CHECK-LABEL: @own_scale
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "scale '{0}' is subnormal in fp16"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f32
// OWN-LABEL: @own_scale
// OWN: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f16
// OWN: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
// OWN: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f16
module @own_scale attributes {onnx.opset_import = [["", 23]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>, %v: tensor<f32>):
    %s = onnx.initializer "s" dense<3.3e-5> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.QuantizeLinear"(%1, %v) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    onnx.yield %2 : tensor<4x4xui8>
  }
}

// -----

// A bias that onnxruntime would quantize with a scale that fp16 does not have
// keeps its product fp32; int32 constants need no DequantizeLinear of 16 bit.
// CHECK-LABEL: @biases
// CHECK: "onnx.DequantizeLinear"{{.*}}onnx.results = ["b"]
// CHECK: "onnx.Gemm"{{.*}}mp.precision = #mp.precision<f32, reason = "a runtime that quantizes bias '{0}' with the scales of its product would lose it in fp16", values = ["b"]>
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f16{{.*}}onnx.results = ["c"]
// CHECK: "onnx.Gemm"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "32-bit integers are dequantized in f32"{{.*}}onnx.results = ["v"]
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "its values are out of range of fp16"{{.*}}onnx.results = ["l"]
// BIAS-LABEL: @biases
// BIAS: "onnx.Gemm"{{.*}}mp.precision = #mp.precision<f16
module @biases attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %i: tensor<4xi32>):
    %n = onnx.initializer "n" dense<[1, 2, 3, -100000]> : tensor<4xi32> : tensor<4xi32>
    %w = onnx.initializer "w" dense<3> : tensor<4x4xi8> : tensor<4x4xi8>
    %s = onnx.initializer "s" dense<0.00390625> : tensor<f32> : tensor<f32>
    %t = onnx.initializer "t" dense<0.25> : tensor<f32> : tensor<f32>
    %h = onnx.initializer "h" dense<0.001> : tensor<f32> : tensor<f32>
    %p = onnx.initializer "p" dense<1.0e-6> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.DequantizeLinear"(%w, %h) {onnx.results = ["e"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %2 = "onnx.DequantizeLinear"(%n, %p) {onnx.results = ["b"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %3 = "onnx.Gemm"(%0, %1, %2) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.QuantizeLinear"(%3, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    %5 = "onnx.DequantizeLinear"(%x, %t) {onnx.results = ["f"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %6 = "onnx.DequantizeLinear"(%w, %t) {onnx.results = ["g"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %7 = "onnx.DequantizeLinear"(%n, %p) {onnx.results = ["c"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %8 = "onnx.Gemm"(%5, %6, %7) {onnx.results = ["o"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %9 = "onnx.QuantizeLinear"(%8, %s) {onnx.results = ["r"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    %10 = "onnx.DequantizeLinear"(%i, %t) {onnx.results = ["v"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %11 = "onnx.Gemm"(%5, %6, %10) {onnx.results = ["k"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %12 = "onnx.DequantizeLinear"(%n, %t) {onnx.results = ["z"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %one = onnx.initializer "one" dense<1.0> : tensor<f32> : tensor<f32>
    %13 = "onnx.DequantizeLinear"(%n, %one) {onnx.results = ["l"]} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %14 = "onnx.Gemm"(%5, %6, %13) {onnx.results = ["j"]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    onnx.yield %4, %9, %11, %14 : tensor<4x4xui8>, tensor<4x4xui8>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Movement is part of the pair on both sides: nothing casts between.
// CHECK-LABEL: @moved
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "users want f32 and fp16: it is copied"
// CHECK: "onnx.Transpose"{{.*}}mp.precision = #mp.precision<f32, reason = "users want f32 and fp16: it is copied"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
// CHECK: "onnx.Softmax"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.Transpose"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.QuantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "operand '{0}' is f32", values = ["v"]
module @moved attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Transpose"(%0) {onnx.results = ["t"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%f, %1) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Softmax"(%1) {onnx.results = ["p"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Transpose"(%3) {onnx.results = ["v"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.QuantizeLinear"(%4, %s) {onnx.results = ["q"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xui8>
    %6 = "onnx.MatMul"(%2, %3) {onnx.results = ["n"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %6, %5 : tensor<4x4xf32>, tensor<4x4xui8>
  }
}

// -----

// Denied operators keep the nodes next to them fp32. A comparison is not 16 bit
// only because a dequantized value could be.
// CHECK-LABEL: @compared
// CHECK: "onnx.Greater"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
module @compared attributes {onnx.opset_import = [["", 19]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "onnx.Greater"(%0, %0) {onnx.results = ["g"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %2 = "onnx.MatMul"(%f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %2 : tensor<4x4xi1>, tensor<4x4xf32>
  }
}

// -----

// com.microsoft has a pair of its own, of fp32 and fp16.
// CHECK-LABEL: @microsoft
// CHECK: "onnx.com.microsoft.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "not every runtime takes this form with 16-bit floats"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32
// MICROSOFT-LABEL: @microsoft
// MICROSOFT: "onnx.com.microsoft.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f16
// MICROSOFT: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
// BF16-LABEL: @microsoft
// BF16: "onnx.com.microsoft.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32
module @microsoft attributes {onnx.opset_import = [["", 17], ["com.microsoft", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>):
    %s = onnx.initializer "s" dense<0.25> : tensor<f32> : tensor<f32>
    %z = onnx.initializer "z" dense<0> : tensor<i8> : tensor<i8>
    %0 = "onnx.com.microsoft.DequantizeLinear"(%x, %s, %z) {onnx.results = ["d"]} : (tensor<4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

// A scale of 8 bits keeps its type; output_dtype says that of the result.
// CHECK-LABEL: @power_of_two
// CHECK: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<f32, reason = "the range of scale '{0}' is not known", values = ["s"]>
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32
// BF16-LABEL: @power_of_two
// BF16: "onnx.DequantizeLinear"{{.*}}mp.precision = #mp.precision<bf16
// BF16: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
module @power_of_two attributes {onnx.opset_import = [["", 24]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xi8>, %f: tensor<4x4xf32>, %s: tensor<f8E8M0FNU>):
    %0 = "onnx.DequantizeLinear"(%x, %s) {onnx.results = ["d"], output_dtype = 1 : i64} : (tensor<4x4xi8>, tensor<f8E8M0FNU>) -> tensor<4x4xf32>
    %1 = "onnx.MatMul"(%f, %0) {onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "f"}, {name = "s"}]}
  }
}
