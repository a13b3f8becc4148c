// RUN: mp-opt %s | FileCheck %s
// RUN: mp-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: mp-opt %s --mlir-print-op-generic | mp-opt - | FileCheck %s
// RUN: mp-opt %s --emit=bytecode | mp-opt - | FileCheck %s

// The identity of a node and the marks of passes are properties; the generic
// form shows which, otherwise they are attributes among the others.
onnx.graph {
^bb0(%x: tensor<?x4xf32>):
  // CHECK: "onnx.Softmax"(%{{.*}}) {axis = 1 : i64, mp.class = #mp.class<deny{{.*}}>, onnx.name = "s", onnx.results = ["y"], other.mark} :
  // GENERIC: "onnx.Softmax"(%{{.*}}) <{mp.class = #mp.class<deny{{.*}}>, onnx.name = "s", onnx.results = ["y"]}> {axis = 1 : i64, other.mark} :
  %0 = "onnx.Softmax"(%x) {onnx.results = ["y"], other.mark, axis = 1 : i64, mp.class = #mp.class<deny>, onnx.name = "s"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: "onnx.Relu"(%{{.*}}) :
  // GENERIC: "onnx.Relu"(%{{.*}}) :
  %1 = "onnx.Relu"(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.yield %1 : tensor<?x4xf32>
}
