// RUN: mp-opt %s --split-input-file --mp-set-policy --mp-classify --onnx-raise-opset | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-set-policy=precision=fp16 --mp-classify --onnx-raise-opset \
// RUN:   | FileCheck %s --check-prefix=FP16
// RUN: mp-opt %s --split-input-file --onnx-raise-opset=to=18 \
// RUN:   | FileCheck %s --check-prefix=TO

// Convolutions admit bf16 from opset 22 on. Attributes and inputs that later
// versions added mean the old behaviour where they are absent.
// CHECK: module @conv attributes {{.*}}onnx.model = {ir_version = 10 : i64}, onnx.opset_import = {{\[}}["", 22], ["my", 1]]
// FP16: module @conv attributes {{.*}}onnx.model = {ir_version = 8 : i64}, onnx.opset_import = {{\[}}["", 13], ["my", 1]]
// TO: module @conv attributes {{.*}}onnx.model = {ir_version = 8 : i64}, onnx.opset_import = {{\[}}["", 18], ["my", 1]]
module @conv attributes {onnx.model = {ir_version = 8 : i64}, onnx.opset_import = [["", 13], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>, %s: tensor<4xi64>, %p: tensor<8xi64>):
    %0 = "onnx.Conv"(%x, %w) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
    %1 = "onnx.Reshape"(%0, %s) : (tensor<1x1x4x4xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
    %2 = "onnx.Pad"(%1, %p) : (tensor<?x?x?x?xf32>, tensor<8xi64>) -> tensor<?x?x?x?xf32>
    %3 = "onnx.Shape"(%2) : (tensor<?x?x?x?xf32>) -> tensor<4xi64>
    %4 = "onnx.ReduceMax"(%2) : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
    %5 = onnx.custom "my" "Frob" (%4) : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
    onnx.yield %3, %5 : tensor<4xi64>, tensor<?x?x?x?xf32>
  }
}

// -----

// MatMul admits bf16 at 13 already; a denied node needs nothing.
// CHECK: module @not_needed attributes {{.*}}onnx.opset_import = {{\[}}["", 17]]
module @not_needed attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>):
    %0 = "onnx.MatMul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "onnx.InstanceNormalization"(%0, %0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %1 : tensor<4x4xf32>
  }
}

// -----

// A function whose nodes would differ from the model's is raised with it, one
// whose nodes are the same is not.
// CHECK: module @functions attributes {{.*}}onnx.opset_import = {{\[}}["", 22], ["my", 1]]
// CHECK: onnx.function "my" "Raised" attributes {onnx.opset_import = {{\[}}["", 22]]}
// CHECK: onnx.function "my" "Same" attributes {onnx.opset_import = {{\[}}["", 17]]}
module @functions attributes {onnx.opset_import = [["", 17], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x1x4x4xf32>):
    %0 = "onnx.Conv"(%x, %x) : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x1x1xf32>
    onnx.yield %0 : tensor<1x1x1x1xf32>
  }
  onnx.function "my" "Raised" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%a: !onnx.unknown):
    %0 = "onnx.MaxPool"(%a) {kernel_shape = array<i64: 1, 1>} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "my" "Same" attributes {onnx.opset_import = [["", 17]]} {
  ^bb0(%a: !onnx.unknown):
    %0 = "onnx.Relu"(%a) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// Sizes and axes that became inputs move there: as constants beside the node,
// in graphs, subgraphs and functions alike. Outputs that a node does not have
// may be gone.
// TO: module @moved attributes {{.*}}onnx.opset_import = {{\[}}["", 18], ["my", 1]]
module @moved attributes {onnx.opset_import = [["", 9], ["my", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<1x4x4xf32>, %v: tensor<4xf32>, %c: tensor<i1>):
    // TO: %[[AXES:.*]] = "onnx.Constant"() {onnx.name = "squeeze_axes", onnx.results = ["squeeze_axes"], value = dense<0> : tensor<1xi64>}
    // TO-NEXT: "onnx.Squeeze"(%{{.*}}, %[[AXES]]) {onnx.name = "squeeze"
    %0 = "onnx.Squeeze"(%x) {axes = array<i64: 0>, onnx.name = "squeeze", onnx.results = ["a"]} : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    // TO: %[[STARTS:.*]] = "onnx.Constant"() {{.*}}dense<1> : tensor<2xi64>
    // TO-NOT: onnx.absent
    // TO: "onnx.Slice"(%{{.*}}, %{{.*}}, %{{.*}}) {onnx.name = "slice"
    %1 = "onnx.Slice"(%0) {ends = array<i64: 3, 3>, starts = array<i64: 1, 1>, onnx.name = "slice", onnx.results = ["b"]} : (tensor<4x4xf32>) -> tensor<2x2xf32>
    // TO: "onnx.BatchNormalization"
    %2 = "onnx.BatchNormalization"(%0, %v, %v, %v, %v) {onnx.results = ["n"]} : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    // TO: "onnx.If"
    // TO: %[[BRANCH:.*]] = "onnx.Constant"() {{.*}}dense<2> : tensor<2xi64>
    // TO-NEXT: "onnx.Split"(%{{.*}}, %[[BRANCH]]) {axis = 1 : i64, onnx.results
    %3 = "onnx.If"(%c) ({
      %4:2 = "onnx.Split"(%2) {axis = 1 : i64, split = array<i64: 2, 2>, onnx.results = ["p", "q"]} : (tensor<4x4xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
      onnx.yield %4#0 : tensor<4x2xf32>
    }, {
      %5 = "onnx.Relu"(%2) {onnx.results = ["r"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %5 : tensor<4x4xf32>
    }) {onnx.regions = ["then_branch", "else_branch"], onnx.results = ["j"]} : (tensor<i1>) -> tensor<*xf32>
    onnx.yield %1, %3 : tensor<2x2xf32>, tensor<*xf32>
  }
  // TO: onnx.function "my" "F"
  onnx.function "my" "F" attributes {onnx.opset_import = [["", 9]]} {
  ^bb0(%a: !onnx.unknown):
    // TO: "onnx.Constant"() {{.*}}dense<-1>
    // TO-NEXT: "onnx.ReduceMean"(%{{.*}}, %{{.*}}) {onnx.results = ["m"]}
    %0 = "onnx.ReduceMean"(%a) {axes = array<i64: -1>, onnx.results = ["m"]} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}
