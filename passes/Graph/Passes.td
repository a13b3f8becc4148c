//===- Passes.td - Passes over whole models ----------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_GRAPH_PASSES_TD
#define MPOPT_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

class GraphPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mp::onnxir::ONNXDialect"];
}

def RaiseOpset : GraphPass<"onnx-raise-opset"> {
  let summary = "Raise the opset of a model where nodes keep their meaning";
  let description = [{
    With `to` or `at-least`: the model imports that version of `domain`
    afterwards; an error names a node that has no form in it.

    Without these options, after `mp-classify`: the default domain is raised to
    the lowest version at which the allowed ops admit the 16-bit type (bf16 and
    Conv: 22; DequantizeLinear and QuantizeLinear next to them: 19), and Cast
    the types that `mp-set-io-types` wants. If a node prevents that, nothing
    changes, and a missed remark of
    category `mp-precision` names this node and the nodes that stay fp32;
    reports find it in `mp.opset_obstacle`. Graphs with ops that update operands
    in place are left alone: the runtimes for them stop at earlier opsets. A
    model that is older than all that `runtime` reads is raised to the first
    opset that it reads, unless a node prevents that.

    Each node goes from version to version of its op, from opset 7 to the
    newest that ONNX knows:

    - If only types changed, or if the additions mean nothing when they are
      absent, the node stays as it is.
    - Sizes and axes that became inputs of the same name (Squeeze, Slice,
      ReduceMean, Split ...) move into constants next to the node.
    - For all other changes there is an adapter: numbers that became inputs
      (Clip, Pad, TopK, Dropout, DFT), Softmax and similar operators (over one
      axis instead of all axes from one on), Upsample and Resize-10,
      BatchNormalization, Scatter, Scan-8, GroupNormalization, GridSample,
      RoiAlign, QuantizeLinear, Split.
    - These are refused: integers in Erf and ReduceLogSum(Exp), saved statistics
      of BatchNormalization that are in use, statistics per feature in training,
      lengths of sequences in Scan-8, Resize's mode tf_half_pixel_for_nn except
      for nearest elements, and attributes that became inputs and that a
      function's callers may leave out.

    New nodes are marked as `mp-classify` would mark them: constants and sizes
    deny, data movement follows. Values and nodes keep their names.

    Functions are raised with the model if their nodes would otherwise have
    other schemas than the model's. The IR version rises with the opset.

    Example: test/Precision/onnx-raise-opset-adapters.mlir
  }];
  let options = [
    Option<"domain", "domain", "std::string", /*default=*/"\"\"",
           "domain to raise; empty for the default one">,
    Option<"to", "to", "int64_t", /*default=*/"0",
           "version to raise to; 0 for the one that the 16-bit type needs">,
    Option<"atLeast", "at-least", "int64_t", /*default=*/"0",
           "like `to`, but newer versions stay">,
    Option<"limit", "limit", "int64_t", /*default=*/"25",
           "newest version to raise to without `to`; few runtimes load newer "
           "ones">,
    Option<"runtime", "runtime", "std::string", /*default=*/"\"\"",
           "without `to`, the runtime that the model is for, NAME[:VERSION]; no "
           "node loses a kernel that it has there">,
    Option<"keepQuantized", "keep-quantized-f32", "bool", /*default=*/"false",
           "without `to`: QuantizeLinear and DequantizeLinear stay fp32, and "
           "need no version">,
  ];
}

def RemoveCasts : GraphPass<"onnx-remove-casts"> {
  let summary = "Remove casts of the model that lose nothing";
  let description = [{
    After: these casts of the model are gone, in the graph, its subgraphs and
    functions:

    - casts to the type that the operand has already,
    - casts that give back what another one has widened, such as fp16 to fp32
      to fp16; of two casts in a row, the first, if it loses nothing and has no
      other user (boolean to int64 to fp32),
    - casts of small constants of whole numbers that fit: the constant has the
      type.

    Left alone: casts whose result is an output of a graph, which keep its name,
    casts that narrow, casts for which the user has a rule, and graphs in which
    no node is to become 16 bit.

    Example: test/Graph/onnx-remove-casts.mlir
  }];
}

def DecomposeRecurrent : GraphPass<"onnx-decompose-recurrent"> {
  let summary = "Write LSTM, GRU and RNN as Scan";
  let description = [{
    After: the main graph and its subgraphs have no LSTM, GRU or RNN; for each
    direction there is a Scan, whose body has the arithmetic of a step. All of
    these operators' attributes and operands are covered: peepholes, lengths of
    sequences, initial states, clipping, coupled gates, both layouts, all
    activations. Sizes may be unknown. The opset must be 13 at least.

    Example: test/Graph/onnx-decompose-recurrent.mlir
  }];
}

def CheckDimensions : GraphPass<"onnx-check-dimensions"> {
  let summary = "Refuse sizes for dimensions that a model does not have";
  let description = [{
    After: the module, which is unchanged, has a dimension of each name in
    `dims`, of an input, an output or a described value. An unknown name is an
    error, which suggests the nearest name that the module has. Later passes
    only use sizes as estimates and would ignore a misspelt name.

    Example: test/Graph/onnx-check-dimensions.mlir
  }];
  let options = [
    ListOption<"dims", "dims", "std::string", "sizes as in NAME=SIZE">,
  ];
}

def FixSizes : GraphPass<"onnx-fix-sizes"> {
  let summary = "Fix sizes that the inputs of a model leave open";
  let description = [{
    After: dimensions of inputs with a name in `fixed` have its size. If an
    input of that name is one whole number, it is replaced by the size, whatever
    the caller gives. `onnx-fold-constants` then computes the consequences for
    other values. A name that no input has is an error.

    Example: test/Graph/onnx-fix-sizes.mlir
  }];
  let options = [
    ListOption<"fixed", "fixed", "std::string", "sizes as in NAME=SIZE">,
  ];
}

def FoldConstants : GraphPass<"onnx-fold-constants"> {
  let summary = "Resolve control flow that sizes and constants decide";
  let description = [{
    After: in the main graph and its subgraphs there is no If whose condition is
    known, and no Loop that is known to run never, once, or a few times. A value
    is known if it follows from constants and sizes by arithmetic on small
    tensors of integers and booleans; some of their elements may be unknown. The
    branch or copies of the body replace the node. Nodes of a branch, and
    weights in it, keep their names unless others have the same names.

    Types are updated: if a result's rank was unknown, and known shapes
    determine it, the node reads these shapes as constants. Values on which no
    type or control flow depends stay as they are, including arithmetic on
    sizes; floats are never folded. Graph inputs with defaults are not
    constants.

    A Loop of several iterations is unrolled if that makes 64 nodes at most: a
    copy of a larger body costs more to compile and to load than the
    bookkeeping of a Loop costs to run. Nodes that are known in an iteration,
    and branches that it does not take, are not counted. For a Loop that
    collects tensors in a sequence, which has no gradient otherwise, the limit
    is 16 times as high, and for one that reduces slices 64 times:
    `onnx-join-segments` then leaves only a few of the nodes. Bodies with random
    numbers are not unrolled.

    Example: test/Graph/onnx-fold-constants.mlir
  }];
}

def FoldSequences : GraphPass<"onnx-fold-sequences"> {
  let summary = "Replace elements of sequences by the values they were made of";
  let description = [{
    After: in the main graph and its subgraphs, no SequenceAt with a constant
    index and no ConcatFromSequence reads a sequence whose elements are known:
    one made by SequenceConstruct, by SequenceEmpty, SequenceInsert and
    SequenceErase at constant positions, or by SplitToSequence into parts of
    known sizes. SplitToSequence becomes a Split, ConcatFromSequence becomes a
    Concat, and types of the nodes that follow are inferred again. Other
    sequences stay. The opset must be 13 at least; otherwise nothing is done.

    Example: test/Graph/onnx-fold-sequences.mlir
  }];
}

def StackSequences : GraphPass<"onnx-stack-sequences"> {
  let summary = "Make lists that iterations append to outputs of iterations";
  let description = [{
    After: in the main graph and its subgraphs, no Loop has a state that is a
    sequence to which every iteration only appends the same number of tensors,
    and that only ConcatFromSequence, SequenceAt and SequenceLength read
    afterwards. Such a state becomes an output of each iteration; readers read
    the tensor of these outputs, which begins with the elements from before the
    loop. Inside the loop, only the length may be read. If both branches of an
    If append, the result of the If is the element. Sequences whose elements may
    differ in the size along which they are joined stay if the number of
    iterations follows from sizes, and so do Loops with a constant number of
    iterations. The opset must be 13 at least, else nothing is done.

    Example: test/Graph/onnx-stack-sequences.mlir
  }];
}

def JoinSegments : GraphPass<"onnx-join-segments"> {
  let summary = "Reduce consecutive slices of rows at once, not one by one";
  let description = [{
    Before: `onnx-fold-constants` and `onnx-fold-sequences`, which leave a bag
    of embeddings as a Slice, a lookup and a reduction for each bag, and a
    Concat of all. After: no Concat along the first axis joins ReduceSums,
    ReduceMeans or ReduceMaxes of slices that follow each other, with known
    bounds: all rows are looked up at once. Segments of equal length become an
    axis, which is reduced; others are added, or compared, by a ScatterND (opset
    18), in which empty segments stay zero. Nodes between Slice and reduction
    must compute each row for itself (Gather, Unsqueeze, Mul, casts); other
    Concats are left alone.

    Example: test/Graph/onnx-join-segments.mlir
  }];
}

def InlineFunctions : GraphPass<"onnx-inline-functions"> {
  let summary = "Put the bodies of model-local functions in place of calls";
  let description = [{
    After: no node of the main graph and its subgraphs calls a function of the
    model. Each call is replaced by the nodes of the function, transitively:
    they are called `<call>/<node>`, their references to attributes are the
    call's values or the function's defaults (an attribute without either is
    absent), inputs that the call leaves out are absent, and types are inferred
    from the call's operands on. Results keep the names that they had; metadata
    of the call goes to nodes that have none. Functions that are no longer
    called are removed. Functions at a lower opset are raised to the model's as
    by `onnx-raise-opset`.

    An error names a call of a function that calls itself, a call that does not
    fit its function, a function whose nodes have another meaning at the opset
    of the graph, and the call at which the `limit` of nodes is exceeded.

    Example: test/Graph/onnx-inline-functions.mlir
  }];
  let options = [
    Option<"limit", "limit", "uint64_t", /*default=*/"0",
           "maximum number of nodes that calls may turn into; 0 for ten times "
           "the model's, and 100,000 at least">,
  ];
}

def SpecializeFunctions : GraphPass<"onnx-specialize-functions"> {
  let summary = "Give every call of a model-local function a typed clone";
  let description = [{
    After: every call in the main graph, its subgraphs and, transitively, in the
    clones has a clone of its function with the types that the call's operands
    give. The clone stands after its original and carries `mp.specialized`, the
    original's name; the call carries `mp.callee`, the clone's name, and keeps
    its op type. References to the function's attributes stay references; types
    are inferred with the call's values of them. Types and shapes are then
    inferred from the calls' results on; on nodes of the main graph,
    `mp.untyped` keeps the types that import could infer.

    Functions that handle no floats, call themselves, or do not admit the
    operands' types are left alone: a missed remark says so, and the call stays
    fp32. Calls in training graphs stay fp32, too. Clones of one call have
    `limit` nodes at most; beyond that, calls of equal types and attributes
    share clones (of `limit` nodes again), and the remaining calls stay fp32.

    Example: test/Graph/onnx-specialize-functions.mlir
  }];
  let options = [
    Option<"limit", "limit", "uint64_t", /*default=*/"0",
           "maximum number of nodes in clones of one call; 0 for twice the "
           "model's, and 20,000 at least">,
  ];
}

def MergeFunctions : GraphPass<"onnx-merge-functions"> {
  let summary = "Keep only the clones of functions that the model needs";
  let description = [{
    Before: `onnx-specialize-functions`, and passes that changed some clones.
    After: a clone with the body of its original, whose types the original does
    not contradict, is gone, and its calls are calls of the original: a function
    without types of its own is called in any precision. Clones with equal
    bodies and types are one. The others are called `<name>_<type>`,
    `<name>_<type>_2` and so on, with the 16-bit type in use. Names of nodes and
    values do not matter. Originals that are no longer called are removed. If no
    precision was changed, the module is the same as before the first of the two
    passes.

    Example: test/Graph/onnx-merge-functions.mlir
  }];
  let options = [
    Option<"suffix", "suffix", "std::string", /*default=*/"\"\"",
           "suffix of a clone's name; empty for the 16-bit type">,
  ];
}

#endif // MPOPT_PASSES_GRAPH_PASSES_TD
