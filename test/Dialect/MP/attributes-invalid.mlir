// RUN: mp-opt %s --split-input-file --mp-classify --verify-diagnostics

// expected-error @below {{'mp.class' belongs on a node}}
module attributes {mp.class = #mp.class<deny>} {}

// -----

// expected-error @below {{'mp.policy' is "bf16", expected #mp.policy}}
module attributes {mp.policy = "bf16"} {}

// -----

// expected-error @below {{'mp.casts_inserted' is "1", expected an integer}}
module attributes {mp.casts_inserted = "1"} {}

// -----

// expected-error @below {{'mp.input_types' is [f32, 1], expected types}}
module attributes {mp.input_types = [f32, 1 : i64]} {}

// -----

// expected-error @below {{'mp.summary' is unit, expected a dictionary}}
module attributes {mp.summary} {}

// -----

// expected-error @below {{expected f16 or bf16, got 'f32'}}
module attributes {mp.policy = #mp.policy<f32>} {}

// -----

// expected-error @below {{unknown option 'alow' of a policy}}
module attributes {mp.policy = #mp.policy<bf16, {alow = true}>} {}

// -----

// expected-error @below {{option 'strict' of a policy is 1 : i64, expected what mp-set-policy writes}}
module attributes {mp.policy = #mp.policy<bf16, {strict = 1 : i64}>} {}

// -----

// expected-error @below {{option 'operators' of a policy is}}
module attributes {mp.policy = #mp.policy<bf16, {operators = {often = []}}>} {}

// -----

// expected-error @below {{option 'dims' of a policy is}}
module attributes {mp.policy = #mp.policy<bf16, {dims = ["n=8"]}>} {}

// -----

// expected-error @below {{option 'rules' of a policy is}}
module attributes {mp.policy = #mp.policy<bf16, {rules = ["all"]}>} {}

// -----

// expected-error @below {{the policy has the rule {kind = "all"}, expected what mp-set-policy writes}}
module attributes {mp.policy = #mp.policy<bf16, {rules = [{kind = "all"}]}>} {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    onnx.yield %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{unknown class 'often', expected allow, deny, promote or follow}}
module attributes {a = #mp.class<often>} {}

// -----

// expected-error @below {{unknown key 'because'}}
module attributes {a = #mp.class<deny, because = "r">} {}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'mp.policy' belongs on the module}}
  %0 = "onnx.Relu"(%x) {mp.policy = #mp.policy<bf16>} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'mp.class' is "deny", expected #mp.class}}
  %0 = "onnx.Relu"(%x) {mp.class = "deny"} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'mp.clamp' is 1.000000e+00 : f64, expected an f32}}
  %0 = "onnx.Relu"(%x) {mp.clamp = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

onnx.graph {
^bb0(%x: tensor<4xf32>):
  // expected-error @below {{'mp.clas' is not an attribute of the mp dialect}}
  %0 = "onnx.Relu"(%x) {mp.clas = #mp.class<deny>} : (tensor<4xf32>) -> tensor<4xf32>
  onnx.yield %0 : tensor<4xf32>
}

// -----

// expected-error @below {{unknown isa 'vax', expected avx2, avx512 or neon}}
module attributes {mp.target = #mp.target<cpu, isa = vax, products = widen>} {
}

// -----

// expected-error @below {{unknown products 'mma', expected widen, dot or amx}}
module attributes {mp.target = #mp.target<cpu, isa = avx2, products = mma>} {
}

// -----

// expected-error @below {{products = dot needs isa = avx512, found isa = avx2}}
module attributes {mp.target = #mp.target<cpu, isa = avx2, products = dot>} {
}

// -----

// expected-error @below {{'mp.target' is "avx2", expected #mp.target}}
module attributes {mp.target = "avx2"} {
}

// -----

module {
  onnx.graph {
  ^bb0(%x: tensor<4xf32>):
    // expected-error @below {{value 1.500000e+00 : f64 of a reason, expected an integer or a string}}
    %0 = "onnx.Relu"(%x) {mp.precision = #mp.precision<f32, reason = "{0}", values = [1.5]>} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %0 : tensor<4xf32>
  }
}
