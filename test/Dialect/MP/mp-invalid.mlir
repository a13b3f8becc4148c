// RUN: mp-opt %s --split-input-file --verify-diagnostics

onnx.graph {
^bb0(%loss: tensor<i32>):
  // expected-error @below {{'mp.loss_seed' op expected a loss of floats, got 'tensor<i32>'}}
  %0 = mp.loss_seed %loss : tensor<i32>
  onnx.yield %0 : tensor<i32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%loss: tensor<?x2xf32>):
  // expected-error @below {{'mp.loss_seed' op expected a loss of one element, got 'tensor<?x2xf32>'}}
  %0 = mp.loss_seed %loss : tensor<?x2xf32>
  onnx.yield %0 : tensor<?x2xf32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%loss: tensor<*xf32>):
  // expected-error @below {{'mp.loss_seed' op operand #0 must be ranked tensor}}
  %0 = "mp.loss_seed"(%loss) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.yield %0 : tensor<*xf32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

// All gradients are fp32 here.
onnx.graph {
^bb0(%seed: tensor<f16>, %scale: tensor<f32>):
  // expected-error @below {{'mp.scale_loss' op operand #0 must be tensor of 32-bit float or 64-bit float values, but got 'tensor<f16>'}}
  %0 = mp.scale_loss %seed by %scale : tensor<f16>
  onnx.yield %0 : tensor<f16> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%g: tensor<2xbf16>, %scale: tensor<f32>):
  // expected-error @below {{'mp.unscale' op operand #0 must be tensor of 32-bit float or 64-bit float values, but got 'tensor<2xbf16>'}}
  %0 = mp.unscale %g by %scale : tensor<2xbf16>
  onnx.yield %0 : tensor<2xbf16> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%g: tensor<2xbf16>):
  // expected-error @below {{'mp.gradient' op operand #0 must be tensor of 32-bit float or 64-bit float values, but got 'tensor<2xbf16>'}}
  %0 = mp.gradient %g of %g : tensor<2xbf16>, tensor<2xbf16>
  onnx.yield %0 : tensor<2xbf16> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%g: tensor<2xi64>):
  // expected-error @below {{'mp.all_finite' op operand #0 must be variadic of tensor of 32-bit float or 64-bit float values, but got 'tensor<2xi64>'}}
  %0 = mp.all_finite %g : tensor<2xi64>
  onnx.yield %0 : tensor<i1> {onnx.inputs = [], onnx.outputs = []}
}

// -----

// A scale and a condition are scalars.
onnx.graph {
^bb0(%w: tensor<2xf32>, %scale: tensor<1xf32>):
  // expected-error @below {{'mp.unscale' op operand #1 must be tensor<f32>, but got 'tensor<1xf32>'}}
  %0 = "mp.unscale"(%w, %scale) : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  onnx.yield %0 : tensor<2xf32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%w: tensor<2xf32>, %c: tensor<2xi1>):
  // expected-error @below {{'mp.update' op operand #2 must be tensor<i1>, but got 'tensor<2xi1>'}}
  %0 = "mp.update"(%w, %w, %c) : (tensor<2xf32>, tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
  onnx.yield %0 : tensor<2xf32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%w: tensor<2xf32>, %v: tensor<3xf32>):
  // expected-error @below {{'mp.update' op failed to verify that all of {state, value, result} have same type}}
  %0 = "mp.update"(%w, %v) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  onnx.yield %0 : tensor<2xf32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected a growth factor of at least 1, got 5.000000e-01 : f64}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 0.5 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 1 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected a growth factor of at least 1, got 0x7FF0000000000000 : f64}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 0x7FF0000000000000 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 1 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected a backoff factor above 0 and at most 1, got 0.000000e+00 : f64}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 2.0 : f64, backoff_factor = 0.0 : f64, growth_interval = 10 : i64, hysteresis = 1 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected a backoff factor above 0 and at most 1, got 2.000000e+00 : f64}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 2.0 : f64, backoff_factor = 2.0 : f64, growth_interval = 10 : i64, hysteresis = 1 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected a growth interval of at least 1, got 0}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 0 : i64, hysteresis = 1 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected a hysteresis of at least 1, got 0}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 0 : i64, floor = 1.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected 2^-126 <= floor <= cap, finite in f32, got 2.048000e+03 : f64 and 1.024000e+03 : f64}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 1 : i64, floor = 2048.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected 2^-126 <= floor <= cap, finite in f32, got 0.000000e+00 : f64 and 1.024000e+03 : f64}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 1 : i64, floor = 0.0 : f64, cap = 1024.0 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}

// -----

onnx.graph {
^bb0(%s: tensor<f32>, %n: tensor<i32>, %f: tensor<i1>):
  // expected-error @below {{'mp.update_scale' op expected 2^-126 <= floor <= cap, finite in f32, got 1.000000e+00 : f64 and 9.9999999999999994E+38 : f64}}
  %0:4 = mp.update_scale %s, %n, %n, %n after %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 10 : i64, hysteresis = 1 : i64, floor = 1.0 : f64, cap = 1.0e39 : f64} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>)
  onnx.yield %0#0 : tensor<f32> {onnx.inputs = [], onnx.outputs = []}
}
