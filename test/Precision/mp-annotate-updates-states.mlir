// RUN: mp-opt %s --split-input-file --mp-annotate-updates | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-annotate-updates --mp-set-policy="precision=fp16 allow=Add,Sub,Mul,Pow" --mp-classify \
// RUN:   | FileCheck %s --check-prefix=CLASS

// What feeds only the step belongs to it: the decays of a state and of a
// parameter, and powers of the count. What the gradient needs does not.
// CHECK-LABEL: @step
// CHECK: "onnx.Mul"({{.*}}onnx.results = ["forward"]
// CHECK-NOT: mp.hazard
// CHECK: mp.gradient
// CHECK: "onnx.Mul"({{.*}}mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.results = ["kept"]
// CHECK: "onnx.Mul"({{.*}}mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.results = ["state_next"]
// CHECK: "onnx.Pow"({{.*}}mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.results = ["power"]
// CHECK: "onnx.Mul"({{.*}}mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.results = ["decay"]
// CHECK: "onnx.Sub"({{.*}}mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.results = ["w_next"]
// CLASS-LABEL: @step
// CLASS: mp.class = #mp.class<allow, {{.*}}onnx.results = ["forward"]
// CLASS: mp.class = #mp.class<deny, {{.*}}onnx.results = ["kept"]
// CLASS: mp.class = #mp.class<deny, {{.*}}onnx.results = ["decay"]
module @step attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %w: tensor<2xf32>, %state: tensor<2xf32>, %count: tensor<f32>):
    %beta = onnx.initializer "beta" dense<0.9> : tensor<f32> : tensor<f32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["forward"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Add"(%0, %x) {onnx.results = ["backward"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %g = mp.gradient %1 of %w : tensor<2xf32>, tensor<2xf32>
    %2 = "onnx.Mul"(%state, %beta) {onnx.results = ["kept"]} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %3 = "onnx.Mul"(%2, %g) {onnx.results = ["state_next"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %4 = "onnx.Pow"(%beta, %count) {onnx.results = ["power"]} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %5 = "onnx.Mul"(%w, %4) {onnx.results = ["decay"]} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %6 = "onnx.Sub"(%5, %3) {onnx.results = ["w_next"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %7 = mp.update %w to %6 : tensor<2xf32>
    %8 = mp.update %state to %3 : tensor<2xf32>
    onnx.yield %0, %7, %8 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// Statistics that the forward pass updates are not of the optimizer, and
// without gradients nothing is.
// CHECK-LABEL: @no_gradient
// CHECK-NOT: mp.hazard
module @no_gradient attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %mean: tensor<2xf32>):
    %0 = "onnx.Add"(%mean, %x) {onnx.results = ["mean_next"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = mp.update %mean to %0 : tensor<2xf32>
    onnx.yield %1 : tensor<2xf32>
  }
}

// -----

// A branch captures a decay, and is of the step itself.
// CHECK-LABEL: @captured
// CHECK: "onnx.Mul"({{.*}}mp.added, mp.hazard = #mp.hazard<"part of the optimizer's step">, onnx.results = ["kept"]
// CHECK: "onnx.If"
// CHECK-NEXT: "onnx.Sub"({{.*}}mp.hazard = #mp.hazard<"part of the optimizer's step">
// CHECK: mp.hazard = #mp.hazard<"part of the optimizer's step">, {{.*}}onnx.results = ["chosen"]
module @captured attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<2xf32>, %d: tensor<2xf32>, %flag: tensor<i1>):
    %g = mp.gradient %d of %w : tensor<2xf32>, tensor<2xf32>
    %0 = "onnx.Mul"(%w, %w) {onnx.results = ["kept"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.If"(%flag) ({
      %2 = "onnx.Sub"(%0, %g) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      onnx.yield %2 : tensor<2xf32>
    }, {
      onnx.yield %0 : tensor<2xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["chosen"]} : (tensor<i1>) -> tensor<2xf32>
    %3 = mp.update %w to %1 : tensor<2xf32>
    onnx.yield %3 : tensor<2xf32>
  }
}
