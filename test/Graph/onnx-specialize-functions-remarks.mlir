// RUN: mp-opt %s --split-input-file --onnx-specialize-functions \
// RUN:   --remarks-filter=mp-precision --remark-format=emitRemark \
// RUN:   --verify-diagnostics -o %t
// RUN: FileCheck %s --input-file=%t

// A function that calls itself, and two that call each other.
// CHECK-LABEL: module @recursive
// CHECK-COUNT-4: onnx.function "loc"
// CHECK-NOT: onnx.function
module @recursive attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    // expected-remark@below {{[Missed] precision | Category:mp-precision | From=f32, Node="node 'self' (loc.Self)", Reason="function call: the function calls itself", To=f32}}
    %0 = onnx.custom "loc" "Self"(%x) attributes {onnx.name = "self"} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-remark@below {{Node="node 'ping' (loc.Ping)", Reason="function call: the function calls itself"}}
    %1 = onnx.custom "loc" "Ping"(%x) attributes {onnx.name = "ping"} : (tensor<4xf32>) -> tensor<4xf32>
    // Nothing wrong with the caller of such a function.
    %2 = onnx.custom "loc" "Caller"(%x) attributes {onnx.name = "caller"} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  onnx.function "loc" "Self" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "Self"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Ping" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "Pong"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Pong" {
  ^bb0(%p: !onnx.unknown):
    %0 = onnx.custom "loc" "Ping"(%p) : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  // CHECK: onnx.function "loc" "Caller_1"
  onnx.function "loc" "Caller" {
  ^bb0(%p: !onnx.unknown):
    // expected-remark@below {{Node="node 'inner' (loc.Ping)", Reason="function call: the function calls itself"}}
    %0 = onnx.custom "loc" "Ping"(%p) attributes {onnx.name = "inner"} : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
}

// -----

// Calls that do not fit the function; what its body makes of their types.
// CHECK-LABEL: module @unfit
// CHECK-COUNT-1: mp.callee
// CHECK-NOT: mp.callee
module @unfit attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %d: tensor<4xf64>):
    // expected-remark@below {{Reason="function call: it has more inputs than the function"}}
    %0 = onnx.custom "loc" "F"(%x, %x, %x) attributes {onnx.name = "a"} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
    // expected-remark@below {{Reason="function call: it has more outputs than the function"}}
    %1:2 = onnx.custom "loc" "F"(%x, %x) attributes {onnx.name = "b"} : (tensor<4xf32>, tensor<4xf32>) -> (!onnx.unknown, !onnx.unknown)
    // expected-remark@below {{Reason="function call: node 'add' (Add-14): input #1 ('B') has type 'tensor<4xf64>', but 'T' is already 'tensor<4xf32>'"}}
    %2 = onnx.custom "loc" "F"(%x, %d) attributes {onnx.name = "c"} : (tensor<4xf32>, tensor<4xf64>) -> !onnx.unknown
    // The second time it is known.
    // expected-remark@below {{Reason="function call: node 'add'}}
    %3 = onnx.custom "loc" "F"(%x, %d) attributes {onnx.name = "d"} : (tensor<4xf32>, tensor<4xf64>) -> !onnx.unknown
    // expected-remark@below {{Reason="function call: result #0 is tensor<4xf64>, but the function yields tensor<4xf32>"}}
    %4 = onnx.custom "loc" "F"(%x, %x) attributes {onnx.name = "e"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>
    // That was about this one call.
    %8 = onnx.custom "loc" "F"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // expected-remark@below {{Reason="function call: input #0 has another type in the function"}}
    %5 = onnx.custom "loc" "Half"(%x) attributes {onnx.name = "f"} : (tensor<4xf32>) -> !onnx.unknown
    // expected-remark@below {{Reason="function call: it has subgraphs"}}
    %6 = onnx.custom "loc" "F"(%x, %x) attributes {onnx.name = "g", onnx.regions = ["body"]} {
      onnx.yield
    } : (tensor<4xf32>, tensor<4xf32>) -> !onnx.unknown
    // An input of the function that it cannot do without.
    // expected-remark@below {{Reason="function call: node 'add' (Add-14): input #1 ('B') is not optional, but absent"}}
    %7 = onnx.custom "loc" "F"(%x) attributes {onnx.name = "h"} : (tensor<4xf32>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "F" {
  ^bb0(%p: !onnx.unknown, %q: !onnx.unknown):
    %0 = "onnx.Add"(%p, %q) {onnx.name = "add"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Half" {
  ^bb0(%p: tensor<*xf16>):
    onnx.yield %p : tensor<*xf16>
  }
}

// -----

// What stands against the inner call leaves the outer one its clone, without
// the types behind it.
// CHECK-LABEL: module @inner
// CHECK: onnx.function "loc" "Outer_1"
// CHECK: %[[E:.*]] = "onnx.Exp"
// CHECK: %[[F:.*]] = onnx.custom "loc" "F"(%[[E]], %{{.*}}) attributes {onnx.name = "f"} : (tensor<4xf32>, tensor<4xf64>) -> !onnx.unknown
module @inner attributes {onnx.opset_import = [["", 17], ["loc", 1]]} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>, %d: tensor<4xf64>):
    %0 = onnx.custom "loc" "Outer"(%x, %d) : (tensor<4xf32>, tensor<4xf64>) -> !onnx.unknown
    onnx.yield %0 : !onnx.unknown
  }
  onnx.function "loc" "Outer" {
  ^bb0(%p: !onnx.unknown, %q: !onnx.unknown):
    %0 = "onnx.Exp"(%p) : (!onnx.unknown) -> !onnx.unknown
    // expected-remark@below {{Node="node 'f' (loc.F)", Reason="function call: node 'add'}}
    %1 = onnx.custom "loc" "F"(%0, %q) attributes {onnx.name = "f"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
  onnx.function "loc" "F" {
  ^bb0(%p: !onnx.unknown, %q: !onnx.unknown):
    %0 = "onnx.Exp"(%p) : (!onnx.unknown) -> !onnx.unknown
    %1 = "onnx.Add"(%0, %q) {onnx.name = "add"} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.yield %1 : !onnx.unknown
  }
}
