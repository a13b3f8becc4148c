//===- Passes.td - Passes over whole models ----------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_GRAPH_PASSES_TD
#define MPOPT_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseOpset : Pass<"onnx-raise-opset", "::mlir::ModuleOp"> {
  let summary = "Raise the opset of a model where nodes keep their meaning";
  let description = [{
    With `to`: after it the model imports that version of `domain`; an error
    names the node that has no form there.

    Without: after `mp-classify`, the default domain is raised to the lowest
    version at which the allowed ops admit the 16-bit type (bf16 and Conv: 22).
    If a node stands against it nothing changes, and a missed remark of
    category `mp-precision` names the node and what stays fp32. Graphs with ops
    that update operands in place are left alone: the runtimes for them stop
    at earlier opsets.

    Each node goes from version to version of its op, from opset 7 to the
    newest that ONNX knows:

    - Where only types changed, or what was added means nothing where it is
      absent, the node stays as it is.
    - Sizes and axes that became inputs of the same name (Squeeze, Slice,
      ReduceMean, Split ...) move into constants beside the node.
    - For all other changes there is an adapter: numbers that became inputs
      (Clip, Pad, TopK, Dropout, DFT), Softmax and its like (over one axis, not
      all from one on), Upsample and Resize-10, BatchNormalization, Scatter,
      Scan-8, GroupNormalization, GridSample, RoiAlign, QuantizeLinear, Split.
    - Refused are integers in Erf and ReduceLogSum(Exp), saved statistics of
      BatchNormalization that are in use, statistics per feature in training,
      lengths of sequences in Scan-8, Resize's mode tf_half_pixel_for_nn except
      for nearest elements, and attributes that a function's callers may leave
      out where they became inputs.

    New nodes are marked as `mp-classify` would mark them: constants and sizes
    deny, data movement follows. Values and nodes keep their names.

    Functions are raised with the model where their nodes would otherwise have
    other schemas than the model's. The IR version rises with the opset.

    Example: test/Precision/onnx-raise-opset-adapters.mlir
  }];
  let options = [
    Option<"domain", "domain", "std::string", /*default=*/"\"\"",
           "domain to raise; empty for the default one">,
    Option<"to", "to", "int64_t", /*default=*/"0",
           "version to raise to; 0 for what the 16-bit type needs">,
    Option<"limit", "limit", "int64_t", /*default=*/"25",
           "newest version to raise to without `to`: what comes later few "
           "runtimes load">,
  ];
  let dependentDialects = ["::mp::onnxir::ONNXDialect"];
}

#endif // MPOPT_PASSES_GRAPH_PASSES_TD
