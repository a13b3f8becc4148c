// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --mp-assign=assign=first-operand |  FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --mp-assign=assign=first-operand \
// RUN:   | FileCheck %s --check-prefix=FP16

// allow is low, deny f32, promote the widest, follow the first operand.
// CHECK-LABEL: @classes
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Relu"{{.*}}mp.precision = #mp.precision<bf16, reason = "its first operand is bf16"
// CHECK: "onnx.Softmax"{{.*}}mp.precision = #mp.precision<f32
// CHECK: "onnx.Relu"{{.*}}mp.precision = #mp.precision<f32, reason = "its first operand is f32"
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32, reason = "an operand is f32"
// CHECK: "onnx.Mul"{{.*}}mp.precision = #mp.precision<bf16, reason = "its operands are bf16"
// CHECK: "onnx.Shape"{{.*}}mp.precision = #mp.precision<bf16
// FP16-LABEL: @classes
// FP16: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f16
module @classes attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Relu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Softmax"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Relu"(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Add"(%1, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = "onnx.Mul"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "onnx.Shape"(%5) : (tensor<4x4xf32>) -> tensor<2xi64>
    onnx.yield %4, %6 : tensor<4x4xf32>, tensor<2xi64>
  }
}

// -----

// Constants do not vote. What only depends on them is decided by its users.
// CHECK-LABEL: @constants_do_not_vote
// CHECK: "onnx.Transpose"{{.*}}mp.precision = #mp.precision<bf16, reason = "its users are bf16"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Transpose"{{.*}}mp.precision = #mp.precision<f32, reason = "a user is f32"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Mul"{{.*}}mp.precision = #mp.precision<f32
module @constants_do_not_vote attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %w = onnx.initializer "w" dense<1.5> : tensor<4x4xf32> : tensor<4x4xf32>
    %t = "onnx.Transpose"(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %0 = "onnx.MatMul"(%x, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Add"(%0, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %u = "onnx.Transpose"(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.MatMul"(%1, %u) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.Mul"(%x, %u) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Constants that overflow keep their users f32, also behind data movement and
// for allowed ops; so do those that vanish.
// CHECK-LABEL: @range
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32, reason = "constant '{0}' is out of range", values = ["lowest"]
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<bf16{{.*}}"half_range"
// CHECK: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "constant '{0}' is out of range", values = ["moved"]
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<bf16{{.*}}"vanishing"
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<bf16{{.*}}"infinite"
// FP16-LABEL: @range
// FP16: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32, reason = "constant '{0}' is out of range", values = ["lowest"]
// FP16: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32, reason = "constant '{0}' is out of range", values = ["big"]
// FP16: "onnx.MatMul"{{.*}}mp.precision = #mp.precision<f32, reason = "constant '{0}' is out of range", values = ["moved"]
// FP16: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32, reason = "constant '{0}' is out of range", values = ["eps"]{{.*}}"vanishing"
// FP16: "onnx.Add"{{.*}}mp.precision = #mp.precision<f16{{.*}}"infinite"
module @range attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %lowest = onnx.initializer "lowest" dense<0xFF7FFFFF> : tensor<1xf32> : tensor<1xf32>
    %big = onnx.initializer "big" dense<[70000.0, 1.0, 1.0, 1.0]> : tensor<4xf32> : tensor<4xf32>
    %wide = onnx.initializer "wide" dense<0x7F7FFFFF> : tensor<4x4xf32> : tensor<4x4xf32>
    %eps = "onnx.Constant"() {onnx.results = ["eps"], value_float = 1.0e-12 : f32} : () -> tensor<f32>
    %inf = onnx.initializer "inf" dense<0xFF800000> : tensor<1xf32> : tensor<1xf32>
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Add"(%0, %lowest) : (tensor<4x4xf32>, tensor<1xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Add"(%0, %big) {onnx.name = "half_range"} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %t = "onnx.Transpose"(%wide) {onnx.results = ["moved"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "onnx.MatMul"(%0, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "onnx.Add"(%0, %eps) {onnx.name = "vanishing"} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %5 = "onnx.Add"(%0, %inf) {onnx.name = "infinite"} : (tensor<4x4xf32>, tensor<1xf32>) -> tensor<4x4xf32>
    onnx.yield %1, %2, %3, %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// The schema at the opset in force decides, per type variable. BatchNorm's
// scale and statistics share the variable of its data before opset 15.
// CHECK-LABEL: @legality
// CHECK: "onnx.Conv"{{.*}}mp.precision = #mp.precision<f32, reason = "Conv-11 does not admit bf16, opset 22 does"
// CHECK: "onnx.BatchNormalization"{{.*}}the schema ties it to an operand that keeps its type
// FP16-LABEL: @legality
// FP16: "onnx.Conv"{{.*}}mp.precision = #mp.precision<f16
// FP16: "onnx.BatchNormalization"{{.*}}the schema ties it to an operand that keeps its type
module @legality attributes {onnx.opset_import = [["", 13]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>, %s: tensor<1xf32>):
    %0 = "onnx.Conv"(%x, %w) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %1 = "onnx.BatchNormalization"(%0, %s, %s, %s, %s) : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x4x4xf32>
    onnx.yield %1 : tensor<1x1x4x4xf32>
  }
}

// -----

// Other types and what the model itself has in 16 bit are left alone.
// CHECK-LABEL: @other_types
// CHECK-NOT: mp.precision = #mp.precision<bf16
// FP16-LABEL: @other_types
// FP16-NOT: mp.precision = #mp.precision<f16
module @other_types attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf64>, %y: tensor<4x4xbf16>, %z: tensor<4x4xi32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
    %1 = "onnx.MatMul"(%y, %y) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %2 = "onnx.MatMul"(%z, %z) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    %3 = "onnx.Cast"(%1) {to = 1 : i64} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
    %4 = "onnx.Relu"(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %0, %2, %4 : tensor<4x4xf64>, tensor<4x4xi32>, tensor<4x4xf32>
  }
}

// -----

// Defaults of graph inputs are constants to the decision.
// CHECK-LABEL: @defaults
// FP16-LABEL: @defaults
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<bf16
// CHECK: "onnx.Add"{{.*}}mp.precision = #mp.precision<f32, reason = "constant '{0}' is out of range", values = ["mask"]
module @defaults attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %b: tensor<4xf32>, %mask: tensor<1xf32>):
    %d = onnx.initializer "b" dense<1.5> : tensor<4xf32> overridable : tensor<4xf32>
    %m = onnx.initializer "mask" dense<0xFF7FFFFF> : tensor<1xf32> overridable : tensor<1xf32>
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.Add"(%0, %b) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %2 = "onnx.Add"(%1, %mask) : (tensor<4x4xf32>, tensor<1xf32>) -> tensor<4x4xf32>
    onnx.yield %2 : tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "b"}, {name = "mask"}]}
  }
}
