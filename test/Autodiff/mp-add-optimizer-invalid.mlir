// RUN: not mp-opt %s --mp-add-optimizer=optimizer=adamm 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mp-opt %s --mp-add-optimizer=optimizer=adam:beta=0.5 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not mp-opt %s --mp-add-optimizer=optimizer=adam:beta1=1 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not mp-opt %s --mp-add-optimizer=optimizer=adam:eps=0 2>&1 | FileCheck %s --check-prefix=EPS
// RUN: not mp-opt %s --mp-add-optimizer=optimizer=adam:eps=x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not mp-opt %s --mp-add-optimizer=optimizer=adamw:mode=2 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not mp-opt %s --mp-add-optimizer=lr=-1 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not mp-opt %s --mp-add-optimizer=lr=inf 2>&1 | FileCheck %s --check-prefix=INFINITE
// RUN: not mp-opt %s --mp-add-optimizer=weight-decay=-1 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not mp-opt %s --mp-add-optimizer=clip-norm=nan 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not mp-opt %s --mp-add-optimizer=accumulate=0 2>&1 | FileCheck %s --check-prefix=ACCUMULATE

// NAME: error: optimizer 'adamm': expected sgd, momentum, nesterov, adam, lazy-adam, adamw, adagrad, lamb; did you mean 'adam'?
// KEY: error: optimizer 'adam:beta=0.5': it has no number 'beta'; did you mean 'beta{{[12]}}'?
// RANGE: error: optimizer 'adam:beta1=1': '1' is not a valid value for 'beta1'
// EPS: error: optimizer 'adam:eps=0': '0' is not a valid value for 'eps'
// NUMBER: error: optimizer 'adam:eps=x': 'x' is not a valid value for 'eps'
// MODE: error: optimizer 'adamw:mode=2': '2' is not a valid value for 'mode'
// RATE: error: lr: -1.{{0+}}e+00 is out of range
// INFINITE: error: lr: {{.*}} is out of range
// DECAY: error: weight-decay: -1.{{0+}}e+00 is out of range
// CLIP: error: clip-norm: {{.*}} is out of range
// ACCUMULATE: error: accumulate: 0 is out of range
module {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>):
    onnx.yield %w : tensor<4xf32> {onnx.inputs = [{name = "w"}], onnx.outputs = [{name = "w"}]}
  }
}
