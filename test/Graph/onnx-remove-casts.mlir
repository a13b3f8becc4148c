// RUN: mp-opt %s --split-input-file --onnx-remove-casts | FileCheck %s

// Casts to the type that the operand has, of any type.
// CHECK-LABEL: @same_type
// CHECK: ^bb0(%[[X:.*]]: tensor<2xf32>, %[[N:.*]]: tensor<2xi64>):
// CHECK-NEXT: %[[Y:.*]] = "onnx.Relu"(%[[X]])
// CHECK-NEXT: %[[M:.*]] = "onnx.Neg"(%[[N]])
// CHECK-NEXT: onnx.yield %[[Y]], %[[M]]
module @same_type attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %n: tensor<2xi64>):
    %a = "onnx.Cast"(%x) {onnx.results = ["a"], to = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %b = "onnx.Cast"(%a) {onnx.results = ["b"], to = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %y = "onnx.Relu"(%b) {onnx.results = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    %c = "onnx.Cast"(%n) {onnx.results = ["c"], to = 7 : i64} : (tensor<2xi64>) -> tensor<2xi64>
    %m = "onnx.Neg"(%c) {onnx.results = ["m"]} : (tensor<2xi64>) -> tensor<2xi64>
    onnx.yield %y, %m : tensor<2xf32>, tensor<2xi64> {onnx.inputs = [{name = "x"}, {name = "n"}], onnx.outputs = [{name = "y"}, {name = "m"}]}
  }
}

// -----

// A cast that is an output gives it its name; other users need no cast.
// CHECK-LABEL: @output
// CHECK: %[[A:.*]] = "onnx.Cast"(%[[X:.*]]) {onnx.results = ["a"]
// CHECK-NEXT: %[[Y:.*]] = "onnx.Relu"(%[[X]])
// CHECK-NEXT: onnx.yield %[[A]], %[[Y]]
module @output attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %a = "onnx.Cast"(%x) {onnx.results = ["a"], to = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %y = "onnx.Relu"(%a) {onnx.results = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %a, %y : tensor<2xf32>, tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "a"}, {name = "y"}]}
  }
}

// -----

// Casts back to the type before a wider one; the wider value has users.
// CHECK-LABEL: @back
// CHECK: ^bb0(%[[X:.*]]: tensor<2xf32>, %[[I:.*]]: tensor<2xi32>, %[[H:.*]]: tensor<2xf16>):
// CHECK-NEXT: %[[W:.*]] = "onnx.Cast"(%[[X]]) {{.*}}to = 11 : i64}
// CHECK-NEXT: %[[E:.*]] = "onnx.Exp"(%[[W]])
// CHECK-NEXT: %[[R:.*]] = "onnx.Relu"(%[[X]])
// CHECK-NEXT: %[[N:.*]] = "onnx.Neg"(%[[I]])
// CHECK-NEXT: %[[A:.*]] = "onnx.Abs"(%[[H]])
// CHECK-NEXT: onnx.yield %[[E]], %[[R]], %[[N]], %[[A]]
module @back attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %i: tensor<2xi32>, %h: tensor<2xf16>):
    %w = "onnx.Cast"(%x) {onnx.results = ["w"], to = 11 : i64} : (tensor<2xf32>) -> tensor<2xf64>
    %e = "onnx.Exp"(%w) {onnx.results = ["e"]} : (tensor<2xf64>) -> tensor<2xf64>
    %b = "onnx.Cast"(%w) {onnx.results = ["b"], to = 1 : i64} : (tensor<2xf64>) -> tensor<2xf32>
    %r = "onnx.Relu"(%b) {onnx.results = ["r"]} : (tensor<2xf32>) -> tensor<2xf32>
    %l = "onnx.Cast"(%i) {onnx.results = ["l"], to = 7 : i64} : (tensor<2xi32>) -> tensor<2xi64>
    %s = "onnx.Cast"(%l) {onnx.results = ["s"], to = 6 : i64} : (tensor<2xi64>) -> tensor<2xi32>
    %n = "onnx.Neg"(%s) {onnx.results = ["n"]} : (tensor<2xi32>) -> tensor<2xi32>
    %k = "onnx.Cast"(%h) {onnx.results = ["k"], to = 1 : i64} : (tensor<2xf16>) -> tensor<2xf32>
    %m = "onnx.Cast"(%k) {onnx.results = ["m"], to = 10 : i64} : (tensor<2xf32>) -> tensor<2xf16>
    %a = "onnx.Abs"(%m) {onnx.results = ["a"]} : (tensor<2xf16>) -> tensor<2xf16>
    onnx.yield %e, %r, %n, %a : tensor<2xf64>, tensor<2xf32>, tensor<2xi32>, tensor<2xf16> {onnx.inputs = [{name = "x"}, {name = "i"}, {name = "h"}], onnx.outputs = [{name = "e"}, {name = "r"}, {name = "n"}, {name = "a"}]}
  }
}

// -----

// Two casts in a row are one if the first loses nothing.
// CHECK-LABEL: @row
// CHECK: ^bb0(%[[B:.*]]: tensor<2xi1>):
// CHECK-NEXT: %[[F:.*]] = "onnx.Cast"(%[[B]]) {onnx.results = ["f"], to = 1 : i64} : (tensor<2xi1>) -> tensor<2xf32>
// CHECK-NEXT: onnx.yield %[[F]]
module @row attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%b: tensor<2xi1>):
    %i = "onnx.Cast"(%b) {onnx.results = ["i"], to = 6 : i64} : (tensor<2xi1>) -> tensor<2xi32>
    %l = "onnx.Cast"(%i) {onnx.results = ["l"], to = 7 : i64} : (tensor<2xi32>) -> tensor<2xi64>
    %f = "onnx.Cast"(%l) {onnx.results = ["f"], to = 1 : i64} : (tensor<2xi64>) -> tensor<2xf32>
    onnx.yield %f : tensor<2xf32> {onnx.inputs = [{name = "b"}], onnx.outputs = [{name = "f"}]}
  }
}

// -----

// Narrowing rounds, truncates or wraps, and stays. fp32 does not hold int32,
// int32 not uint32, and fp16 not bf16.
// CHECK-LABEL: @losses
// CHECK-COUNT-10: "onnx.Cast"
// CHECK-NEXT: onnx.yield
module @losses attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>, %n: tensor<2xi32>, %u: tensor<2xui32>, %b: tensor<2xbf16>, %d: tensor<2xf64>):
    %a = "onnx.Cast"(%x) {to = 10 : i64} : (tensor<2xf32>) -> tensor<2xf16>
    %a2 = "onnx.Cast"(%a) {onnx.results = ["a2"], to = 1 : i64} : (tensor<2xf16>) -> tensor<2xf32>
    %c = "onnx.Cast"(%n) {to = 1 : i64} : (tensor<2xi32>) -> tensor<2xf32>
    %c2 = "onnx.Cast"(%c) {onnx.results = ["c2"], to = 6 : i64} : (tensor<2xf32>) -> tensor<2xi32>
    %e = "onnx.Cast"(%u) {to = 6 : i64} : (tensor<2xui32>) -> tensor<2xi32>
    %e2 = "onnx.Cast"(%e) {onnx.results = ["e2"], to = 7 : i64} : (tensor<2xi32>) -> tensor<2xi64>
    %f = "onnx.Cast"(%b) {to = 10 : i64} : (tensor<2xbf16>) -> tensor<2xf16>
    %f2 = "onnx.Cast"(%f) {onnx.results = ["f2"], to = 16 : i64} : (tensor<2xf16>) -> tensor<2xbf16>
    %g = "onnx.Cast"(%d) {to = 1 : i64} : (tensor<2xf64>) -> tensor<2xf32>
    %g2 = "onnx.Cast"(%g) {onnx.results = ["g2"], to = 11 : i64} : (tensor<2xf32>) -> tensor<2xf64>
    onnx.yield %a2, %c2, %e2, %f2, %g2 : tensor<2xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xbf16>, tensor<2xf64> {onnx.inputs = [{name = "x"}, {name = "n"}, {name = "u"}, {name = "b"}, {name = "d"}], onnx.outputs = [{name = "a2"}, {name = "c2"}, {name = "e2"}, {name = "f2"}, {name = "g2"}]}
  }
}

// -----

// Small constants of whole numbers take the type of their casts; floats, one
// with another user, a default of an input and a number that does not fit keep
// theirs.
// CHECK-LABEL: @constants
// CHECK: onnx.initializer "i" dense<[3, -1]> : tensor<2xi64>
// CHECK: onnx.initializer "f" dense<[1.600000e+01, 0.000000e+00]> : tensor<2xf32>
// CHECK: onnx.initializer "wide" dense<5.000000e-01> : tensor<f64>
// CHECK: onnx.initializer "used" dense<7> : tensor<i32>
// CHECK: onnx.initializer "d" dense<7> : tensor<i32> overridable
// CHECK: onnx.initializer "big" dense<70000> : tensor<i32>
// CHECK-COUNT-4: "onnx.Cast"
// CHECK-NOT: "onnx.Cast"
module @constants attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%d0: tensor<i32>):
    %i = onnx.initializer "i" dense<[3, -1]> : tensor<2xi32> : tensor<2xi32>
    %f = onnx.initializer "f" dense<[16, 0]> : tensor<2xi64> : tensor<2xi64>
    %w = onnx.initializer "wide" dense<0.5> : tensor<f64> : tensor<f64>
    %u = onnx.initializer "used" dense<7> : tensor<i32> : tensor<i32>
    %d = onnx.initializer "d" dense<7> : tensor<i32> overridable : tensor<i32>
    %g = onnx.initializer "big" dense<70000> : tensor<i32> : tensor<i32>
    %a = "onnx.Cast"(%i) {to = 7 : i64} : (tensor<2xi32>) -> tensor<2xi64>
    %b = "onnx.Cast"(%f) {to = 1 : i64} : (tensor<2xi64>) -> tensor<2xf32>
    %c = "onnx.Cast"(%w) {to = 1 : i64} : (tensor<f64>) -> tensor<f32>
    %e = "onnx.Cast"(%u) {to = 7 : i64} : (tensor<i32>) -> tensor<i64>
    %h = "onnx.Cast"(%d) {to = 7 : i64} : (tensor<i32>) -> tensor<i64>
    %k = "onnx.Cast"(%g) {to = 10 : i64} : (tensor<i32>) -> tensor<f16>
    %a1 = "onnx.Neg"(%a) {onnx.results = ["a1"]} : (tensor<2xi64>) -> tensor<2xi64>
    %b1 = "onnx.Mul"(%b, %c) {onnx.results = ["b1"]} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %e1 = "onnx.Add"(%e, %h) {onnx.results = ["e1"]} : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %u1 = "onnx.Neg"(%u) {onnx.results = ["u1"]} : (tensor<i32>) -> tensor<i32>
    %k1 = "onnx.Neg"(%k) {onnx.results = ["k1"]} : (tensor<f16>) -> tensor<f16>
    onnx.yield %a1, %b1, %e1, %u1, %k1 : tensor<2xi64>, tensor<2xf32>, tensor<i64>, tensor<i32>, tensor<f16> {onnx.inputs = [{name = "d"}], onnx.outputs = [{name = "a1"}, {name = "b1"}, {name = "e1"}, {name = "u1"}, {name = "k1"}]}
  }
}

// -----

// A rule keeps a cast.
// CHECK-LABEL: @rule
// CHECK: "onnx.Cast"
module @rule attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %a = "onnx.Cast"(%x) {mp.class = #mp.class<deny, reason = "asked for", requested_by = "--deny">, to = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %y = "onnx.Relu"(%a) {mp.class = #mp.class<allow, reason = "asked for">, onnx.results = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %y : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}

// -----

// A model in which no node is allowed stays as it is.
// CHECK-LABEL: @nothing_to_convert
// CHECK: "onnx.Cast"
module @nothing_to_convert attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph {
  ^bb0(%x: tensor<2xf32>):
    %a = "onnx.Cast"(%x) {to = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %y = "onnx.Relu"(%a) {mp.class = #mp.class<follow, reason = "no list">, onnx.results = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %y : tensor<2xf32> {onnx.inputs = [{name = "x"}], onnx.outputs = [{name = "y"}]}
  }
}
