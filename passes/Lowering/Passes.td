//===- Passes.td - Passes from models to code --------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_LOWERING_PASSES_TD
#define MPOPT_PASSES_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertONNXToLinalg : Pass<"convert-onnx-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Write the main graph as loops on tensors";
  let description = [{
    Before: a model. After: the function `main` on tensors; its arguments are
    the graph's inputs and then its bigger constants, its results the outputs.
    Attributes (`mp.name`, `mp.element`, `mp.constant`, `mp.state`) describe
    them. Operators without a rule are decomposed or expanded first; if some are
    left, one error lists them all.

    With `excess-precision`, a 16-bit product is not rounded if all of its
    readers cast it to fp32, directly or after movement, additions or scalings
    (`mp-opt/Precision/Analysis/ExcessPrecision.h`). Remarks of category
    `mp-precision` name the nodes.

    With `gather-pools`, windows of a MaxPool at borders read no padded copy of
    the image, and a ScatterElements that adds gradients to the positions of a
    MaxPool becomes a sum, for each cell, over the windows that cover it. The
    place of the greatest cell in a window is kept in 8 bits.

    Examples: test/Lowering/convert-onnx-to-linalg.mlir,
    test/Lowering/convert-onnx-to-linalg-excess-precision.mlir,
    test/Lowering/convert-onnx-to-linalg-gather-pools.mlir
  }];
  let options = [
    ListOption<"dims", "dim", "std::string",
               "NAME=SIZE of symbolic dimensions">,
    Option<"excessPrecision", "excess-precision", "bool", "false",
           "drop roundings of products that only fp32 nodes read">,
    Option<"gatherPools", "gather-pools", "bool", "false",
           "cells gather the gradients of maxima, for devices">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mp::kernel::KernelDialect", "::mp::onnxir::ONNXDialect",
    "::mp::runtime::RuntimeDialect",
  ];
}

def AssignLayouts : Pass<"mp-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Store images with channels last where that costs less";
  let description = [{
    Before: `kernel.contract` and linalg ops on tensors, before all fusion.
    After: convolutions and the ops around them read and write images whose
    channels are the last axis, where that costs less. A value that other ops
    use, too, is transposed once. Arguments and results of the function stay as
    they are. A minimum cut over the whole graph chooses the assignment whose
    kernels and transposes take the least time by an estimate
    (`lib/Codegen/CPU/Layout`). With `channels-last`, which tests use, all ops
    that can have channels last get this layout.

    Example: test/Lowering/mp-assign-layouts.mlir
  }];
  let options = [
    Option<"channelsLast", "channels-last", "bool", "false",
           "store channels last whatever it costs">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mp::kernel::KernelDialect"];
}

def FuseContractions : Pass<"mp-fuse-contractions"> {
  let summary = "Fuse transposes, casts and elementwise ops into contractions";
  let description = [{
    Before: `kernel.contract` on tensors. After: a transpose or widening cast
    before a contraction is part of its map or operand type, also if a reshape
    in between joins axes that are adjacent in memory. An elementwise op that is
    the only user of its result is its epilogue. If a cast rounds an argument of
    the function, the contraction rounds the argument itself, unless it is a
    state whose next value is computed earlier. Other rounding casts before a
    contraction stay, since without them the unrounded values would have to stay
    in memory. With `keep-updates`, an op that reads a state in f32 which
    contractions round does not become an epilogue, so that it can write 16-bit
    copies (`mp-keep-working-copies`).

    If a result is only sliced, with steps of one, the other elements are not
    computed: the contraction is cut along axes whose size no operand has, such
    as the filter positions of a strided convolution's gradient. A slice that
    cuts another axis stays. Filter positions that are out of bounds for all
    results are removed from the weights. With `split-parts`, a result that is
    only read in parts of one axis, such as queries, keys and values, is
    computed by a contraction for each part, which has an epilogue of its own,
    unless few ops read many parts, as they do in a recurrent cell.

    Example: test/Lowering/mp-fuse-contractions.mlir
  }];
  let options = [
    Option<"keepUpdates", "keep-updates", "bool", "false",
           "do not fuse updates of states that contractions round">,
    Option<"splitParts", "split-parts", "bool", "false",
           "split a contraction whose result is only sliced along one axis">,
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mp::kernel::KernelDialect"];
}

def NarrowTemporaries : Pass<"mp-narrow-temporaries"> {
  let summary = "Store 16 bit where loops widen before they store";
  let description = [{
    Before: elementwise ops and contractions on tensors, fused. After: an op
    that ends with widening 16 bit to f32 stores 16 bit, and the readers of its
    result widen it, unless an op other than elementwise ops, reductions and
    contractions reads it. No number changes.

    Example: test/Lowering/mp-narrow-temporaries.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldUnitReshapes : Pass<"mp-fold-unit-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Read the sources of reshapes that only add or drop ones";
  let description = [{
    Before: linalg ops on tensors. After: if an op reads a reshape that only
    adds or drops axes of size one (for example, a scale of channels reshaped
    for images), it reads the source instead.

    With `vectors-only`, this holds for operands that have a number for each
    index of one loop that is not the innermost one, such as means of channels.

    Example: test/Lowering/mp-fold-unit-reshapes.mlir
  }];
  let options = [Option<"vectorsOnly", "vectors-only", "bool",
                        /*default=*/"false",
                        "Fold only vectors along outer loops">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseElementwise : Pass<"mp-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse elementwise ops into their only reader";
  let description = [{
    Before: linalg ops on tensors. After: the same as after
    `linalg-fuse-elementwise-ops`, except that an op that is expensive and
    smaller than its reader, such as the inverse deviation of each channel,
    stays separate: it is not computed again for each pixel.

    Example: test/Lowering/mp-fuse-elementwise.mlir
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RecomputeElementwise : Pass<"mp-recompute-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Let readers compute elementwise values themselves";
  let description = [{
    Before: linalg ops on tensors; elementwise ops with a single reader are
    fused. After: an elementwise op that only elementwise ops read is copied for
    each reader, if it reads nothing larger than its result, its result is one
    image at most, and it is cheap compared with a pass over memory. Fusion then
    makes each copy a part of its reader, and the result is never stored.

    Example: test/Lowering/mp-recompute-elementwise.mlir
  }];
  let options = [Option<"linesOnly", "lines-only", "bool",
                        /*default=*/"false",
                        "Copy only ops that read one value for each line">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def FuseRows : Pass<"mp-fuse-rows"> {
  let summary = "Compute reductions and the ops around them row by row";
  let description = [{
    Before: linalg ops on tensors, elementwise ones fused. After: an elementwise
    op that depends on reductions of short rows (a softmax, a normalization, a
    gradient of these) is one `scf.forall` over rows, together with the
    reductions and the ops that only these use; no intermediate value larger
    than a row is written. Rows that are adjacent in memory, such as those of
    images with channels last, are computed in blocks of 8 to 128, which read
    whole vectors.

    Example: test/Lowering/mp-fuse-rows.mlir
  }];
  let options = [Option<"singleRows", "single-rows", "bool",
                        /*default=*/"false", "Compute rows one by one">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitSums : Pass<"mp-split-sums", "::mlir::func::FuncOp"> {
  let summary = "Split long sums over rows into partial sums";
  let description = [{
    Before: linalg ops on tensors, rows fused. After: a reduction over many rows
    whose columns are adjacent in memory, such as a sum over the pixels of
    images with channels last, is two ops: the first reduces chunks of the rows,
    the second the results of the chunks. Sums lose fewer digits, and each
    thread has a chunk.

    Example: test/Lowering/mp-split-sums.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitFilters : Pass<"mp-split-filters", "::mlir::func::FuncOp"> {
  let summary = "Split convolutions with far filter positions";
  let description = [{
    Before: contractions on tensors with their epilogues. After: a convolution
    whose filter positions are mostly outside of its image (for example, with a
    dilation of 12 on 14 x 14 pixels) is a sum of contractions, one for each
    filter position, each over the part of the image that the position reads.
    The last one has the epilogue.

    Example: test/Lowering/mp-split-filters.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DelayWaits : Pass<"mp-delay-waits", "::mlir::func::FuncOp"> {
  let summary = "Compute while ranks reduce";
  let description = [{
    Before: ops on memrefs, none of which is freed. After: the members of a
    bucket that are of one kind are one `runtime.collective_start`, where the
    last of them is ready, and one `runtime.collective_wait`, directly before
    the first op that accesses one of them; earlier ops overlap with
    communication. With `together`, waits are consecutive: a device is
    interrupted as rarely as possible.

    Example: test/Lowering/mp-delay-waits.mlir
  }];
  let options = [Option<"together", "together", "bool", /*default=*/"false",
    "For devices: make waits consecutive, and send all rows">];
}

def FuseUpdates : Pass<"mp-fuse-updates"> {
  let summary = "Compute the whole update of a parameter in one op";
  let description = [{
    Before: linalg ops on tensors, elementwise ones fused. After: elementwise
    ops that only update states and share what they read are one op: it reads a
    gradient, a parameter and its moments, and writes the parameter and the
    moments. A value with other readers (the test whether gradients are finite
    reads unscaled gradients) is computed by each reader if that takes no more
    memory.

    Example: test/Lowering/mp-fuse-updates.mlir
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def AdvanceUpdates : Pass<"mp-advance-updates", "::mlir::func::FuncOp"> {
  let summary = "Update states as soon as their operands are computed";
  let description = [{
    Before: ops that update states come after all gradients, as the optimizer's
    nodes do. After: each follows the op that computes the last of its operands,
    or the last reader of the old state; gradients and activations do not live
    until the end of the step.

    Example: test/Lowering/mp-advance-updates.mlir
  }];
  let options = [
    Option<"contractionsOnly", "contractions-only", "bool", "false",
           "do not move elementwise updates that one kernel can do together">
  ];
}

def SeparateTemporaries : Pass<"mp-separate-temporaries"> {
  let summary = "Give each use of an empty or filled tensor its own tensor";
  let description = [{
    Before: equal empty tensors, and equal start values of reductions, may be
    one value. After: each has one use, and comes directly before that use, or
    before the loop that contains it, so buffers are neither kept from one use
    to the next nor copied.

    Example: test/Lowering/mp-separate-temporaries.mlir
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def PlaceParts : Pass<"mp-place-parts", "::mlir::func::FuncOp"> {
  let summary = "Compute the parts of long concatenations in place";
  let description = [{
    Before: a chain of `tensor.insert_slice` ops fills an empty tensor. After: a
    chain of `min-parts` or more is gone. Its result is a buffer in which the
    parts are computed, or to which they are copied. For bufferization the parts
    are not aliases of each other, so its time does not grow with a power of
    their number.

    Example: test/Lowering/mp-place-parts.mlir
  }];
  let options = [Option<"minParts", "min-parts", "unsigned", "17",
                        "Shorter chains stay as they are, unless one op "
                        "computes all parts">];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FreeOwned : Pass<"mp-free-owned", "::mlir::func::FuncOp"> {
  let summary = "Free allocations that nothing else owns";
  let description = [{
    Before: a `bufferization.dealloc` frees the memory that it owns, without
    freeing any twice. After: if that memory always comes from known
    `memref.alloc` ops, there is a `memref.dealloc` for each of these instead.

    Example: test/Lowering/mp-free-owned.mlir
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def FreeEarly : Pass<"mp-free-early", "::mlir::func::FuncOp"> {
  let summary = "Free memory directly after its last use";
  let description = [{
    Before: memory that a block allocates is freed somewhere in this block.
    After: it is freed directly after the last op that uses it or a view of it.

    Example: test/Lowering/mp-free-early.mlir
  }];
}

def PlanMemory : Pass<"mp-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Place temporaries in one arena";
  let description = [{
    Before: `main` allocates and frees buffers. After: those of known size are
    views of one arena; buffers that do not live at the same time may overlap
    there. The module's `mp.arena` is the arena's size in bytes. For a device, the
    result of a map overwrites an operand of 4 MiB or more that nobody reads
    later.

    Example: test/Lowering/mp-plan-memory.mlir
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", /*default=*/"0",
           "For a device: offsets are multiples of this number of bytes, and "
           "buffers of at most this size share no memory; 0: for a CPU">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def BindArguments : Pass<"mp-bind-arguments", "::mlir::ModuleOp"> {
  let summary = "Bind the inputs and outputs of a model to the caller's memory";
  let description = [{
    Before: `main` on tensors. After: `main` takes two pointers to arrays of
    `mp_tensor` and returns a code; inputs, constants and outputs are memory
    (`runtime.input`, `runtime.constant`, `runtime.output`), and the module's
    attributes `mp.inputs`, `mp.outputs` and `mp.constants` describe them. With
    `in-place`, outputs that are states are written over their inputs.

    Example: test/Lowering/mp-bind-arguments.mlir
  }];
  let options = [
    Option<"inPlace", "in-place", "bool", /*default=*/"false",
           "new states overwrite their inputs">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mp::runtime::RuntimeDialect",
  ];
}

def MarkConstants : Pass<"mp-mark-constants"> {
  let summary = "Mark contractions of constants of the model";
  let description = [{
    Before: `kernel.contract` on memrefs. After: one whose operand a or b is a
    constant of the model (`runtime.constant`), or a view of one that its type
    describes, has the attribute `kernel.constant`, which says which. Inputs
    with defaults and states are not constants.

    Example: test/Lowering/mp-mark-constants.mlir
  }];
  let dependentDialects = ["::mp::kernel::KernelDialect"];
}

def LowerLinalg : Pass<"mp-lower-linalg"> {
  let summary = "Write structured ops on buffers as loops";
  let description = [{
    Before: linalg ops on memrefs. After: loops; loops with enough work are
    `runtime.parallel`, and `kernel.arg_select` is comparisons. If possible, the
    innermost loop runs over contiguous memory, for LLVM's vectorizer.

    Example: test/Lowering/mp-lower-linalg.mlir
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mp::runtime::RuntimeDialect",
  ];
}

def OutlineParallel : Pass<"mp-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "Outline the bodies of parallel loops";
  let description = [{
    Before: `runtime.parallel`, and `scf.parallel` of one dimension. After:
    `runtime.launch` of functions; equal bodies are one function.

    Example: test/Lowering/mp-outline-parallel.mlir
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mp::runtime::RuntimeDialect"];
}

def SplitMain : Pass<"mp-split-main", "::mlir::ModuleOp"> {
  let summary = "Cut a long main into consecutive functions";
  let description = [{
    Before: `main` is one block; bodies of parallel loops and contractions are
    functions. After: if the block has at least twice `length` ops, runs of
    `length` ops each are functions that `main` calls. Constants, views, sizes
    and other ops that describe memory are computed again in each function;
    other values are arguments and results. Allocations stay in `main`. Shorter
    blocks and other functions are left alone.

    Example: test/Lowering/mp-split-main.mlir
  }];
  let options = [
    Option<"length", "length", "unsigned", /*default=*/"64", "Ops of a function">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def ConvertToLLVM : Pass<"mp-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Write loops on buffers in LLVM's dialect";
  let description = [{
    Before: functions on memrefs of scf, arith, math, vector, memref and runtime
    ops. After: LLVM's dialect, and calls of the run-time library
    (include/mp-opt/Runtime/Runtime.h). Rounding to bf16 is to nearest even, for
    subnormals too; functions of f32 are polynomials where MLIR has them, those
    of f64 calls of libm. `mp.target` is removed: nothing reads it from here on,
    and tools of LLVM do not know it.

    Example: test/Lowering/mp-convert-to-llvm.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def SetTarget : Pass<"mp-set-target", "::mlir::ModuleOp"> {
  let summary = "Set the target for which code is made";
  let description = [{
    After: the module has the `mp.target` that the options describe. Tools set
    it themselves, also for the machine they run on; no pass inspects that
    machine.

    Example: test/Lowering/mp-set-target.mlir
  }];
  let options = [
    Option<"isa", "isa", "std::string", "\"avx2\"",
           "Instruction set: avx2, avx512, neon">,
    Option<"kernels", "kernels", "std::string", "\"auto\"",
           "How 16-bit factors are multiplied: widen (auto), dot, amx; direct: "
           "as auto, and convolutions without transforms">,
  ];
  let dependentDialects = ["::mp::MPDialect"];
}

def InsertStamps : Pass<"mp-insert-stamps", "::mlir::ModuleOp"> {
  let summary = "Record the times at which kernels begin and end";
  let description = [{
    Before: `main` is on memrefs in the arena. After: there is a `runtime.stamp`
    at the beginning of `main`, and one after each op that becomes a kernel. For
    each of these, `mp.stamped` of the module lists the nodes that the kernel
    computes, and how much it moves and computes (`#device.work`). Only `mp-run
    bench --profile` runs this pass.

    Example: test/Lowering/mp-insert-stamps.mlir
  }];
  let dependentDialects = ["::mp::runtime::RuntimeDialect",
                           "::mp::device::DeviceDialect"];
}

def SelectStrategy : Pass<"kernel-select-strategy"> {
  let summary = "Choose how contractions are computed";
  let description = [{
    Before: contractions of the kernel dialect are on memrefs; the module has a
    target, or the default one is meant. After: each has a `config`
    (`#kernel.config`), and a remark of the category `mp-codegen` describes it:
    blocked products, or for convolutions of 3 x 3 filters at stride 1 and their
    gradients fewer products (Winograd's F(2 x 2, 3 x 3); F(4 x 4, 3 x 3)
    between elements of 16 bits) if sizes are known and this is faster; tiles
    and blocks; the packed operands; the operand that `kernel.constant` names,
    if it can be packed by the first call of the model for all that follow.
    Nothing else has changed.

    Example: test/Lowering/kernel-select-strategy.mlir
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "0",
           "Rows of a register tile; 0: the target's default">,
    Option<"vectors", "vectors", "int64_t", "0", "Its columns, in vectors">,
    Option<"mc", "mc", "int64_t", "0", "Rows of a block of the result">,
    Option<"nc", "nc", "int64_t", "0", "Its columns">,
    Option<"kc", "kc", "int64_t", "0",
           "Elements of the summed dimension that are packed at a time">];
  let dependentDialects = ["::mp::kernel::KernelDialect", "::mp::MPDialect"];
}

def OutlineContracts : Pass<"kernel-outline-contracts", "::mlir::ModuleOp"> {
  let summary = "Outline contractions as functions";
  let description = [{
    Before: contractions of the kernel dialect are on memrefs. After: they are
    calls of private functions with dynamic sizes, one for all contractions that
    differ only in sizes; attributes state the assumptions that their code may
    make. If `config` says that an operand is cached, a function's last argument
    is the cache entry. Calls that pack the same operand share an entry. The
    module's `mp.kept` counts them.

    Example: test/Lowering/kernel-outline-contracts.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect"];
}

def KernelToCPU : Pass<"kernel-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Write contractions as blocked, packed kernels";
  let description = [{
    Before: contractions of the kernel dialect have a `config`, and functions of
    their own. After: such a function does what `config` says: it packs its
    operands into micro-panels, multiplies these in register tiles, and applies
    the epilogue where the sums are stored. It consists of `scf.parallel`, each
    with one induction variable over tasks; results do not depend on how these
    are distributed. Memory of threads is `runtime.scratch`; memory that tasks
    share is allocated outside of their loops; cached operands are in a cache
    entry (`runtime.cache_lookup`, `runtime.cache_insert`). A config that does
    not fit is an error.

    Examples: test/Lowering/kernel-to-cpu.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mp::runtime::RuntimeDialect"];
}

def ConvertScratchToLLVM : Pass<"convert-scratch-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Get memory of threads from the run-time library";
  let description = [{
    This pass is for pipelines of MLIR's own conversions; `mp-convert-to-llvm`
    does the same. After: `runtime.scratch` is a call of `mp_scratch`. The
    remaining casts disappear with `finalize-memref-to-llvm` and
    `reconcile-unrealized-casts`. `mp.target` is removed, because MLIR's tools
    do not know it.

    Example: test/Lowering/convert-scratch-to-llvm.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

def SettleMemory : Pass<"mp-settle-memory"> {
  let summary = "Copy what loops and branches yield to one buffer";
  let description = [{
    Before: `scf.for`, `scf.while` and `scf.if` yield memory, which may be a
    different buffer in each iteration or branch. After: where sizes are known,
    they copy it to one buffer.

    Example: test/Lowering/GPU/mp-settle-memory.mlir
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def PadRows : Pass<"mp-pad-rows", "::mlir::ModuleOp"> {
  let summary = "Begin the rows of factors at multiples of 16 bytes";
  let description = [{
    Before: memory that `main` allocates has rows without gaps. After: memory
    that contractions read as a factor, and whose rows are not a multiple of 16
    bytes, is a view of longer rows: of a multiple of 16 bytes, or of 128 if they
    have 2,048 or more. So are the results of contractions from which maps
    compute such memory, as the logits of which it is the gradient. Nobody reads or writes the elements after a row. Memory
    with other users than loops, contractions and views, or that would grow by
    more than an eighth, is left alone.

    Example: test/Lowering/GPU/mp-pad-rows.mlir
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def SetGPU : Pass<"mp-set-gpu", "::mlir::ModuleOp"> {
  let summary = "Set the GPU for which kernels are made";
  let description = [{
    After: the module has a `device.target` (`#device.target`) with this chip;
    later passes make kernels for it. Without the attribute, kernels are for
    NVIDIA's GPUs.

    Example: test/Lowering/GPU/mp-set-gpu.mlir
  }];
  let options = [
    Option<"chip", "chip", "std::string", [{"gfx942"}],
           "gfx942 (MI300) or gfx1100 (RX 7900)">,
  ];
}

def KeepWorkingCopies : Pass<"mp-keep-working-copies", "::mlir::ModuleOp"> {
  let summary = "Keep 16-bit working copies of parameters";
  let description = [{
    Before: `main` on buffers, whose states are written in place. After: tiled
    products that round an fp32 state (`round_a`, `round_b`) read a
    `device.shadow` of it, a 16-bit copy. The elementwise op that updates the
    state writes this copy as well. Each product reads half the bytes, and need
    not round.

    Example: test/Lowering/GPU/mp-keep-working-copies.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mp::device::DeviceDialect"];
}

def UnrollLoops : Pass<"mp-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Unroll loops whose iterations are worth kernels";
  let description = [{
    Before: `main` on buffers. After: an `scf.for` of `main` is unrolled if its
    trip count is known and its iterations have enough work for kernels of their
    own. All iterations use the same temporaries. The result has up to some
    thousands of ops in all. Products of recurrent layers are then contractions
    in `main`. Other loops stay; each becomes a kernel of one block.

    Example: test/Lowering/GPU/mp-unroll-loops.mlir
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def FuseAttention : Pass<"mp-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Make one op of attention, and one of its gradients";
  let description = [{
    Before: tensors, contractions with their epilogues (mp-fuse-contractions).
    After: a product, a softmax and a product are one `kernel.attention`, and
    the products of their gradient one `kernel.attention_gradient`: matrices of
    queries by keys are not in memory any more. Scales, masks, casts and dropout
    between them become regions of these ops.

    On a GPU, attention that kernels do not take stays as it is: factors that
    are not of one 16-bit type, heads of more than 256 elements, fewer than 16
    queries or keys. On a processor, so does attention whose matrices are small,
    since these are faster in the caches: less than `min-scores` elements in
    all, or `min-head-scores` in one head. Probabilities that are results of the
    model are in memory anyway. A remark (`attention-in-memory`) names the node
    and the reason.

    Example: test/Lowering/mp-fuse-attention.mlir
  }];
  let options = [
    Option<"onProcessor", "on-processor", "bool", "false",
           "for a processor, not for a GPU">,
    Option<"minScores", "min-scores", "int64_t", "1 << 21",
           "elements of all matrices from which a processor computes blocks">,
    Option<"minHeadScores", "min-head-scores", "int64_t", "1 << 18",
           "the same of a matrix of one head">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mp::kernel::KernelDialect"];
}

def JoinReductions : Pass<"mp-join-reductions", "::mlir::func::FuncOp"> {
  let summary = "Compute reductions of the same values in one pass over memory";
  let description = [{
    Before: linalg ops on tensors; reductions of short rows are in loops
    (mp-fuse-rows). After: a sum of squared differences from a mean, and the sum
    of that mean, are one op with two results. Differences are those from the
    mean of a sample, at least 1/64 of the values, which multiplies rounding
    errors by 65 at most, whatever the values are. Reductions of the same points
    that read a tensor together, such as the gradients of a channel's scale and
    shift, are one op with several results.

    Sums of columns stay alone, since kernels of rows take them; so do sums of
    fewer than 2^16 values, or 2^20 for a sample.

    Example: test/Lowering/GPU/mp-join-reductions.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def BlockAttention : Pass<"mp-block-attention", "::mlir::func::FuncOp"> {
  let summary = "Write attention as loops over blocks of queries";
  let description = [{
    Before: `kernel.attention` and `kernel.attention_gradient` on buffers of
    known sizes. After: loops over some batches and some queries at a time, of
    contractions, a parallel loop over rows, and linalg ops. The matrices of a
    block are temporaries that all blocks share. Keys that a causal mask hides
    from a whole block are not computed.

    Example: test/Lowering/mp-block-attention.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mp::kernel::KernelDialect",
    "::mp::runtime::RuntimeDialect"];
}

def FormKernels : Pass<"mp-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Divide main into groups of one kernel each";
  let description = [{
    Before: `main` on buffers and one arena, as `mp-plan-memory` leaves it.
    After: the ops of `main` are in `device.group`s, each of which becomes a
    kernel. Each structured op, and each loop over the indices of updates, has a
    group of its own; consecutive small ops and scalars share one. Other loops
    run in one block, and a remark names them. If an `scf.if` has much to do,
    each of its ops is in a group and an `scf.if` of its own. Outside of groups
    there are only buffers, and scalars that each group can compute itself; a
    scalar that one group computes and another reads is passed through its own
    slot at the end of the arena.

    Unknown sizes, and memory whose size depends on data, are errors.

    Example: test/Lowering/GPU/mp-form-kernels.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mp::device::DeviceDialect"];
}

def SplitReductions : Pass<"mp-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Split long reductions with few results over more blocks";
  let description = [{
    Before: `device.group`s. After: a `reduce` group is split into two if it has
    so few results that its blocks would leave most of a device idle, and so
    many points that the idle time matters. The first group reduces segments of
    the points into the end of the arena, the second reduces these partial
    results. The number of segments depends on sizes alone, and so does the
    order of sums. A `contract` group with few tiles and a long sum is split as
    well, into partial products and their sum, which has the epilogue. Partial
    products of all groups take up to `max-partial-bytes`: if they need more,
    later ones overwrite those whose sums have been computed. The first stage of
    a reduction over all rows of what a `row_wise` group near it reads or writes
    becomes a part of that group: its iterations are blocks of rows.

    Example: test/Lowering/GPU/mp-split-reductions.mlir
  }];
  let options = [Option<"maxPartialBytes", "max-partial-bytes", "int64_t",
                        /*default=*/"int64_t(256) << 20",
                        "the most bytes of partial products at one time">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mp::device::DeviceDialect"];
}

def MergeGroups : Pass<"mp-merge-groups", "::mlir::ModuleOp"> {
  let summary = "Merge groups of main, so that there are fewer kernels";
  let description = [{
    Before: `device.group`s. After: elementwise groups over the same index space
    are one group if each point depends on no other point. Small independent
    groups are parts of one group, and so are contractions that differ only in
    the memory they access. The updates of all parameters become one kernel, or
    a few.

    Example: test/Lowering/GPU/mp-merge-groups.mlir
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mp::device::DeviceDialect"];
}

def SelectGPUStrategy : Pass<"kernel-select-gpu-strategy"> {
  let summary = "Choose the tiles, blocks and threads of groups";
  let description = [{
    Before: `device.group`s whose ops have known sizes. After: each group that
    becomes a kernel has a `strategy` (`#device.strategy`), and contractions
    that are worth tiles have a `tile` (`#kernel.tile`): tensor cores or fused
    multiply-adds, and the tiles of blocks, warps or threads. A tile that is
    given is kept if it fits. A remark of the category `mp-codegen` describes
    each choice.

    Example: test/Lowering/GPU/kernel-select-gpu-strategy.mlir
  }];
  let dependentDialects = ["::mp::kernel::KernelDialect",
                           "::mp::device::DeviceDialect"];
}

def ConvertGroupsToGPU : Pass<"convert-groups-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Write groups as functions for a GPU";
  let description = [{
    Before: each `device.group` has its strategy. After: `gpu.module @kernels`
    has a `gpu.func` for each group, which does what the strategy says; equal
    groups share one. A `device.launch` replaces the group, and says how many
    blocks and threads there are.

    Example: test/Lowering/GPU/convert-groups-to-gpu.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mp::device::DeviceDialect"];
}

def AddRankKernels : Pass<"mp-add-rank-kernels", "::mlir::ModuleOp"> {
  let summary = "Add the kernels for reductions over ranks";
  let description = [{
    Where `main` has `runtime.collective_start`, `gpu.module @kernels` gets kernels
    that copy the elements of many buffers, and that add up, in the order of
    ranks, the values that ranks have sent. The number of ranks is known only
    when the program runs: the run time launches the kernels, with an address of
    a structure in memory.

    Example: test/Lowering/GPU/mp-add-rank-kernels.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def ExpandKernels : Pass<"mp-expand-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Expand ops for which devices have no instruction";
  let description = [{
    After: functions of `math` on f32 are polynomials, and `device.draw` is
    arithmetic, so no vendor's library is needed. Functions on 16-bit types have
    been widened before, by `math-extend-to-supported-types`. Exponentials, and
    the error function in GELU, whose results are rounded to 16 bits are
    approximated by instructions of NVIDIA's GPUs.

    Example: test/Lowering/GPU/mp-expand-kernels.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerFailures : Pass<"mp-lower-failures", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Write device.fail as accesses to the control words";
  let description = [{
    Before: kernels with branches between blocks. After: the first thread that
    fails writes the index of its message and two numbers into the control
    words; threads that end return.

    Example: test/Lowering/GPU/mp-lower-failures.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertKernelsToNVVM : Pass<"convert-kernels-to-nvvm",
                                "::mlir::gpu::GPUModuleOp"> {
  let summary = "Write kernels in the dialects of LLVM and NVVM";
  let description = [{
    Before: `gpu.func`s of branches between blocks, on memrefs of known sizes.
    After: functions of bare pointers. Indices have 32 bits in kernels whose
    memory allows it and that do not compute indices from 64-bit numbers.
    Dynamic shared memory is the global `mp_shared` without size.

    Example: test/Lowering/GPU/convert-kernels-to-nvvm.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def ConvertKernelsToROCDL : Pass<"convert-kernels-to-rocdl",
                                 "::mlir::gpu::GPUModuleOp"> {
  let summary = "Write kernels in the dialects of LLVM and ROCDL";
  let description = [{
    This pass does the same as `convert-kernels-to-nvvm`, for AMD's devices.
    Memory of threads is in a separate address space. Ops that only NVIDIA's
    devices have, such as those of tiled contractions, are errors, and so are
    calls of library functions.

    Example: test/Lowering/GPU/convert-kernels-to-rocdl.mlir
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"gfx942\"", "gfx942 or gfx1100">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::ROCDL::ROCDLDialect"];
}

def EmulateKernels : Pass<"mp-emulate-kernels", "::mlir::ModuleOp"> {
  let summary = "Let the host run kernels of a GPU";
  let description = [{
    Before: `gpu.module`s whose functions are in the LLVM and NVVM dialects, as
    LLVM's NVPTX target expects them. After: their functions are in the module
    itself, in LLVM's dialect for the host. Barriers, shuffles, matrix products
    and asynchronous copies are calls of the emulator
    (`include/mp-opt/Emulation/EmulatedCode.h`); shared variables are in the
    memory that it gives each block. `mp_emulated_kernels` is a table of all
    kernels (`include/mp-opt/Emulation/Emulator.h`), each with a function
    `NAME__packed` that takes its parameters' addresses. An op that the emulator
    does not know is an error. `device.launch` ops stay: they name kernels of
    that table.

    Example: test/Lowering/GPU/mp-emulate-kernels.mlir
  }];
  let options = [
    Option<"checkRaces", "check-races", "bool", "false",
           "report each access to shared memory to the emulator, which finds "
           "races and accesses out of bounds">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // MPOPT_PASSES_LOWERING_PASSES_TD
