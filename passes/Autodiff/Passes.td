//===- Passes.td - Passes that make training steps ---------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_AUTODIFF_PASSES_TD
#define MPOPT_PASSES_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

class TrainingPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mp::onnxir::ONNXDialect",
                           "::mp::training::MPDialect"];
}

def Differentiate : TrainingPass<"mp-differentiate"> {
  let summary = "Add the backward pass of a loss";
  let description = [{
    Before: the main graph has the value `loss` (or the one that `mp-add-loss`
    has marked), a float of one element; the opset is 18 at least. After: the
    graph holds the gradients of its parameters, each an operand of an
    `mp.gradient`; the backward pass starts at an `mp.loss_seed`. Parameters
    are graph inputs, their values defaults of the same names; so are the
    running statistics of BatchNormalization in training mode, whose new values
    are `mp.update`s.

    Parameters are the float initializers of rank one or more that the loss
    depends on, without those whose names `freeze` matches. With `wrt`, these
    inputs and initializers take their place. Gradients are written in the
    com.microsoft training vocabulary where it has an operator.

    An operator without a rule on the way is an error that names it and the
    way; so is a parameter that the loss depends on only through operators
    without a derivative, or a loss that depends on no parameter.

    Example: test/Autodiff/mp-differentiate.mlir
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "name of the value to differentiate">,
    ListOption<"freeze", "freeze", "std::string",
               "patterns for names of parameters that are not trained">,
    ListOption<"wrt", "wrt", "std::string",
               "names of what to differentiate with respect to">,
    Option<"outputs", "outputs", "bool", /*default=*/"false",
           "make the gradients outputs of the graph, named NAME_grad">,
  ];
}

def DecomposeGradients : TrainingPass<"onnx-decompose-gradients"> {
  let summary = "Write gradient operators in standard ONNX";
  let description = [{
    Before: any model. After: no node of the com.microsoft training vocabulary
    is left in the main graph, its subgraphs and the functions, but optimizers
    and accumulators that update their operands in place; the domain's import
    goes with its last node. An operator of that vocabulary that cannot be
    expressed as it is used is an error.

    With `contractions`, only those that become convolutions are rewritten:
    before the precision passes, which know these.

    Example: test/Autodiff/onnx-decompose-gradients.mlir
  }];
  let options = [
    Option<"contractions", "contractions", "bool", /*default=*/"false",
           "only what becomes convolutions">,
  ];
}

#endif // MPOPT_PASSES_AUTODIFF_PASSES_TD
