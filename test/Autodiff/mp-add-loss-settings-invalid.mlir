// Each setting has its range, and each kind its settings.
// RUN: printf '1\ntwo\n' > %t.text
// RUN: printf '\n' > %t.empty
// RUN: printf 'NUMPY' > %t.bad.npy
// RUN: %python -c "import struct, sys; h = lambda s: (lambda t: b'\x93NUMPY\x01\x00' + struct.pack('<H', len(t)) + t)((\"{'descr': '<f8', 'fortran_order': False, 'shape': \" + s + ', }').ljust(117).encode() + b'\n'); open(sys.argv[1], 'wb').write(h('(2, 2)') + bytes(32)); open(sys.argv[2], 'wb').write(h('(1,)') + struct.pack('<d', float('nan')))" %t.2.npy %t.nan.npy
// DEFINE: %{wrong} = not mp-opt %s --mp-add-loss
// RUN: %{wrong}=loss=mse:weigth=1 2>&1 | FileCheck %s --check-prefix=CASE0
// CASE0: error: loss '{{.*}}': it has no setting 'weigth'; did you mean 'weight'?
// RUN: %{wrong}=loss='{{mse:weight=1,weight=2}}' 2>&1 | FileCheck %s --check-prefix=CASE1
// CASE1: error: loss '{{.*}}': 'weight' is given twice
// RUN: %{wrong}=loss=mse:labels= 2>&1 | FileCheck %s --check-prefix=CASE2
// CASE2: error: loss '{{.*}}': labels: expected the name of an input
// RUN: %{wrong}=loss=mse:weight=inf 2>&1 | FileCheck %s --check-prefix=CASE3
// CASE3: error: loss '{{.*}}': weight: expected a number, got 'inf'
// RUN: %{wrong}=loss=mse:reduction=batchmean 2>&1 | FileCheck %s --check-prefix=CASE4
// CASE4: error: loss '{{.*}}': reduction: expected mean or sum, got 'batchmean'
// RUN: %{wrong}=loss=kl-div:reduction=none 2>&1 | FileCheck %s --check-prefix=CASE5
// CASE5: error: loss '{{.*}}': reduction: expected mean, batchmean or sum, got 'none'
// RUN: %{wrong}=loss=nll:class-axis=x 2>&1 | FileCheck %s --check-prefix=CASE6
// CASE6: error: loss '{{.*}}': class-axis: expected an integer, got 'x'
// RUN: %{wrong}=loss=nll:ignore-index=3000000000 2>&1 | FileCheck %s --check-prefix=CASE7
// CASE7: error: loss '{{.*}}': ignore-index: expected an integer, got '3000000000'
// RUN: %{wrong}=loss=softmax-cross-entropy:label-smoothing=1.5 2>&1 | FileCheck %s --check-prefix=CASE8
// CASE8: error: loss '{{.*}}': label-smoothing: expected a number from 0 to 1, got '1.5'
// RUN: %{wrong}=loss=smooth-l1:beta=-1 2>&1 | FileCheck %s --check-prefix=CASE9
// CASE9: error: loss '{{.*}}': beta: expected a number from 0 on, got '-1'
// RUN: %{wrong}=loss=huber:delta=0 2>&1 | FileCheck %s --check-prefix=CASE10
// CASE10: error: loss '{{.*}}': delta: expected a positive number, got '0'
// RUN: %{wrong}=loss=nll:label-smoothing=0.1 2>&1 | FileCheck %s --check-prefix=CASE11
// CASE11: error: loss '{{.*}}': it has no setting 'label-smoothing'
// RUN: %{wrong}=loss='{{nll:weights=1,x}}' 2>&1 | FileCheck %s --check-prefix=CASE12
// CASE12: error: loss '{{.*}}': weights: 'x' is not a number
// RUN: %{wrong}=loss='{{nll:weights=1,-2,1,1}}' 2>&1 | FileCheck %s --check-prefix=CASE13
// CASE13: error: loss '{{.*}}': weights: expected numbers from 0 on, got -2
// RUN: %{wrong}=loss='{{nll:weights=1,2,3}}' 2>&1 | FileCheck %s --check-prefix=CASE14
// CASE14: error: loss '{{.*}}': weights: expected 4 numbers for 'y', got 3
// RUN: %{wrong}=loss='{{bce:pos-weight=1,2}}' 2>&1 | FileCheck %s --check-prefix=CASE15
// CASE15: error: loss '{{.*}}': pos-weight: expected 4 numbers for 'y', got 2
// RUN: %{wrong}=loss=nll:weights=@%t.missing 2>&1 | FileCheck %s --check-prefix=CASE16
// CASE16: error: loss '{{.*}}': weights: cannot read '{{.*}}.missing'
// RUN: %{wrong}=loss=nll:weights=@%t.text 2>&1 | FileCheck %s --check-prefix=CASE17
// CASE17: error: loss '{{.*}}': weights: {{.*}}.text:2: 'two' is not a number
// RUN: %{wrong}=loss=nll:weights=@%t.empty 2>&1 | FileCheck %s --check-prefix=CASE18
// CASE18: error: loss '{{.*}}': weights: {{.*}}.empty: it has no numbers
// RUN: %{wrong}=loss=nll:weights=@%t.2.npy 2>&1 | FileCheck %s --check-prefix=CASE19
// CASE19: error: loss '{{.*}}': weights: {{.*}}.npy: expected a vector, found double[2,2]
// RUN: %{wrong}=loss=nll:weights=@%t.nan.npy 2>&1 | FileCheck %s --check-prefix=CASE20
// CASE20: error: loss '{{.*}}': weights: {{.*}}.npy: expected finite numbers
// RUN: %{wrong}=loss=nll:weights=@%t.bad.npy 2>&1 | FileCheck %s --check-prefix=CASE21
// CASE21: error: loss '{{.*}}': weights: {{.*}}.npy:
// RUN: %{wrong}=loss=mse:labels=p 2>&1 | FileCheck %s --check-prefix=CASE22
// CASE22: error: loss '{{.*}}': labels: 'p' is a value of the model, and no input
// RUN: %{wrong}=loss=nll:labels=x 2>&1 | FileCheck %s --check-prefix=CASE23
// CASE23: error: loss '{{.*}}': expected labels of int64, got input 'x' of type 'tensor<?x4xf32>'
// RUN: %{wrong}=loss=nll:labels=index 2>&1 | FileCheck %s --check-prefix=CASE24
// CASE24: error: loss '{{.*}}': expected labels of 1 axes, got input 'index' of type 'tensor<?x4xi64>'
// RUN: %{wrong}=loss=kl-div:labels=index 2>&1 | FileCheck %s --check-prefix=CASE25
// CASE25: error: loss '{{.*}}': expected labels of float, got input 'index' of type 'tensor<?x4xi64>'
// RUN: %{wrong}=loss=kl-div:total:reduction=batchmean 2>&1 | FileCheck %s --check-prefix=CASE26
// CASE26: error: loss '{{.*}}': 'total' is a scalar, and has no batch
// RUN: %{wrong}=loss=nll,mse:labels=labels 2>&1 | FileCheck %s --check-prefix=CASE27
// CASE27: error: loss '{{.*}}': expected labels of float, got input 'labels' of type 'tensor<?xi64>'
// RUN: %{wrong}=loss=output:total:reduction=sum 2>&1 | FileCheck %s --check-prefix=CASE28
// CASE28: error: loss '{{.*}}': it has no setting 'reduction'
module @net attributes {onnx.opset_import = [["", 18]]} {
  onnx.graph {
  ^bb0(%x: tensor<?x4xf32>, %index: tensor<?x4xi64>):
    %0 = "onnx.Relu"(%x) {onnx.results = ["y"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = "onnx.Sigmoid"(%0) {onnx.results = ["p"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "onnx.Softmax"(%0) {onnx.results = ["q:0"]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = "onnx.ReduceSum"(%x) {keepdims = 0 : i64, onnx.results = ["total"]} : (tensor<?x4xf32>) -> tensor<f32>
    onnx.yield %0, %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<f32> {onnx.inputs = [{name = "x"}, {name = "index"}], onnx.outputs = [{name = "y"}, {name = "p"}, {name = "q:0"}, {name = "total"}]}
  }
}
