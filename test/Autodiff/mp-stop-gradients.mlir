// RUN: mp-opt %s --split-input-file --mp-stop-gradients 2>/dev/null | FileCheck %s
// RUN: mp-opt %s --split-input-file --mp-stop-gradients="values=g|y" 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=VALUES

// torch's exporter says beside an Identity that it was `detach`; a copy is none.
// CHECK-LABEL: module @metadata
// CHECK: %h = "onnx.Identity"(%x) {mp.stop_gradient,
// CHECK: %g = "onnx.Identity"(%h) {onnx.
// CHECK: "onnx.Relu"(%g)

// The new Identity has the name of what it stands behind.
// VALUES-LABEL: module @metadata
// VALUES: %g_passed = "onnx.Identity"(%h)
// VALUES: %g = "onnx.Identity"(%g_passed) {mp.stop_gradient,
// VALUES: "onnx.Relu"(%g)
module @metadata attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = "onnx.Identity"(%x) {onnx.extra = {metadata_props = [{key = "pkg.torch.onnx.fx_node", value = "%h : [num_users=1] = call_function[target=torch.ops.aten.detach.default](args = (%x,), kwargs = {})"}]}, onnx.results = ["h"]} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Identity"(%0) {onnx.extra = {metadata_props = [{key = "pkg.torch.onnx.fx_node", value = "%g : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%h,), kwargs = {})"}]}, onnx.results = ["g"]} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Relu"(%1) {onnx.results = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %2 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// Without metadata, the names do that torch gives.
// CHECK-LABEL: module @names
// CHECK: %detach_1 = "onnx.Identity"(%x) {mp.stop_gradient,
// CHECK: %h = "onnx.Identity"(%detach_1) {onnx.
// CHECK: %g = "onnx.Identity"(%h) {mp.stop_gradient,
module @names attributes {onnx.model = {producer_name = "pytorch"}, onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = "onnx.Identity"(%x) {onnx.name = "node_detach_1", onnx.results = ["detach_1"]} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Identity"(%0) {onnx.name = "node_h", onnx.results = ["h"]} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Identity"(%1) {onnx.extra = {metadata_props = [{key = "mp-opt.stop_gradient", value = "detach"}]}, onnx.results = ["g"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %2 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "g"}]}
  }
}

// -----

// Values that a step writes into a buffer; other outputs of the graph pass gradients.
// CHECK-LABEL: module @buffers
// CHECK: %h_passed = "onnx.Relu"(%x)
// CHECK: %h = "onnx.Identity"(%h_passed) {mp.stop_gradient,
// CHECK: %g = "onnx.Relu"(%h)
// CHECK: onnx.yield %g
module @buffers attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["h"]} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["g"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %1 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "g"}], onnx.value_info = [{metadata_props = [{key = "pkg.torch.export.graph_signature.OutputSpec.kind", value = "BUFFER_MUTATION"}], name = "h"}]}
  }
}

// -----

// The third argument of a lookup is the row of padding; -1 and none say that
// there is none, as does "none". Of an export without metadata the row of zeros
// tells it.
// CHECK-LABEL: module @padding
// CHECK: %h = "onnx.Gather"(%t, %i) {mp.padding_index = 1 : i64,
// CHECK: %g = "onnx.Gather"(%t, %i) {onnx.
// CHECK: %f = "onnx.Gather"(%t, %i) {mp.padding_index = 0 : i64,
// CHECK: %e = "onnx.Gather"(%u, %i) {onnx.
// CHECK: %d = "onnx.Gather"(%t, %i) {onnx.
module @padding attributes {onnx.model = {producer_name = "pytorch"}, onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%i: tensor<3xi64>):
    %t = onnx.initializer "t" dense<[[0.0, 0.0], [0.1, 0.2], [0.3, 0.4]]> : tensor<3x2xf32> : tensor<3x2xf32>
    %u = onnx.initializer "u" dense<[[0.0, 0.0], [0.0, 0.0], [0.3, 0.4]]> : tensor<3x2xf32> : tensor<3x2xf32>
    %0 = "onnx.Gather"(%t, %i) {onnx.extra = {metadata_props = [{key = "pkg.torch.onnx.fx_node", value = "%h : [num_users=1] = call_function[target=torch.ops.aten.embedding.default](args = (%p_t, %i, 1), kwargs = {})"}]}, onnx.results = ["h"]} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    %1 = "onnx.Gather"(%t, %i) {onnx.extra = {metadata_props = [{key = "pkg.torch.onnx.fx_node", value = "%g : [num_users=1] = call_function[target=torch.ops.aten.embedding.default](args = (%p_t, %i), kwargs = {})"}]}, onnx.results = ["g"]} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    %2 = "onnx.Gather"(%t, %i) {onnx.results = ["f"]} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    %3 = "onnx.Gather"(%u, %i) {onnx.results = ["e"]} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    %d = "onnx.Gather"(%t, %i) {onnx.extra = {metadata_props = [{key = "mp-opt.padding_index", value = "none"}]}, onnx.results = ["d"]} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    %4 = "onnx.Sum"(%0, %1, %2, %3, %d) {onnx.results = ["y"]} : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    onnx.yield %4 : tensor<3x2xf32> {onnx.inputs = [{name = "i"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// The signature names the buffer whose next value a node computes, and a call
// says that a normalization trains which the exporter has written for inference.
// CHECK-LABEL: module @states
// CHECK: %y, %{{.*}}, %{{.*}} = "onnx.BatchNormalization"(%x, %s, %s, %m, %v) {{.*}}training_mode = 1
// CHECK: %u_passed = "onnx.Mul"(%u0, %s)
// CHECK: %u = "onnx.Identity"(%u_passed) {mp.next_buffer = "u0", mp.stop_gradient,
// CHECK: %{{.*}} = "onnx.BatchNormalization"(%{{.*}}, %s, %s, %m, %v) {onnx.
module @states attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<3x2xf32>):
    %s = onnx.initializer "s" dense<1.0> : tensor<2xf32> : tensor<2xf32>
    %m = onnx.initializer "m" dense<0.5> : tensor<2xf32> : tensor<2xf32>
    %v = onnx.initializer "v" dense<2.0> : tensor<2xf32> : tensor<2xf32>
    %u0 = onnx.initializer "u0" dense<0.25> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.BatchNormalization"(%x, %s, %s, %m, %v) {onnx.extra = {metadata_props = [{key = "pkg.torch.onnx.fx_node", value = "%b : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%x, %p_s, %p_s, %b_m, %b_v, True, 0.1, 1e-05), kwargs = {})"}]}, onnx.results = ["y"]} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
    %1 = "onnx.Mul"(%u0, %s) {onnx.results = ["u"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Add"(%0, %1) {onnx.results = ["z"]} : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
    %3 = "onnx.BatchNormalization"(%2, %s, %s, %m, %v) {onnx.extra = {metadata_props = [{key = "pkg.torch.onnx.fx_node", value = "%c : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%z, %p_s, %p_s, %b_m, %b_v, False, 0.1, 1e-05), kwargs = {})"}]}, onnx.results = ["o"]} : (tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
    onnx.yield %3 : tensor<3x2xf32> {onnx.graph = {metadata_props = [{key = "pkg.torch.export.ExportedProgram.graph_signature", value = "\0A# inputs\0Ap_s: PARAMETER target='s'\0Ab_u0: BUFFER target='u0' persistent=True\0A\0A# outputs\0Au: BUFFER_MUTATION target='u0'\0Ao: USER_OUTPUT\0A"}]}, onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "o"}]}
  }
}
