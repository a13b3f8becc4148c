//===- Passes.td - Passes that decide and apply precision --*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PRECISION_PASSES_TD
#define MPOPT_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

class PrecisionPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mp::onnxir::ONNXDialect"];
}

class AnnotatePass<string flag> : PrecisionPass<flag> {
  let options = [
    Option<"precision", "precision", "std::string", /*default=*/"\"bf16\"",
           "16-bit type: bf16 or fp16">,
  ];
}

def AnnotateMasks : AnnotatePass<"mp-annotate-masks"> {
  let summary = "Mark constants that only mask a softmax";
  let description = [{
    Before: any module. After: a constant with large elements, -1e9 or the
    lowest fp32 say, carries `mp.clamp` if these would overflow in 16 bit, or
    in a sum there, and if everything made of the constant ends in a softmax:
    in 16 bit, elements beyond +-`mp.clamp` may become it. The bound is half of
    the greatest finite number, less where masks are added more than once; with
    it the softmax has the same zeros, and no NaN where a whole row is masked.

    A mask may pass through data movement, Where, Add, Sub, Min, Max, products
    with zeros and ones and with numbers, If, and into Exp or an attention op
    as well as Softmax. Left alone: infinities, constants that are used in
    another way too, graph outputs, and inputs of a LogSoftmax that shows them.

    Example: test/Precision/mp-annotate-masks.mlir
  }];
}

def AnnotateRanges : AnnotatePass<"mp-annotate-ranges"> {
  let summary = "Mark nodes that 16 bit would break";
  let description = [{
    Before: any module, after `mp-annotate-masks` where masks are to be
    clamped. After: a node carries `mp.hazard`, the reason, if it would hold

    - a value of which the range proves that finite elements overflow, or a
      constant with such elements, or a value made of such a constant;
    - a constant that vanishes: all that is not zero becomes zero;
    - an epsilon or a bound on its way to the division, root, power or
      logarithm that it keeps off zero, if it is no normal number of the 16-bit
      type (fp16: below 6.1e-5) or would round to one.

    Ranges are computed from constants forward, in double, over subgraphs too;
    graph inputs and what a loop carries are unknown, and unknown proves
    nothing. Infinities, NaNs and signs are the same in 16 bit and are no
    hazard. Constants read on the way carry `mp.range`.

    Example: test/Precision/mp-annotate-ranges.mlir
  }];
}

def Classify : PrecisionPass<"mp-classify"> {
  let summary = "Give every node a precision class and the reason for it";
  let description = [{
    Before: a module with one `onnx.graph`. After: every node of the graph and
    its subgraphs has `mp.class` (`allow`, `deny`, `promote` or `follow`) and
    `mp.reason`; the module has `mp.low`, the 16-bit type in use, and the types
    of the graph's inputs and outputs, which `mp-verify-precision` compares.

    A node override beats the user's lists, these beat the built-in profile;
    allow and deny beat promote. Denied whatever the lists say: control flow,
    function calls, custom ops, ops on sequences, values that a training
    algorithm names, float arithmetic that computes shapes or indices, and, but
    for node overrides, nodes with `mp.hazard`.
    Bodies of functions that are not specialized are left alone. An operator that nobody
    knows, one on two lists, and a pattern that matches no node are errors.

    Example: test/Precision/mp-classify.mlir
  }];
  let options = [
    Option<"precision", "precision", "std::string", /*default=*/"\"bf16\"",
           "16-bit type: bf16 or fp16">,
    ListOption<"allow", "allow", "std::string",
               "operators that run in 16 bit">,
    ListOption<"deny", "deny", "std::string", "operators that stay fp32">,
    ListOption<"promote", "promote", "std::string",
               "operators that run in the widest type of their operands">,
    ListOption<"allowNodes", "allow-nodes", "std::string",
               "regular expressions for whole names of nodes that run in 16 "
               "bit">,
    ListOption<"denyNodes", "deny-nodes", "std::string",
               "regular expressions for whole names of nodes that stay fp32">,
  ];
}

def Assign : PrecisionPass<"mp-assign"> {
  let summary = "Decide the precision of every node";
  let description = [{
    Before: `mp-classify`. After: every node that reads or yields fp32 has
    `mp.precision`, the element type it is to run in, and `mp.because`, the
    reason. No type has changed. Nodes that are 16 bit already are left alone.

    `assign=min-cut`: allow is 16 bit where the schema at the opset in force
    admits it, deny is fp32; the others are free, and of all assignments that
    one is taken that moves the fewest bytes: 2 or 4 for each element of a
    value, and 6 more where it is cast, once however many want it. Ties go to
    16 bit. A node in which rounding an operand could do more harm than rounding
    does (comparisons, Floor, Exp ...), or that the user's list promotes, is 16
    bit only if its operands are; a node from which no free path leads to an
    allowed one is fp32. Results of If, states of Loop and Scan, elements of
    sequences and the signatures of specialized functions are one variable each
    (`mp.slots` has their types); a state that iterations accumulate in is fp32.

    `assign=first-operand`: promote takes the widest of its operands, follow the
    first; control flow is fp32 at its borders. Constants and parameters take
    what their users want.

    With both, a constant that would overflow or vanish keeps its users fp32.

    Remarks of category `mp-precision`: passed for a node that becomes 16 bit,
    missed for an allowed one that stays fp32, analysis for the others.

    Example: test/Precision/mp-assign.mlir
  }];
  let options = [
    Option<"rule", "assign", "std::string", /*default=*/"\"min-cut\"",
           "rule that decides nodes between allow and deny: min-cut or "
           "first-operand">,
    Option<"minSaving", "min-saving", "std::string", /*default=*/"\"\"",
           "percentage of its bytes that a 16-bit region must save to be one; "
           "empty: none">,
    ListOption<"dims", "dim", "std::string",
               "NAME=SIZE: what a symbolic dimension counts for; others count "
               "for 32">,
    Option<"maxWeightCopy", "max-weight-copy", "int64_t", /*default=*/"4096",
           "bytes up to which a constant with 16-bit and fp32 users is stored "
           "in both types instead of cast">,
    Option<"proveOptimum", "prove-optimum", "bool", /*default=*/"false",
           "fail unless no other assignment is better than the minimum cut, by "
           "trying all; for tests">,
  ];
}

def InsertCasts : PrecisionPass<"mp-insert-casts"> {
  let summary = "Give values the assigned types and cast between them";
  let description = [{
    Before: `mp-assign`. After: nodes assigned 16 bit take and yield it, all
    other uses see fp32 as before. A value is cast once per type, right after
    its definition, so that subgraphs capture the cast value. Graph inputs and
    outputs keep types and names; casts carry `mp.inserted`.

    Example: test/Precision/mp-insert-casts.mlir
  }];
}

def SimplifyCasts : PrecisionPass<"mp-simplify-casts"> {
  let summary = "Move and remove inserted casts";
  let description = [{
    Before: `mp-insert-casts`. After: no inserted cast is unused, none widens
    a value only to narrow it back, and none narrows the result of data
    movement that could as well have moved the narrow value: one that grows
    its operand, or whose operand is cast already. A narrowing that is widened
    again rounds, and stays. The model's own casts are left alone.

    Example: test/Precision/mp-simplify-casts.mlir
  }];
}

def ConvertWeights : PrecisionPass<"mp-convert-weights"> {
  let summary = "Convert constants that are only used in 16 bit";
  let description = [{
    Before: `mp-insert-casts`. After: an initializer, `Constant` or
    `ConstantOfShape` of which every use was an inserted cast to one type has
    that type, and the casts are gone; one that fp32 nodes use as well is stored
    in both types if its 16-bit form has at most `max-weight-copy` bytes, and
    cast at use if it is bigger. Small values are converted now, big
    ones while the model is written. Left alone: defaults of graph inputs,
    graph outputs, sparse initializers, and values that a training algorithm
    names.

    A constant with `mp.clamp` is clamped as it is converted, and also where it
    stays fp32 but something made of it is narrowed. Remarks at the constant
    say what was clamped, how many elements became zero or lose precision as
    subnormals, and what kept a constant fp32; the module counts the first two.

    Example: test/Precision/mp-convert-weights.mlir
  }];
  let options = [
    Option<"maxWeightCopy", "max-weight-copy", "int64_t", /*default=*/"4096",
           "bytes up to which a constant is stored in both types">,
  ];
}

def VerifyPrecision : PrecisionPass<"mp-verify-precision"> {
  let summary = "Check that the decision was carried out, and clean up";
  let description = [{
    Before: the other passes. After: every node is proved to have the types
    that `mp.precision` asks for, the graph's inputs and outputs to have those
    they had, and operands that are updated in place to be cast nowhere. All
    `mp.` attributes are gone but the module's `mp.summary`, which counts nodes
    by precision and casts.

    Example: test/Precision/mp-verify-precision.mlir
  }];
}

def Emulate : PrecisionPass<"mp-emulate"> {
  let summary = "Rewrite 16-bit values as fp32 values that are rounded";
  let description = [{
    Before: a model with 16-bit values. After: every such value is fp32 and is
    rounded by a Cast to the 16-bit type followed by a Cast back, so that any
    runtime shows what 16-bit storage does. Constants are fp32 with the rounded
    values. Graph inputs and outputs, custom ops and function calls keep their
    types: values are cast there.

    Example: test/Precision/mp-emulate.mlir
  }];
}

#endif // MPOPT_PASSES_PRECISION_PASSES_TD
