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
    After: the graph's first output is the loss, a scalar, of the output that
    `loss` names or of its first float output; what it is compared with is the
    input `labels`. Several losses are added up, by their weights; each is an
    output too then, `loss.KIND`, and what the second is compared with is the
    input `labels_2`. The graph is marked `mp.loss`, the nodes that were added
    `mp.hazard`: they stay fp32.

    Example: test/Autodiff/mp-add-loss.mlir
  }];
  let options = [
    ListOption<"losses", "loss", "std::string",
               "losses, as --loss of mp-opt has them; one with a comma stands "
               "in braces">,
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
               "REGEX:key=value,... for parameters whose names match; one with "
               "a comma stands in braces">,
    Option<"average", "average", "std::string", /*default=*/"\"\"",
           "ema:decay=0.999 for a moving average of the parameters">,
    Option<"accumulate", "accumulate", "int64_t", /*default=*/"1",
           "steps whose gradients are averaged for one update">,
  ];
}

def CheckExport : TrainingPass<"mp-check-export"> {
  let summary = "Warn of what an export for inference has settled";
  let description = [{
    Before: a forward model that is to be trained. Nothing changes. A warning
    for each kind of thing that makes the step another one than the framework's,
    with the number of nodes, the first names, and the exporter's flag that
    keeps it: BatchNormalization with stored statistics, or folded into Conv by
    torch's exporters, whose names for the result tell it, Dropout that drops
    nothing, and batches of one size only, by shapes that are constants or by
    inputs. Where a caller decides, or nobody can tell, nothing is said.

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

    Names that an algorithm or a binding takes and nobody defines are errors.
    An initialization is left out, with a warning.

    Example: test/Autodiff/mp-inline-training.mlir
  }];
}

def ExpandTraining : TrainingPass<"mp-expand-training"> {
  let summary = "Write Gradient and the standard's optimizers in other ops";
  let description = [{
    After: the main graph has no node of ai.onnx.preview.training. A Gradient
    is the backward pass that it stands for, from an `mp.loss_seed` to an
    `mp.gradient` for each result; where its operands are not the values that
    it names, of a copy of the graph. Adam, Momentum and Adagrad are their
    specification's formulas.

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
    torch's exports without metadata the only row of zeros, with a warning.
    Where an exporter has folded `detach` away, a warning names who reads it.

    An Identity after the next value of a buffer has the buffer's name as
    `mp.next_buffer`, by the signature in the metadata of torch's newer exporter,
    or by `mp-opt.next_buffers` of the model. Of a buffer that the signature
    says is updated, without its next value in the graph, a warning tells.
    A BatchNormalization that this exporter has written for inference, although
    its metadata call the operator of training, is one of training.

    A pattern that matches no value which a node computes, and a row that the
    table has not, are errors; an alternative of a pattern that matches nothing
    is a warning.

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
    has marked); functions are inlined. After: what is trained is an fp32 graph
    input with its value as default, cast where it was another type; the graph
    names these inputs in `mp.trained`, and the module has a table of all
    candidates in `mp.parameters`.

    A float constant is trained if it has a role: a place where weights,
    biases, scales, tables, positions or tokens stand
    (include/mp-opt/Training/ParameterRoles.h). Constants of equal elements with
    a role in several modules are split, a copy for each. Then the user's lists
    decide: `train-only` and `freeze` take patterns for whole names, or `@FILE`
    with one name a line; without `train-only`, the model's metadata
    `mp-opt.parameters` and `mp-opt.buffers` do, JSON arrays of names. `tie`
    makes equal initializers one, `untie` gives each module a copy.

    A list with a name that is not there, lists that contradict each other, a
    parameter that is not finite, and a loss without parameters are errors.
    Roles that are in doubt and quantized weights are warnings.

    Example: test/Autodiff/mp-select-parameters.mlir
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "name of the value that is minimized">,
    ListOption<"trainOnly", "train-only", "std::string",
               "patterns or @FILE: parameters that are trained">,
    ListOption<"freeze", "freeze", "std::string",
               "patterns or @FILE: parameters that are not trained">,
    ListOption<"tie", "tie", "std::string",
               "names, separated by commas, of what becomes one parameter">,
    ListOption<"untie", "untie", "std::string",
               "patterns: parameters that each module gets a copy of">,
  ];
}

def Differentiate : TrainingPass<"mp-differentiate"> {
  let summary = "Add the backward pass of a loss";
  let description = [{
    Before: the main graph has the value `loss` (or the one that `mp-add-loss`
    has marked), a float of one element; the opset is 18 at least;
    `mp-select-parameters` has made inputs of what is trained, or `wrt` names
    inputs, initializers and values. After: the graph holds their gradients,
    each an operand of an `mp.gradient`; the backward pass starts at an
    `mp.loss_seed`. Where parameters are trained, running statistics of
    BatchNormalization in training mode are inputs too, whose new values are
    `mp.update`s. Gradients are written in the com.microsoft training vocabulary
    where it has an operator.

    Pairs of QuantizeLinear and DequantizeLinear are errors, for rounding has no
    gradient; with `straight-through` they have that of the identity inside of
    what the integers can hold, and none outside, as fake quantization has.

    An operator without a rule on the way is an error that names it and the
    way; so is a parameter that the loss depends on only through operators
    without a derivative.

    Example: test/Autodiff/mp-differentiate.mlir
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "name of the value to differentiate">,
    ListOption<"wrt", "wrt", "std::string",
               "names of what to differentiate with respect to">,
    Option<"outputs", "outputs", "bool", /*default=*/"false",
           "make the gradients outputs of the graph, named NAME_grad">,
    Option<"straightThrough", "straight-through", "bool", /*default=*/"false",
           "pass gradients by QuantizeLinear and DequantizeLinear where nothing "
           "is clipped">,
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
