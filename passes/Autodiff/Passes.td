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
                           "::mp::MPDialect"];
}

def AddLoss : TrainingPass<"mp-add-loss"> {
  let summary = "Add a loss to a forward graph";
  let description = [{
    After: the graph's first output is the loss, a scalar. It compares the
    output that `loss` names, or the first float output, with the input
    `labels`. Several losses are added up, by their weights; then each is an
    output, too (`loss.KIND`), and the second one compares with the input
    `labels_2`. The graph is marked `mp.loss`; the nodes that were added are
    marked `mp.hazard` and stay fp32.

    Example: test/Autodiff/mp-add-loss.mlir
  }];
  let options = [
    ListOption<"losses", "loss", "std::string",
               "losses, as for --loss of mp-opt; a loss with a comma is put in "
               "braces">,
    Option<"classAxis", "class-axis", "int64_t", /*default=*/"1",
           "axis of the classes">,
  ];
}

def AddOptimizer : TrainingPass<"mp-add-optimizer"> {
  let summary = "Add an optimizer to a graph with gradients";
  let description = [{
    Before: `mp-differentiate`. After: each parameter, each state of the
    optimizer, the count of steps and the learning rate are inputs of the graph
    with defaults; each but the learning rate has an `mp.update`, which is an
    output called NAME_new.

    `clip-value` bounds each element of the gradients, then `clip-norm` the norm
    of all of them together. With `accumulate`, the mean of so many steps'
    gradients makes one update. `groups` change settings for parameters by
    their names. With `average`, each parameter has one more state.

    Example: test/Autodiff/mp-add-optimizer.mlir
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"sgd\"",
           "sgd, momentum, nesterov, adam, adamw, adagrad or lamb, with "
           "numbers as in adamw:beta2=0.95,eps=1e-6">,
    Option<"learningRate", "lr", "double", /*default=*/"0.001",
           "default of the learning rate">,
    Option<"weightDecay", "weight-decay", "double", /*default=*/"0.0",
           "decay of the parameters">,
    Option<"clipNorm", "clip-norm", "double", /*default=*/"0.0",
           "bound of the gradients' norm; 0 for none">,
    Option<"clipValue", "clip-value", "double", /*default=*/"0.0",
           "bound of the gradients' elements; 0 for none">,
    ListOption<"groups", "group", "std::string",
               "REGEX:key=value,... for parameters whose names match; a group "
               "with a comma is put in braces">,
    Option<"average", "average", "std::string", /*default=*/"\"\"",
           "ema:decay=0.999 for a moving average of the parameters">,
    Option<"accumulate", "accumulate", "int64_t", /*default=*/"1",
           "steps whose gradients are averaged for one update">,
  ];
}

def CheckExport : TrainingPass<"mp-check-export"> {
  let summary = "Warn of traces of an export for inference";
  let description = [{
    Before: a forward model that is to be trained. Nothing changes. The pass
    warns of each kind of difference between the step and that of the framework,
    with the number of nodes, the first names, and the exporter's flag that
    avoids it. It finds BatchNormalization with stored statistics, or folded
    into Conv by torch's exporters (the names of the results show it), Dropout
    that drops nothing, and models for batches of one size only, by constant
    shapes or by inputs. If a caller decides, or if it cannot be known, there is
    no warning.

    Example: test/Autodiff/mp-check-export.mlir
  }];
}

def InlineTraining : TrainingPass<"mp-inline-training"> {
  let summary = "Move the algorithms of training_info into the main graph";
  let description = [{
    After: there is no `onnx.training`; the nodes of its algorithm are at the
    end of the main graph, its inputs are the graph's, its outputs too.
    Initializers with an update_binding are inputs with defaults, and have an
    `mp.update`, whose group is the number of the entry.

    It is an error if an algorithm or a binding uses a name that is not defined.
    An initialization is left out, with a warning.

    Example: test/Autodiff/mp-inline-training.mlir
  }];
}

def ExpandTraining : TrainingPass<"mp-expand-training"> {
  let summary = "Expand Gradient and the standard's optimizers into other ops";
  let description = [{
    After: the main graph has no node of ai.onnx.preview.training. A Gradient is
    replaced by its backward pass, from an `mp.loss_seed` to an `mp.gradient`
    for each result; if its operands are not the values that it names, by the
    backward pass of a copy of the graph. Adam, Momentum and Adagrad are
    replaced by the formulas of their specification.

    Example: test/Autodiff/mp-expand-training.mlir
  }];
}

def StopGradients : TrainingPass<"mp-stop-gradients"> {
  let summary = "Mark where gradients end";
  let description = [{
    Before: a forward model; functions are inlined. After: an Identity that
    passes no gradient has the mark `mp.stop_gradient`: torch's `detach`, by the
    metadata that its newer exporter leaves or by its names; new ones after
    buffers that the model updates and after the values that `values` matches.
    A Gather of a table with a row for padding has that row as
    `mp.padding_index`: by the same metadata or by `mp-opt.padding_index`; in
    torch's exports without metadata it is the only row of zeros, with a
    warning. If an exporter has folded `detach` away, a warning names the
    reader.

    An Identity after the next value of a buffer has the buffer's name as
    `mp.next_buffer`, by the signature in the metadata of torch's newer
    exporter, or by `mp-opt.next_buffers` of the model. If the signature says
    that a buffer is updated, but its next value is not in the graph, there is a
    warning. If this exporter has written a BatchNormalization for inference
    although its metadata call the operator for training, it is changed to
    training mode.

    It is an error if a pattern matches no value that a node computes, or if the
    table does not have the row; an alternative of a pattern that matches
    nothing gives a warning.

    Example: test/Autodiff/mp-stop-gradients.mlir
  }];
  let options = [
    ListOption<"patterns", "values", "std::string",
               "patterns of values that pass no gradient">,
  ];
}

def SelectParameters : TrainingPass<"mp-select-parameters"> {
  let summary = "Decide which constants a training step changes";
  let description = [{
    Before: the main graph has the value `loss` (or the one that `mp-add-loss`
    has marked); functions are inlined. After: each trained constant is an fp32
    graph input with its value as default, cast if it had another type; the
    graph names these inputs in `mp.trained`, and the module has a table of all
    candidates in `mp.parameters`.

    A float constant is trained if it has a role, that is, if it is used as a
    weight, bias, scale, table, position or token
    (include/mp-opt/Training/ParameterRoles.h). Constants of equal elements with
    a role in several modules are split, a copy for each. Then the user's lists
    decide: `train-only` and `freeze` take patterns for whole names, or `@FILE`
    with one name a line. Without `train-only`, the model's metadata
    `mp-opt.parameters` and `mp-opt.buffers` decide; they are JSON arrays of
    names. `tie` merges equal initializers into one, `untie` gives each module a
    copy.

    These are errors: a list with an unknown name, lists that contradict each
    other, a parameter that is not finite, and a loss without parameters.
    Doubtful roles and quantized weights give warnings.

    Example: test/Autodiff/mp-select-parameters.mlir
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "name of the loss">,
    ListOption<"trainOnly", "train-only", "std::string",
               "patterns or @FILE: parameters that are trained">,
    ListOption<"freeze", "freeze", "std::string",
               "patterns or @FILE: parameters that are not trained">,
    ListOption<"tie", "tie", "std::string",
               "names, separated by commas, that become one parameter">,
    ListOption<"untie", "untie", "std::string",
               "patterns: parameters of which each module gets a copy">,
  ];
}

def Differentiate : TrainingPass<"mp-differentiate"> {
  let summary = "Add the backward pass of a loss";
  let description = [{
    Before: the main graph has the value `loss` (or the one that `mp-add-loss`
    has marked), a float of one element; the opset is 18 at least;
    `mp-select-parameters` has made parameters inputs, or `wrt` names inputs,
    initializers and values. After: the graph holds their gradients, each an
    operand of an `mp.gradient`; the backward pass starts at an `mp.loss_seed`.
    If parameters are trained, running statistics of BatchNormalization in
    training mode are inputs, too, and their new values are `mp.update`s.
    Gradients use the training operators of com.microsoft if there is one.

    Pairs of QuantizeLinear and DequantizeLinear are errors, because rounding
    has no gradient. With `straight-through` they have the gradient of the
    identity within the range of the integers, and zero outside, as in fake
    quantization.

    An operator without a rule on the path is an error that names it and the
    path. It is also an error if the loss depends on a parameter only through
    operators without a derivative.

    Example: test/Autodiff/mp-differentiate.mlir
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "name of the value to differentiate">,
    ListOption<"wrt", "wrt", "std::string",
               "names of the values to differentiate with respect to">,
    Option<"outputs", "outputs", "bool", /*default=*/"false",
           "make the gradients outputs of the graph, named NAME_grad">,
    Option<"straightThrough", "straight-through", "bool", /*default=*/"false",
           "pass gradients through QuantizeLinear and DequantizeLinear where "
           "nothing is clipped">,
  ];
}

def DecomposeGradients : TrainingPass<"onnx-decompose-gradients"> {
  let summary = "Write gradient operators in standard ONNX";
  let description = [{
    Before: any model. After: no training operator of com.microsoft is left in
    the main graph, its subgraphs and the functions, except optimizers and
    accumulators that update their operands in place; the domain's import is
    removed with its last node. If such an operator cannot be expressed in the
    way it is used, that is an error.

    With `contractions`, only operators that become convolutions are rewritten.
    This run comes before the precision passes, which know convolutions.

    Example: test/Autodiff/onnx-decompose-gradients.mlir
  }];
  let options = [
    Option<"contractions", "contractions", "bool", /*default=*/"false",
           "rewrite only operators that become convolutions">,
  ];
}

#endif // MPOPT_PASSES_AUTODIFF_PASSES_TD
