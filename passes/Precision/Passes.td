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
  let dependentDialects = ["::mp::MPDialect", "::mp::onnxir::ONNXDialect"];
}

class AnnotatePass<string flag> : PrecisionPass<flag> {
  let options = [
    Option<"precision", "precision", "std::string", /*default=*/"\"\"",
           "16-bit type: bf16 or fp16; if empty, the module's type, or "
           "bf16">,
  ];
}

def AnnotateComposites : PrecisionPass<"mp-annotate-composites"> {
  let summary = "Mark nodes that together stand for one op";
  let description = [{
    After: every node of a decomposed normalization, softmax, loss, moment or
    exponential function has `mp.composite`: the name of the op that they stand
    for (`LayerNormalization`, `com.microsoft.SoftmaxGrad_13`), and a number
    that is the same for the nodes of one composite. `mp-classify` gives them
    the class of that op.

    The dataflow decides: a reduction of a pointwise function of x is combined
    with x again. Spelling, the order of operands, and casts and rearrangements
    in between do not matter. Left alone: scale and bias after a normalization,
    which may be 16 bit, and bodies of functions that are not specialized. A
    node of two composites belongs to the first one. Values inside a composite
    may be used elsewhere, too.

    Example: test/Precision/mp-annotate-composites.mlir
  }];
}

def AnnotateShapeArithmetic : PrecisionPass<"mp-annotate-shape-arithmetic"> {
  let summary = "Mark float arithmetic on sizes, indices and positions";
  let description = [{
    After: a node has `mp.shape_arithmetic` if its fp32 results are computed
    only from sizes and positions (Shape, Size, Range, CumSum, NonZero, a loop's
    counter) and constants, or if every use of them ends in an integer, an
    operand that holds sizes, or an angle. `mp-classify` keeps such nodes fp32,
    whatever lists say.

    The pass follows values through If, Loop, Scan and captures. Left alone:
    results of contractions, except products of a column and a row; results of
    contractions that are quantized to 8 bits; comparisons of data that decide
    an If. Existing marks of nodes (positions in the gradient of GridSample)
    stay.

    Example: test/Precision/mp-annotate-shape-arithmetic.mlir
  }];
}

def AnnotateLongReductions : AnnotatePass<"mp-annotate-long-reductions"> {
  let summary = "Mark sums of more elements than 16 bit can count";
  let description = [{
    After: reductions, pools, running sums, sums of operands and additions by
    index have `mp.hazard`, the reason as text, if they accumulate more than 256
    elements in bf16, 2048 in fp16, as far as static shapes tell. `mp-classify`
    keeps them fp32, whatever lists say. An existing mark of a hazard stays.

    Exempt: contractions, normalizations and softmaxes, which accumulate in fp32
    inside. An unknown extent counts as long if whole axes are reduced, and as
    short in a pool.

    Example: test/Precision/mp-annotate-long-reductions.mlir
  }];
}

def AnnotateUpdates : PrecisionPass<"mp-annotate-updates"> {
  let summary = "Mark the nodes of an optimizer";
  let description = [{
    After: nodes that depend on an `mp.gradient` have `mp.hazard`, and so have
    nodes that feed only these: decays of states and of parameters, corrections
    of bias. `mp-classify` keeps the optimizer's step in fp32, whatever lists
    say. The lists are not meant for these nodes (`mp.added`), so
    `mp-check-strict` does not count them as unfulfilled requests.

    Example: test/Precision/mp-annotate-updates.mlir
  }];
}

def AnnotateMasks : AnnotatePass<"mp-annotate-masks"> {
  let summary = "Mark constants that mask a softmax, and sums with masks";
  let description = [{
    Before: any module. After: a constant with large elements, such as -1e9 or
    the lowest fp32, carries `mp.clamp` if these would overflow in 16 bit, or in
    a sum there, and if everything that is computed from the constant ends in a
    softmax: in 16 bit, elements beyond +-`mp.clamp` may be replaced by it. The
    bound is half of the greatest finite number, or less if masks are added more
    than once. With it the softmax has the same zeros, and no NaN if a whole row
    is masked.

    A mask may pass through data movement, Where, Add, Sub, Min, Max, products
    with zeros and ones and with numbers, If, and into Exp or an attention op
    as well as Softmax. Left alone: infinities, constants that are used in
    another way too, graph outputs, and inputs of a LogSoftmax that shows them.

    Nodes carry `mp.hazard` that add a mask to scores, move or scale the sum on
    its way to a softmax, or take its exponential, if 16 bit would round scores
    next to the mask away and fp32 would not: next to -10000, bf16 has room for
    multiples of 64 only, and a row that is masked as a whole would lose its
    scores. Masks of -1e9 and beyond take them away in fp32 as well.

    Examples: test/Precision/mp-annotate-masks.mlir,
    test/Precision/mp-annotate-masks-sums.mlir
  }];
}

def AnnotateRanges : AnnotatePass<"mp-annotate-ranges"> {
  let summary = "Mark nodes that 16 bit would break";
  let description = [{
    Before: any module; `mp-annotate-masks` has run if masks are to be clamped.
    After: a node carries `mp.hazard`, the reason, if it would hold

    - a value whose range proves that finite elements overflow, or a constant
      with such elements, or a value computed from such a constant;
    - a constant that vanishes: all its nonzero elements become zero;
    - an epsilon or a bound on its way to the division, root, power or logarithm
      that it keeps away from zero, if it is not a normal number of the 16-bit
      type (fp16: below 6.1e-5) or would round to one.

    Ranges are computed from constants forward, in double, over subgraphs too;
    graph inputs and values that a loop carries are unknown, and unknown values
    prove nothing. Infinities, NaNs and signs are the same in 16 bit and are not
    a hazard. Constants that were read carry `mp.range`.

    Example: test/Precision/mp-annotate-ranges.mlir
  }];
}

def AnnotateStates : PrecisionPass<"mp-annotate-states"> {
  let summary = "Mark nodes through which iterations accumulate";
  let description = [{
    After: a node has `mp.hazard` if it lies on a cycle between a state of a
    Loop or Scan and the next value of this state (or of another state that
    depends on it), and the cycle computes something. `mp-classify` keeps it
    fp32, whatever lists say; its constants stay fp32 with it, and `mp-assign`
    gives the state that type.

    A product (contraction) ends a cycle. Left alone: states that are only
    moved, and nodes that only read a state.

    Example: test/Precision/mp-annotate-states.mlir
  }];
}

def AnnotateSensitiveValues : AnnotatePass<"mp-annotate-sensitive-values"> {
  let summary = "Mark nodes whose small errors decide results";
  let description = [{
    Before: any module; `mp-annotate-masks` has run if masks are to be clamped.
    After: a node carries `mp.hazard`, the reason, if its result

    - is an angle (Sin, Cos, Tan), up to and including the product, unless the
      phase is small;
    - becomes integers, is split into its whole and fractional part, or becomes
      coordinates (boxes, grids, regions); this covers the elementwise nodes up
      to the product, and the product itself if it is one of whole numbers, of a
      table of positions, of at most four terms, or of inputs;
    - is compared by ArgMin, ArgMax, TopK or Equal, and is the first product;
    - is a difference that may be near zero and that a logarithm, a root, a
      reciprocal or a division reads; its operands are marked, too;
    - is the sum with a constant (or a BatchNormalization with a mean) that is
      large next to the spread of the result;
    - is part of a squared distance x^2 - 2xc + c^2, or of a chain of factors
      near one;
    - in fp16, is a product of integers of unknown range.

    If angles or differences would mark products that take more than a tenth of
    the model's multiply-adds, these products stay unmarked; they carry
    `mp.costly`, the reason, and `mp-check-inputs` warns of them.

    Inputs of the main graph that the search reaches are in
    `mp.sensitive_inputs`, with the reason.

    include/mp-opt/Precision/Analysis/SensitiveValues.h has the rules.

    Example: test/Precision/mp-annotate-sensitive-values.mlir
  }];
}

def AnnotateRuntime : PrecisionPass<"mp-annotate-runtime"> {
  let summary = "Mark nodes that the runtime does not run in 16 bit";
  let description = [{
    `runtime` is NAME[:VERSION] of a table of lib/Schema/Runtimes. After: a node
    whose 16-bit form has no kernel there, at the opset in force, has
    `mp.no_kernel` with the reason; `mp-assign` keeps it fp32. A normalization
    whose statistics must have the type of its data there has `mp.one_type`; all
    of these operands are one type variable of the node then.

    Left alone: control flow and custom ops. Run the pass after the opset is
    raised: kernels belong to versions of an operator.

    Example: test/Precision/mp-annotate-runtime.mlir
  }];
  let options = [
    Option<"runtime", "runtime", "std::string", /*default=*/"\"\"",
           "NAME[:VERSION]">,
    Option<"precision", "precision", "std::string", /*default=*/"\"\"",
           "16-bit type: bf16 or fp16; if empty, the module's type, or "
           "bf16">,
  ];
}

def AnnotateObservedRanges : PrecisionPass<"mp-annotate-observed-ranges"> {
  let summary = "Mark nodes that 16 bit would break on the user's data";
  let description = [{
    Before: nodes and graphs carry statistics of their values in data
    (`mp.observed`, `mp.observed_inputs`), which --calibrate and --ranges leave;
    without them, nothing changes. After: a node has `mp.hazard`, the reason, if
    one of its results or operands

    - is not finite, or exceeds the 16-bit type when multiplied by `head-room`
      (0: 2 for inference, 4 for a training step), as may a partial sum of a sum
      or a mean;
    - in fp16, loses more than 2^-22 of its energy to numbers that become zero
      or subnormal;
    - divides, perhaps after a root, and has elements below the normal numbers.

    A hazard that only says what may happen (`mp.cautious`) is removed with
    `trust-data` if all values of the node are known and fit; `mp.harmless` then
    has the reason. Left alone: gradients, whose magnitude the loss scale
    decides, and nodes in subgraphs, except those that compute their results.

    Example: test/Precision/mp-annotate-observed-ranges.mlir
  }];
  let options = [
    Option<"precision", "precision", "std::string", /*default=*/"\"\"",
           "16-bit type: bf16 or fp16; if empty, the module's type, or "
           "bf16">,
    Option<"headRoom", "head-room", "double", /*default=*/"0",
           "factor by which values may exceed those of the data; 0: 2 or 4">,
    Option<"trustData", "trust-data", "bool", /*default=*/"false",
           "let 16 bit be where data rule out a possibility">,
  ];
}

def SetInputRanges : PrecisionPass<"mp-set-input-ranges"> {
  let summary = "Store the ranges that the user states for inputs";
  let description = [{
    After: the main graph has `mp.input_ranges`, the least and the greatest
    element of inputs, which the range analyses read. The option has texts such
    as `image:0..255`. A text of another form, an unknown input, one that is not
    float, and a range from a greater to a smaller number are errors.

    Example: test/Precision/mp-set-input-ranges.mlir
  }];
  let options = [
    ListOption<"ranges", "ranges", "std::string", "NAME:LOW..HIGH of inputs">,
  ];
}

def SetIOTypes : PrecisionPass<"mp-set-io-types"> {
  let summary = "Decide the types of graph inputs and outputs";
  let description = [{
    Before: any module; `mp-set-policy` has run if a policy has rules, and the
    analyses have marked what 16 bit would spoil. After: the module has
    `mp.wanted_inputs` and `mp.wanted_outputs`, the element types that the
    rules ask for and the graph does not have, or `none`. No type has changed.

    A rule is a type (fp32, fp16, bf16) for all inputs and outputs that are
    float tensors, or `PATTERN=TYPE`, a regular expression for whole names,
    which beats a type for all. With a type for all, a warning names what stays
    fp32: an input whose last digits decide results (`mp.sensitive_inputs`), and
    values that are known to exceed fp16. A pattern is obeyed, with a warning of
    the same. Left alone by a type for all: float64, integers, sequences, and
    inputs with a default.

    These are errors: a rule of another form, two rules of one rank that
    contradict each other, a pattern that matches nothing or only values whose
    type cannot change, a range of `mp.input_ranges` beyond the type, and rules
    for a graph that trains.

    Example: test/Precision/mp-set-io-types.mlir
  }];
  let options = [
    ListOption<"io", "io", "std::string", "TYPE or PATTERN=TYPE">,
  ];
}

def ConvertIO : PrecisionPass<"mp-convert-io"> {
  let summary = "Cast what inputs and outputs still need";
  let description = [{
    Before: `mp-set-io-types`, and `mp-simplify-casts` if precision was decided:
    inputs and outputs in the 16-bit type of the policy have it already. After:
    all inputs and outputs have the types that `mp-set-io-types` wants, and the
    names that they had. An input is cast once to the type that it had; a Cast
    that reads it reads the new type instead. An output that was widened is cast
    from the value before. It is an error if the opset has no such Cast. Without
    a policy, no mark is left.

    Example: test/Precision/mp-convert-io.mlir
  }];
}

def SetPolicy : PrecisionPass<"mp-set-policy"> {
  let summary = "Load the policy and store it on the module";
  let description = [{
    After: the module has `mp.policy`: the 16-bit type in use, and all settings
    of flags, list files, a policy file, gaudi_config.json and the model's
    metadata. All later passes read it there; no other pass reads a file.

    These are errors: an unknown precision, an unknown operator, an operator on
    two lists or twice on one, and a file that cannot be read.

    Options: `precision`, lists of operators (`allow`, `deny`, `promote`), of
    patterns for nodes (`allow-nodes`, `deny-nodes`) and of files
    (`allow-files`, `deny-files`, `promote-files`), `gaudi-config`, `policy` and
    `strict`, as include/mp-opt/Precision/Policy/PolicyRequest.h has them for
    flags as well.

    Example: test/Precision/mp-set-policy.mlir
  }];
}

def FoldQuantizedCasts : PrecisionPass<"mp-fold-quantized-casts"> {
  let summary = "Fold the model's casts next to quantized values";
  let description = [{
    Before: any module; `mp-classify` has run, if nodes are denied. After:
    DequantizeLinear yields 16 bit if its users are Casts to that type, and QuantizeLinear reads 16 bit
    if its data is a widening Cast; the Casts are gone. Exporters leave these
    around pairs that are fp32 in a 16-bit model. The scale becomes a constant of
    the type; a DequantizeLinear of an int32 constant becomes a constant.

    Left alone: nodes whose schema does not admit the type (below opset 19),
    those whose scale would be subnormal, zero or infinite, or is not a constant
    (below opset 23), nodes that are denied, and, with
    `keep-quantized-f32`, all.

    Example: test/Precision/mp-fold-quantized-casts.mlir
  }];
  let options = [
    Option<"keepQuantized", "keep-quantized-f32", "bool", /*default=*/"false",
           "change nothing">,
  ];
}

def Classify : PrecisionPass<"mp-classify"> {
  let summary = "Give every node a precision class and the reason for it";
  let description = [{
    Before: `mp-set-policy`. After: every node of the graph and its subgraphs
    has `mp.class`: `allow`, `deny`, `promote` or `follow`, the reason, the flag
    or line where the user asks for it, and any obstacle to a request for 16
    bit. The module has the types of the graph's inputs and outputs, which
    `mp-verify-precision` compares. If the pass runs again, it leaves classes as
    they are, except those of nodes that raising the opset has made and that the
    user's lists name.

    A rule for nodes beats the safety analyses (`mp.shape_arithmetic`,
    `mp.hazard`, if their passes have run), these beat the user's lists of
    operators, and these the built-in profile; allow and deny beat promote. A
    node of a composite (`mp.composite`) is denied if the op of that composite
    is denied. Always denied are calls of functions that are not specialized,
    custom ops, and values that a training algorithm names. Bodies of functions
    that are not specialized are left alone. A rule that selects no node, and
    two rules that contradict each other are errors.

    Example: test/Precision/mp-classify.mlir
  }];
}

def Assign : PrecisionPass<"mp-assign"> {
  let summary = "Decide the precision of every node";
  let description = [{
    Before: `mp-classify`. After: every node that reads or yields fp32 has
    `mp.precision`: the element type it is to run in, and the reason. No type
    has changed. Nodes that are 16 bit already are left alone.

    `assign=min-cut`: allow is 16 bit where the schema at the opset in force
    admits it, deny is fp32; the others are free. The pass chooses the
    assignment that moves the fewest bytes: 2 or 4 for each element of a value,
    and 6 more if it is cast, however many users need the cast. Ties go to fp32,
    as does arithmetic on inputs before the first product
    (mp-assign-inputs.mlir). A node that could amplify the rounding error of an
    operand (comparisons, Floor, Exp ...), or that the user's list promotes, is
    16 bit only if its operands are; a node from which no free path leads to an
    allowed one is fp32. Results of If, states of Loop and Scan, elements of
    sequences and the signatures of specialized functions are one variable each
    (`mp.precision` has their types); a state in which iterations accumulate is
    fp32. A comparison that tells which element a node took has the same
    precision as that node (mp-assign-choices.mlir).

    `assign=first-operand`: promote takes the widest of its operands, follow the
    first; control flow is fp32 at its borders. Constants and parameters take
    the type that their users need.

    With both rules, a constant that would overflow or vanish keeps its users
    fp32. No cast falls between DequantizeLinear and its users, or between
    QuantizeLinear and the node that yields its data: DequantizeLinear has the
    type of its users, and QuantizeLinear that of the node before it. Both stay
    fp32, and the product between them too, where the schema does not admit 16
    bit, or where a scale would be subnormal, zero or infinite
    (mp-assign-quantized.mlir).

    Remarks of category `mp-precision`: passed for a node that becomes 16 bit,
    missed for an allowed one that stays fp32, analysis for the others.

    Example: test/Precision/mp-assign.mlir
  }];
  let options = [
    Option<"rule", "assign", "std::string", /*default=*/"\"min-cut\"",
           "rule that decides nodes between allow and deny: min-cut or "
           "first-operand">,
    Option<"minSaving", "min-saving", "std::string", /*default=*/"\"\"",
           "percentage of its bytes that a 16-bit region must save, or it stays "
           "fp32; empty: none">,
    ListOption<"dims", "dim", "std::string",
               "NAME=SIZE: size assumed for a symbolic dimension; others count "
               "as 32">,
    Option<"maxWeightCopy", "max-weight-copy", "int64_t", /*default=*/"4096",
           "bytes up to which a constant with 16-bit and fp32 users is stored "
           "in both types instead of cast">,
    Option<"keepQuantized", "keep-quantized-f32", "bool", /*default=*/"false",
           "keep QuantizeLinear, DequantizeLinear and the products between them "
           "fp32, for runtimes with integer kernels for fp32 pairs only">,
    Option<"ownScales", "own-scales", "bool", /*default=*/"false",
           "the runtime computes with fp32 scales next to 16-bit floats, which "
           "opset 23 admits; else pairs whose scale 16 bit does not hold stay "
           "fp32">,
    Option<"microsoftPairs", "microsoft-pairs", "bool", /*default=*/"false",
           "the runtime takes QuantizeLinear and DequantizeLinear of "
           "com.microsoft with 16-bit floats; else they stay fp32">,
    Option<"requantizedBiases", "requantized-biases", "bool",
           /*default=*/"true",
           "the runtime may quantize constant biases again, with the product of "
           "both scales; in fp16, products for which it would be subnormal stay "
           "fp32">,
    Option<"proveOptimum", "prove-optimum", "bool", /*default=*/"false",
           "fail unless no other assignment is better than the minimum cut, by "
           "trying all; for tests">,
  ];
}

def CheckStrict : PrecisionPass<"mp-check-strict"> {
  let summary = "Check that 16 bit is granted where the user asked for it";
  let description = [{
    Before: `mp-assign`. After: no change. If the policy is strict, an error
    lists every node for which a list or rule of the user asks for 16 bit and
    which does not get it: its schema does not admit the type, or it is of a
    kind that always stays fp32. The safety analyses overrule lists, and that is
    not an error; neither is a request that comes only from the built-in lists.
    `mp-opt` ends with exit code 4.

    Example: test/Precision/mp-check-strict.mlir
  }];
}

def CheckInputs : PrecisionPass<"mp-check-inputs"> {
  let summary = "Warn of 16-bit nodes at risk, e.g. squares of inputs in fp16";
  let description = [{
    Before: `mp-assign`, and no type has changed. After: no change. A warning
    names products with `mp.costly` that are 16 bit. In fp16, a warning names
    the first nodes, and how many there are, that are 16 bit and compute or read
    a power of a graph input whose range is unknown, a product of it with
    itself, a sum of its squares, or a sum of more than 64 of its elements:
    these overflow first if inputs are large. It also names the `--deny-node`
    that keeps these nodes fp32.

    Followed through data movement, sums, choices, and factors of known range.
    Left alone: nodes after a bound, a normalization, a root, a division
    by a computed value or a contraction with weights, nodes that a rule of the
    user names, parameters, and bf16, which has the range of fp32.

    Example: test/Precision/mp-check-inputs.mlir
  }];
}

def InsertCasts : PrecisionPass<"mp-insert-casts"> {
  let summary = "Give values the assigned types and cast between them";
  let description = [{
    Before: `mp-assign`. After: nodes assigned 16 bit take and yield it, all
    other uses see fp32 as before. A value is cast once per type, right after
    its definition, so that subgraphs capture the cast value. Graph inputs and
    outputs keep types and names, except for those to which `mp-set-io-types`
    gives the 16-bit type, which keep their names; casts carry `mp.inserted`.

    Results of DequantizeLinear are not cast: users of another type get a node
    of their own. An int32 constant (a bias) that 16-bit nodes want dequantized
    becomes a constant. From opset 23 on, a scale gets the type of the floats if
    this type holds it, as opsets 19 to 22 demand and most runtimes expect; else
    `output_dtype` says the type.

    Example: test/Precision/mp-insert-casts.mlir
  }];
}

def SimplifyCasts : PrecisionPass<"mp-simplify-casts"> {
  let summary = "Move and remove inserted casts";
  let description = [{
    Before: `mp-insert-casts`. After: no inserted cast is unused, none widens a
    value only to narrow it back, and none narrows the result of data movement
    that could have moved the narrow value instead (because it grows its
    operand, or because its operand is cast already). A narrowing that is
    widened again rounds, and stays. A cast of the model from integers or truth
    values to fp32 whose result is only narrowed yields 16 bit itself; other
    casts of the model are left alone.

    Example: test/Precision/mp-simplify-casts.mlir
  }];
}

def ConvertWeights : PrecisionPass<"mp-convert-weights"> {
  let summary = "Convert constants that are only used in 16 bit";
  let description = [{
    Before: `mp-insert-casts`. After: if every use of an initializer, `Constant`
    or `ConstantOfShape` was an inserted cast to one type, it has that type, and
    the casts are gone. A constant that fp32 nodes use as well is stored in both
    types if its 16-bit form has at most `max-weight-copy` bytes, and is cast at
    use if it is bigger. Small values are converted now, big ones while the
    model is written. Left alone: defaults of graph inputs, graph outputs,
    sparse initializers, and values that a training algorithm names.

    A constant with `mp.clamp` is clamped when it is converted, and also if it
    stays fp32 but a value computed from it is narrowed. Remarks at the constant
    say how many elements were clamped, how many became zero or lose precision
    as subnormals, and why a constant stayed fp32; the module counts the first
    two.

    Example: test/Precision/mp-convert-weights.mlir
  }];
  let options = [
    Option<"maxWeightCopy", "max-weight-copy", "int64_t", /*default=*/"4096",
           "bytes up to which a constant is stored in both types">,
  ];
}

def StoreWeights : PrecisionPass<"mp-store-weights"> {
  let summary = "Store weights in 16 bit that fp32 nodes read";
  let description = [{
    Before: `mp-convert-weights`. After: an fp32 initializer of at least
    `min-bytes` is 16 bit, with a cast to fp32 for its readers, if each of them
    is fp32 only because of `mp.no_kernel`: nodes that the policy allows, and
    look-ups in a table; movements of data in between do not matter.

    Left alone: vectors, weights that overflow or lose digits in 16 bit, those
    with a reader that the policy or an analysis keeps fp32, graph outputs, and
    scopes whose Cast does not admit the type.

    Example: test/Precision/mp-store-weights.mlir
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"512",
           "fp32 bytes from which a weight is worth a cast">,
  ];
}

def NarrowSaved : PrecisionPass<"mp-narrow-saved"> {
  let summary = "Keep 16-bit copies for the backward pass";
  let description = [{
    Before: `mp-simplify-casts`. After: where the forward pass of a graph that
    trains has a value in fp32 and in 16 bit, nodes after it read the latter,
    through a cast before the first of them: what is kept in between is 16
    bit. The values of the forward pass do not change. fp32 values without a
    copy stay: a normalization's statistics, a loss's log-probabilities.
    Comparisons that tell which element a node took (a maximum's gradient), and
    differences of what a node read and what it yielded (a log-sum's), take both
    unrounded: with one of them rounded, nothing would be equal. So do nodes
    with `mp.shape_arithmetic`, which compute positions.

    Example: test/Precision/mp-narrow-saved.mlir
  }];
}

def VerifyPrecision : PrecisionPass<"mp-verify-precision"> {
  let summary = "Check that the decision was carried out, and clean up";
  let description = [{
    Before: the other passes. After: the pass has proved that every node has the
    types that `mp.precision` asks for, that the graph's inputs and outputs have
    the types that they had, and that operands that are updated in place are not
    cast. Casts that lose nothing between the types that values have now are gone
    (as by `onnx-remove-casts`). All `mp.` attributes are gone except the module's `mp.summary`, which
    counts nodes by precision and casts. With `keep-marks` they stay, for a
    report that is made afterwards.

    Remarks of category `mp-precision`: analysis for every inserted cast that is
    left, with the bytes that it reads and writes, and with its users.

    Example: test/Precision/mp-verify-precision.mlir
  }];
  let options = [
    Option<"keepMarks", "keep-marks", "bool", /*default=*/"false",
           "leave the marks of the passes in the module">,
  ];
}

def CheckRuntime : PrecisionPass<"mp-check-runtime"> {
  let summary = "Check that a runtime runs every node as it is";
  let description = [{
    `runtime` is NAME[:VERSION] of a table of lib/Schema/Runtimes. After: no
    change. An error names the first node for which neither the runtime nor its
    fallback has a kernel for the types that the node has, one whose operands
    must have one type and do not, or an opset that the runtime does not read;
    notes name further ones. With `lenient` it is a warning.

    Conversions that the runtime inserts itself count, and so do functions that
    define an operator where the runtime inlines them.

    Example: test/Precision/mp-check-runtime.mlir
  }];
  let options = [
    Option<"runtime", "runtime", "std::string", /*default=*/"\"\"",
           "NAME[:VERSION]">,
    Option<"lenient", "lenient", "bool", /*default=*/"false",
           "warn instead of failing">,
  ];
}

def Emulate : PrecisionPass<"mp-emulate"> {
  let summary = "Rewrite 16-bit values as fp32 values that are rounded";
  let description = [{
    Before: a model with 16-bit values. After: every such value is fp32 and is
    rounded by a Cast to the 16-bit type followed by a Cast back, so that any
    runtime shows what 16-bit storage does. Constants are fp32 with the rounded
    values. Graph inputs and outputs and custom ops keep their types: values are
    cast there. So do calls of functions, except those that have a clone of
    `onnx-specialize-functions`; the clones are emulated with the graph.

    Example: test/Precision/mp-emulate.mlir
  }];
}

def WidenFloats : PrecisionPass<"onnx-widen-floats"> {
  let summary = "Turn every float of the main graph into float64";
  let description = [{
    After: every fp32, fp16 and bf16 value of the main graph and its subgraphs
    is float64, inputs, outputs and constants included, so that the model is its
    own reference. Names stay. If the schema does not admit float64 (scales of
    Resize, calls of functions, ops without a schema), the node keeps its types
    between casts. Casts to a float become casts to float64, and normalizations
    of one result compute their statistics in it.

    Left alone: bodies of functions; `onnx-inline-functions` inlines them
    before.

    Example: test/Precision/onnx-widen-floats.mlir
  }];
}

#endif // MPOPT_PASSES_PRECISION_PASSES_TD
