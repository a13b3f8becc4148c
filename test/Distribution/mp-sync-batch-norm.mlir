// RUN: not mp-opt %s --split-input-file --mp-sync-batch-norm 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=RANK --input-file=%t

// The mean of all ranks, then the variance around it; the running mean follows
// that. In the backward pass two means in one bucket; scale and bias get what a
// rank's own rows give, which is reduced later.
module attributes {onnx.model = {ir_version = 9 : i64}, onnx.opset_import = [["", 21], ["com.microsoft", 1]]} {
  // CHECK: onnx.graph
  onnx.graph {
  ^bb0(%x: tensor<8x3x4xf32>, %dy: tensor<8x3x4xf32>, %scale: tensor<3xf32>, %bias: tensor<3xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>):
    // CHECK: %[[OWN:.*]] = "onnx.Div"(%{{.*}}) {{.*}} -> tensor<1x3x1xf32>
    // CHECK-NEXT: %[[MEAN:.*]] = mp.all_reduce %[[OWN]] bucket 0 of 1 : tensor<1x3x1xf32> to tensor<1x3x1xf32>
    // CHECK-NEXT: %[[CENTERED:.*]] = "onnx.Sub"(%x, %[[MEAN]])
    // CHECK-NEXT: "onnx.Mul"(%[[CENTERED]], %[[CENTERED]])
    // CHECK: %[[VAR:.*]] = mp.all_reduce %{{.*}} bucket 1 of 1
    // CHECK: "onnx.Add"(%[[VAR]], %{{.*}})
    // CHECK: %[[FACTOR:.*]] = "onnx.Reciprocal"
    // CHECK: %[[NORMALIZED:.*]] = "onnx.Mul"(%[[CENTERED]], %[[FACTOR]])
    // CHECK: %[[NEXT:.*]] = "onnx.Squeeze"(%[[MEAN]], %{{.*}})
    // CHECK: %[[MOVED:.*]] = "onnx.Mul"(%[[NEXT]], %{{.*}})
    // CHECK: %[[RUNNING:.*]] = "onnx.Add"(%{{.*}}, %[[MOVED]]) {{.*}}onnx.results = ["m"]
    // CHECK: %[[Y:.*]] = "onnx.Add"({{.*}}onnx.results = ["y"]
    // CHECK-NOT: BatchNormalization
    %y, %m, %v = "onnx.BatchNormalization"(%x, %scale, %bias, %mean, %var) {onnx.results = ["y", "m", "v"], training_mode = 1 : i64, momentum = 9.000000e-01 : f32} : (tensor<8x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    // CHECK: %[[PRODUCT:.*]] = "onnx.Mul"(%dy, %[[NORMALIZED]])
    // CHECK-DAG: %[[ONE:.*]] = mp.all_reduce %{{.*}} bucket 2 of 2
    // CHECK-DAG: %[[OTHER:.*]] = mp.all_reduce %{{.*}} bucket 2 of 2
    // CHECK: %[[DX:.*]] = "onnx.Mul"({{.*}}onnx.results = ["dx"]
    // CHECK: %[[DSCALE:.*]] = "onnx.ReduceSum"(%[[PRODUCT]], %{{.*}}) {{.*}} -> tensor<3xf32>
    // CHECK: %[[DBIAS:.*]] = "onnx.ReduceSum"(%dy, %{{.*}}) {{.*}} -> tensor<3xf32>
    %dx, %dscale, %dbias = "onnx.com.microsoft.BatchNormalizationGrad"(%dy, %x, %scale, %mean, %var) {onnx.results = ["dx", "dscale", "dbias"], epsilon = 1.000000e-05 : f32} : (tensor<8x3x4xf32>, tensor<8x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    // CHECK: onnx.yield %[[Y]], %[[RUNNING]], %{{.*}}, %[[DX]], %[[DSCALE]], %[[DBIAS]]
    onnx.yield %y, %m, %v, %dx, %dscale, %dbias : tensor<8x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<8x3x4xf32>, tensor<3xf32>, tensor<3xf32> {onnx.inputs = [{name = "x"}, {name = "dy"}, {name = "scale"}, {name = "bias"}, {name = "mean"}, {name = "var"}], onnx.outputs = [{name = "y"}, {name = "m"}, {name = "v"}, {name = "dx"}, {name = "dscale"}, {name = "dbias"}]}
  }
}

// -----

// RANK: error: node 'bn' (BatchNormalization-15): statistics over all ranks need an operand of known rank, 2 or more, got 'tensor<*xf32>'
module attributes {onnx.model = {ir_version = 9 : i64}, onnx.opset_import = [["", 21]]} {
  onnx.graph {
  ^bb0(%x: tensor<*xf32>, %scale: tensor<3xf32>):
    %y = "onnx.BatchNormalization"(%x, %scale, %scale, %scale, %scale) {onnx.name = "bn", onnx.results = ["y"], training_mode = 1 : i64} : (tensor<*xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<*xf32>
    onnx.yield %y : tensor<*xf32> {onnx.inputs = [{name = "x"}, {name = "scale"}], onnx.outputs = [{name = "y"}]}
  }
}
