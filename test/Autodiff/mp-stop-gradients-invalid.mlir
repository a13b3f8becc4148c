// RUN: mp-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mp-stop-gradients="values=hidden|gone" -o /dev/null
// RUN: not mp-opt %s --split-input-file --mp-stop-gradients="values=hidde" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NEAREST
// RUN: not mp-opt %s --split-input-file --mp-stop-gradients="values=w" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PARAMETER
// RUN: not mp-opt %s --split-input-file --mp-stop-gradients="values=(" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REGEX

// NEAREST: stop-gradient pattern 'hidde' matches no value that a node computes; did you mean 'hidden'?
// PARAMETER: stop-gradient pattern 'w': no node computes 'w'; --freeze is for parameters
// REGEX: stop-gradient pattern '(': parentheses not balanced

// One alternative of a pattern may miss its value; that is said. So is what the
// exporter has taken away.
module @alternative attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{stop-gradient pattern 'hidden|gone': 'gone' matches nothing}}
  // expected-warning @below {{the exporter has folded 'detach' away before 1 nodes ('out'): gradients pass there; torch.onnx.export(..., optimize=False) keeps it, --stop-gradient=REGEX names such values}}
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %w = onnx.initializer "w" dense<0.5> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.Mul"(%x, %w) {onnx.results = ["hidden"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Relu"(%0) {onnx.extra = {metadata_props = [{key = "pkg.torch.onnx.fx_node", value = "%y : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%detach_2,), kwargs = {})"}]}, onnx.name = "out", onnx.results = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %1 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

module @row attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%i: tensor<3xi64>):
    %t = onnx.initializer "t" dense<0.5> : tensor<3x2xf32> : tensor<3x2xf32>
    // expected-error @below {{node 'lookup' (Gather-13): its metadata name row 3 as padding, expected one of the table 't', which is 'tensor<3x2xf32>'}}
    %0 = "onnx.Gather"(%t, %i) {onnx.extra = {metadata_props = [{key = "mp-opt.padding_index", value = "3"}]}, onnx.name = "lookup", onnx.results = ["hidden"]} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["gone"]} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    onnx.yield %1 : tensor<3x2xf32> {onnx.inputs = [{name = "i"}], onnx.outputs = [{name = "gone"}]}
  }
}

// -----

// x + (y - x) is y, but for where gradients go.
module @straight_through attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{a node adds what 'd' has just subtracted: a straight-through estimator whose 'detach' the exporter has lost trains otherwise; --stop-gradient=REGEX names the difference, export_torch.py keeps it}}
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = "onnx.Round"(%x) {onnx.results = ["hidden"]} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Sub"(%0, %x) {onnx.results = ["d"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Add"(%x, %1) {onnx.results = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %3 = "onnx.Relu"(%2) {onnx.results = ["gone"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %3 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "gone"}]}
  }
}

// -----

// A buffer whose next value the exporter has left out stays as it is.
module @kept attributes {onnx.opset_import = [["", 18]]} {
  // expected-warning @below {{the module updates 'b' in its forward pass, which the exporter has left out: steps keep the value that the model has; export_torch.py keeps the update}}
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %b = onnx.initializer "b" dense<0.25> : tensor<2xf32> : tensor<2xf32>
    %0 = "onnx.Add"(%x, %b) {onnx.results = ["hidden"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["gone"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %1 : tensor<2xf32> {onnx.graph = {metadata_props = [{key = "pkg.torch.export.ExportedProgram.graph_signature", value = "\0A# outputs\0Aadd_1: BUFFER_MUTATION target='b'\0A"}]}, onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "gone"}]}
  }
}

// -----

module @next attributes {onnx.model = {metadata_props = [{key = "mp-opt.next_buffers", value = "[\22b\22]"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{metadata 'mp-opt.next_buffers': expected a JSON object with the name of a value for each buffer}}
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["hidden"]} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["gone"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %1 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "gone"}]}
  }
}

// -----

module @unknown attributes {onnx.model = {metadata_props = [{key = "mp-opt.next_buffers", value = "{\22b\22: \22hiden\22}"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{metadata 'mp-opt.next_buffers': 'hiden' for the buffer 'b' is not a value that a node computes; did you mean 'hidden'?}}
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["hidden"]} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["gone"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %1 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "gone"}]}
  }
}

// -----

module @type attributes {onnx.model = {metadata_props = [{key = "mp-opt.next_buffers", value = "{\22b\22: \22hidden\22}"}]}, onnx.opset_import = [["", 18]]} {
  // expected-error @below {{metadata 'mp-opt.next_buffers': 'hidden' is 'tensor<2xf32>', the buffer 'b' is 'tensor<3xf32>'}}
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %b = onnx.initializer "b" dense<0.25> : tensor<3xf32> : tensor<3xf32>
    %0 = "onnx.Relu"(%x) {onnx.results = ["hidden"]} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "onnx.Relu"(%0) {onnx.results = ["gone"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %1 : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "gone"}]}
  }
}
