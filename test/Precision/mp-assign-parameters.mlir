// RUN: split-file %s %t
// RUN: mp-opt %t/step.onnxtxt --train --loss=mse --optimizer=sgd --mixed-fp16 --summary=none --emit=mlir | FileCheck %s

// Weight normalization is fp32 up to the product that reads the weight. The
// gradients after the last product are fp32: what goes back through the norm
// cancels most of what goes back through the quotient. Gradients on their way to
// a product with activations are not held.
// CHECK: %n = "onnx.ReduceL2"{{.*}} -> tensor<1x3xf32>
// CHECK: %d = "onnx.Div"{{.*}} -> tensor<4x3xf32>
// CHECK: %w = "onnx.Mul"{{.*}} -> tensor<4x3xf32>
// CHECK: %h = "onnx.MatMul"{{.*}} -> tensor<2x3xf16>
// CHECK: "onnx.MatMul"{{.*}}"y_grad/MatMul"{{.*}} -> tensor<2x3xf16>
// CHECK: "onnx.Mul"{{.*}}"w_grad/Mul"{{.*}} -> tensor<4x3xf32>
// CHECK: "onnx.Div"{{.*}}"d_grad/Div"{{.*}} -> tensor<4x3xf32>
// CHECK: "onnx.Sum"{{.*}}"v_grad/Sum"{{.*}} -> tensor<4x3xf32>

//--- step.onnxtxt
<ir_version: 8, opset_import: ["" : 18]>
net (float[2,4] x) => (float[2,2] y)
<float[4,3] v = {0.5, -0.25, 0.125, 0.75, 0.5, -1.0, 0.3, 0.2, 0.1, -0.7, 0.4, 0.6},
 float[1,3] g = {1.5, 0.5, 0.75},
 float[3,2] o = {0.5, -0.25, 0.125, 0.75, 0.5, -1.0},
 int64[1] axes = {0}>
{
  n = ReduceL2(v, axes)
  d = Div(v, n)
  w = Mul(d, g)
  h = MatMul(x, w)
  r = Relu(h)
  y = MatMul(r, o)
}
