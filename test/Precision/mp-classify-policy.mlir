// RUN: mp-opt %s --mp-set-policy=policy=%S/Inputs/nodes.yaml --mp-classify | FileCheck %s

// Rules for nodes: regions, conditions, metadata. The place of the rule is in
// requested_by, on nodes of which the user speaks.

// CHECK-LABEL: onnx.graph
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<4x4xf32>, %image: tensor<1x4x8x8xf32>, %w: tensor<4x2x3x3xf32>, %v: tensor<4x4x3x3xf32>, %n: tensor<i64>, %c: tensor<i1>):
    // A region has what lies on a path between its ends, and no more.
    // CHECK: mp.class = #mp.class<deny, reason = "node override", requested_by = "{{.*}}nodes.yaml:3", override>, onnx.name = "left1"
    %l1 = "onnx.MatMul"(%x, %x) {onnx.name = "left1", onnx.results = ["l1"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<allow, reason = "built-in list"{{.*}}>, onnx.name = "right1"
    %r1 = "onnx.MatMul"(%x, %x) {onnx.name = "right1", onnx.results = ["r1"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "between"
    %b = "onnx.MatMul"(%l1, %r1) {onnx.name = "between", onnx.results = ["b"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "left2"
    %l2 = "onnx.MatMul"(%b, %x) {onnx.name = "left2", onnx.results = ["l2"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<allow, reason = "built-in list"{{.*}}>, onnx.name = "after"
    %a = "onnx.MatMul"(%l2, %x) {onnx.name = "after", onnx.results = ["start"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>

    // Through a loop's state and a value that its body captures; what makes
    // the value `start` is outside, and so is what the body does for itself.
    // CHECK: onnx.Loop
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "captures"
    // CHECK: mp.class = #mp.class<allow, reason = "built-in list"{{.*}}>, onnx.name = "aside"
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "loop"
    %loop = "onnx.Loop"(%n, %c, %x) ({
    ^bb0(%i: tensor<i64>, %go: tensor<i1>, %s: tensor<4x4xf32>):
      %m = "onnx.MatMul"(%s, %a) {onnx.name = "captures", onnx.results = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %k = "onnx.MatMul"(%x, %x) {onnx.name = "aside", onnx.results = ["k"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      onnx.yield %go, %m : tensor<i1>, tensor<4x4xf32>
    }) {onnx.name = "loop", onnx.regions = ["body"], onnx.results = ["last"]} : (tensor<i64>, tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "end"
    %out = "onnx.Relu"(%loop) {onnx.name = "end", onnx.results = ["out"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>

    // Conditions on attributes, with their defaults, and on shapes.
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "grouped"
    %g = "onnx.Conv"(%image, %w) {onnx.name = "grouped", group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>
    // CHECK: mp.class = #mp.class<allow, reason = "built-in list"{{.*}}>, onnx.name = "plain"
    %p = "onnx.Conv"(%image, %v) {onnx.name = "plain"} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>, onnx.name = "pool3"
    %q = "onnx.MaxPool"(%p) {onnx.name = "pool3", kernel_shape = array<i64: 3, 3>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x4x4xf32>
    // CHECK: mp.class = #mp.class<follow, reason = "on no list"{{.*}}>, onnx.name = "pool2"
    %q2 = "onnx.MaxPool"(%q) {onnx.name = "pool2", kernel_shape = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x3x3xf32>
    // CHECK: mp.class = #mp.class<allow, reason = "node override"{{.*}}, override>, onnx.name = "default_axis"
    %sm = "onnx.Softmax"(%out) {onnx.name = "default_axis"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<deny, reason = "built-in list: {{.*}}>, onnx.name = "other_rank"
    %sm2 = "onnx.Softmax"(%g) {onnx.name = "other_rank"} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
    // CHECK: mp.class = #mp.class<promote, reason = "node override"{{.*}}, override>, onnx.name = "big"
    %big = "onnx.Gemm"(%x, %x) {onnx.name = "big"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>

    // Metadata: what a rule looks for, what the node itself asks for. A name
    // beats the rest.
    // CHECK: mp.class = #mp.class<deny, reason = "node override"{{.*}}, override>{{.*}}onnx.name = "in_head"
    %h = "onnx.Sigmoid"(%big) {onnx.name = "in_head", onnx.extra = {metadata_props = [{key = "block", value = "head"}]}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<allow, reason = "node override", requested_by = "metadata 'mp.wants'", override>{{.*}}onnx.name = "asks"
    %k = "onnx.Exp"(%x) {onnx.name = "asks", onnx.extra = {metadata_props = [{key = "mp.wants", value = "bf16"}]}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: mp.class = #mp.class<follow, reason = "node override"{{.*}}, override>{{.*}}onnx.name = "named"
    %o = "onnx.Exp"(%x) {onnx.name = "named", onnx.extra = {metadata_props = [{key = "block", value = "head"}]}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    onnx.yield %sm, %q2, %sm2, %h, %k, %o : tensor<4x4xf32>, tensor<1x4x3x3xf32>, tensor<1x4x6x6xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32> {onnx.inputs = [{name = "x"}, {name = "image"}, {name = "w"}, {name = "v"}, {name = "n"}, {name = "c"}]}
  }
}
