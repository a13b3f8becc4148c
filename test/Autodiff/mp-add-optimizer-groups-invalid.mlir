// DEFINE: %{wrong} = not mp-opt %s
// RUN: %{wrong} "--mp-add-optimizer=group=w" 2>&1 | FileCheck %s --check-prefix=CASE0
// CASE0: error: group 'w': expected REGEX:key=value,...
// RUN: %{wrong} "--mp-add-optimizer=group=w:" 2>&1 | FileCheck %s --check-prefix=CASE1
// CASE1: error: group 'w:': expected REGEX:key=value,...
// RUN: %{wrong} "--mp-add-optimizer=group=w:weight-decya=1" 2>&1 | FileCheck %s --check-prefix=CASE2
// CASE2: error: group 'w:weight-decya=1': there is no setting 'weight-decya'; did you mean 'weight-decay'?
// RUN: %{wrong} "--mp-add-optimizer=group=w:momentum=0.5" 2>&1 | FileCheck %s --check-prefix=CASE3
// CASE3: error: {{.*}}there is no setting 'momentum'
// RUN: %{wrong} "--mp-add-optimizer=group=w:lr=-1" 2>&1 | FileCheck %s --check-prefix=CASE4
// CASE4: error: {{.*}}'-1' is not a valid value for 'lr'
// RUN: %{wrong} "--mp-add-optimizer=group=w:weight-decay=nan" 2>&1 | FileCheck %s --check-prefix=CASE5
// CASE5: error: {{.*}}'nan' is not a valid value for 'weight-decay'
// RUN: %{wrong} "--mp-add-optimizer=optimizer=adam group=w:beta1=1" 2>&1 | FileCheck %s --check-prefix=CASE6
// CASE6: error: {{.*}}'1' is not a valid value for 'beta1'
// RUN: %{wrong} "--mp-add-optimizer=lr=0 group=w:lr=1" 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: group 'w:lr=1': its lr follows that of the step, which is 0
// RUN: %{wrong} "--mp-add-optimizer=group={{w:lr=1,lr-scale=1}}" 2>&1 | FileCheck %s --check-prefix=CASE7
// CASE7: error: {{.*}}'lr' and 'lr-scale' exclude each other
// RUN: %{wrong} "--mp-add-optimizer=group={{w:lr=1,lr=2}}" 2>&1 | FileCheck %s --check-prefix=CASE8
// CASE8: error: {{.*}}'lr' is given twice
// RUN: %{wrong} "--mp-add-optimizer=group=w[:lr=1" 2>&1 | FileCheck %s --check-prefix=CASE9
// CASE9: error: group 'w[:lr=1': brackets ([ ]) not balanced
// RUN: %{wrong} "--mp-add-optimizer=group=w.ight:lr=1" 2>&1 | FileCheck %s --check-prefix=CASE10
// CASE10: error: {{.*}}its pattern matches no parameter that is trained
// RUN: %{wrong} "--mp-add-optimizer=group=ww:lr=1" 2>&1 | FileCheck %s --check-prefix=CASE11
// CASE11: error: group 'ww:lr=1': its pattern matches no parameter that is trained; did you mean 'w'?
// RUN: %{wrong} "--mp-add-optimizer=clip-value=-1" 2>&1 | FileCheck %s --check-prefix=CASE12
// CASE12: error: clip-value: -1.{{0+}}e+00 is out of range
// RUN: %{wrong} "--mp-add-optimizer=average=emma" 2>&1 | FileCheck %s --check-prefix=CASE13
// CASE13: error: average 'emma': expected ema or ema:decay=D
// RUN: %{wrong} "--mp-add-optimizer=average=ema:deacy=1" 2>&1 | FileCheck %s --check-prefix=CASE14
// CASE14: error: {{.*}}there is no setting 'deacy'; did you mean 'decay'?
// RUN: %{wrong} "--mp-add-optimizer=average=ema:decay=x" 2>&1 | FileCheck %s --check-prefix=CASE15
// CASE15: error: {{.*}}expected a decay from 0 on and below 1, got 'x'
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%w: tensor<4xf32>, %b: tensor<2xf32>, %d: tensor<4xf32>, %e: tensor<2xf32>):
    %0 = onnx.initializer "w" dense<1.0> : tensor<4xf32> overridable : tensor<4xf32>
    %1 = onnx.initializer "b" dense<1.0> : tensor<2xf32> overridable : tensor<2xf32>
    %2 = mp.gradient %d of %w {onnx.results = ["w_grad"]} : tensor<4xf32>, tensor<4xf32>
    %3 = mp.gradient %e of %b {onnx.results = ["b_grad"]} : tensor<2xf32>, tensor<2xf32>
    onnx.yield %w : tensor<4xf32> {onnx.inputs = [{name = "w"}, {name = "b"}, {name = "d"}, {name = "e"}], onnx.outputs = [{name = "w"}]}
  }
}
