// RUN: not mp-opt %s --mp-set-io-types=io=fp17 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mp-opt %s --mp-set-io-types=io=imag=fp17 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mp-opt %s "--mp-set-io-types=io=(=fp16" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mp-opt %s --mp-set-io-types=io=imag=fp16 2>&1 | FileCheck %s --check-prefix=NEAREST
// RUN: not mp-opt %s --mp-set-io-types=io=ids=fp16 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not mp-opt %s --mp-set-io-types=io=list=fp16 2>&1 | FileCheck %s --check-prefix=SEQUENCE
// RUN: not mp-opt %s --mp-set-io-types=io=w=fp16 2>&1 | FileCheck %s --check-prefix=DEFAULT
// RUN: not mp-opt %s --mp-set-io-types=io=fp16,bf16 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not mp-opt %s --mp-set-io-types=io=image=fp16,im.*=bf16 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not mp-opt %s --mp-set-io-types=io=image=fp16 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: mp-opt %s "--mp-set-io-types=io=image|imagine=bf16" 2>&1 | FileCheck %s --check-prefix=PART
// RUN: mp-opt %s --mp-set-io-types=io=i.*=bf16 | FileCheck %s --check-prefix=SOME

// TYPE: --io: expected fp32, fp16 or bf16, or a pattern for names and one of these, such as 'past.*=fp16', found '{{(imag=)?}}fp17'; did you mean 'fp16'?
// REGEX: --io: '(' is not a regular expression:
// NEAREST: pattern 'imag=fp16' in --io matches no input or output; did you mean 'image'?
// INTEGER: 'ids=fp16' in --io: input 'ids' has the type tensor<4xi64>, expected a float tensor
// SEQUENCE: 'list=fp16' in --io: input 'list' has the type !onnx.seq<tensor<4xf32>>, expected a float tensor
// DEFAULT: 'w=fp16' in --io: input 'w' has a default value, an initializer of its name, whose type stays
// ALL: input 'image': 'fp16' in --io and 'bf16' in --io contradict each other
// TWO: input 'image': 'image=fp16' in --io and 'im.*=bf16' in --io contradict each other
// RANGE: input 'image': its range, as stated by --input-range, ends beyond fp16, which ends at 65504, and 'image=fp16' in --io asks for fp16
// PART: warning: 'imagine', an alternative of 'image|imagine=bf16' in --io, matches no input or output; did you mean 'image'?
// Integers that a pattern matches next to floats stay.
// SOME: mp.wanted_inputs = [bf16, none, none, none]
module attributes {onnx.opset_import = [["", 17]]} {
  onnx.graph attributes {mp.input_ranges = {image = array<f64: 0.0, 1.0e6>}} {
  ^bb0(%image: tensor<4xf32>, %ids: tensor<4xi64>, %list: !onnx.seq<tensor<4xf32>>, %w: tensor<4xf32>):
    %0 = onnx.initializer "w" dense<1.0> : tensor<4xf32> overridable : tensor<4xf32>
    %1 = "onnx.Add"(%image, %w) {onnx.results = ["y"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %1 : tensor<4xf32> {onnx.inputs = [{name = "image"}, {name = "ids"}, {name = "list"}, {name = "w"}]}
  }
}
