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
    Attributes (`mp.name`, `mp.element`, `mp.constant`, `mp.state`) say what
    they are. Operators without a rule are decomposed or expanded first; if
    some are left, one error lists them all.

    Example: test/Lowering/convert-onnx-to-linalg.mlir
  }];
  let options = [
    ListOption<"dims", "dim", "std::string",
               "NAME=SIZE of symbolic dimensions">,
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
    Before: `kernel.contract` and linalg ops on tensors, in front of all fusion.
    After: of convolutions and of what surrounds them, those for which that
    costs less read and write images whose channels are the last axis; values
    that others use, too, are transposed once. Arguments and results of the
    function stay as they are. A minimum cut over the whole graph decides: of
    all assignments, it is the one whose kernels and transposes take the least
    time by an estimate (`lib/Codegen/Layout`). With `channels-last`, all that
    can have channels last do.

    Example: test/Lowering/mp-assign-layouts.mlir
  }];
  let options = [
    Option<"channelsLast", "channels-last", "bool", "false",
           "whatever it costs">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mp::kernel::KernelDialect"];
}

def FuseContractions : Pass<"mp-fuse-contractions"> {
  let summary = "Let contractions do what surrounds them";
  let description = [{
    Before: `kernel.contract` on tensors. After: a transpose or widening cast
    in front of one is part of its map or operand type, also where a reshape
    behind it joins axes that are neighbours in memory; an elementwise op that
    is all that uses its result is its epilogue. A cast that rounds an argument
    of the function is what the contraction rounds to, unless the argument is a
    state whose next value is computed before; other rounding casts in front
    stay, since what they read would have to stay in memory instead. With
    `keep-updates`, an op that reads a state in f32 which contractions round is
    no epilogue, so that it can write working copies (`mp-shadow-weights`).

    Of a result that is only sliced, with steps of one, the rest is not
    computed: axes are cut whose size no operand has, as are the taps of a
    strided convolution's gradient. A slice that cuts another axis stays. Taps
    that are outside of the image for all results are cut off the weights.

    Example: test/Lowering/mp-fuse-contractions.mlir
  }];
  let options = [
    Option<"keepUpdates", "keep-updates", "bool", "false",
           "leave updates of states that are rounded on their own">,
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mp::kernel::KernelDialect"];
}

def NarrowTemporaries : Pass<"mp-narrow-temporaries"> {
  let summary = "Store 16 bit where loops widen what they store";
  let description = [{
    Before: elementwise ops and contractions on tensors, fused. After: one that
    ends with widening 16 bit to f32 stores 16 bit, and those that read its
    result widen it, unless something else than elementwise ops, reductions and
    contractions reads it. No number changes.

    Example: test/Lowering/mp-narrow-temporaries.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FoldUnitReshapes : Pass<"mp-fold-unit-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Read what reshapes that only add or drop ones are made of";
  let description = [{
    Before: linalg ops on tensors. After: where one reads a reshape that only
    adds or drops axes of size one, as a scale of channels is made one of images,
    it reads the source instead.

    Example: test/Lowering/mp-fold-unit-reshapes.mlir
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseElementwise : Pass<"mp-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Make elementwise ops a part of their only reader";
  let description = [{
    Before: linalg ops on tensors. After: as after `linalg-fuse-elementwise-ops`,
    but what is dear and smaller than what reads it, as the inverse deviation of
    each channel is, stays an op of its own: it is not computed for each pixel.

    Example: test/Lowering/mp-fuse-elementwise.mlir
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RecomputeElementwise : Pass<"mp-recompute-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Let readers compute elementwise values themselves";
  let description = [{
    Before: linalg ops on tensors, elementwise ones with a single reader fused.
    After: each elementwise op that others read, and only they, is one op for
    each of them, if it reads nothing larger than its result, one image at most,
    and is cheap beside a pass over memory. Fusion then makes it a part of its
    reader, and its result is never stored.

    Example: test/Lowering/mp-recompute-elementwise.mlir
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def FuseRows : Pass<"mp-fuse-rows"> {
  let summary = "Compute reductions and what surrounds them row by row";
  let description = [{
    Before: linalg ops on tensors, elementwise ones fused. After: an elementwise
    op that depends on reductions of short rows (a softmax, a normalization, a
    gradient of these) is one `scf.forall` over rows together with the
    reductions and all that only they share; between them, nothing bigger than
    a row is written. Rows that are neighbours in memory, as channels that are
    last are, are computed in blocks of 8 to 128, which read whole vectors.

    Example: test/Lowering/mp-fuse-rows.mlir
  }];
  let options = [Option<"singleRows", "single-rows", "bool",
                        /*default=*/"false", "Compute rows one by one">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitSums : Pass<"mp-split-sums", "::mlir::func::FuncOp"> {
  let summary = "Make long sums across rows sums of parts";
  let description = [{
    Before: linalg ops on tensors, rows fused. After: a reduction across many rows
    whose columns are neighbours in memory, as a sum over the pixels of images
    whose channels are last, is two ops: parts of the rows are reduced, then the
    parts. Sums lose fewer digits, and threads have a part each.

    Example: test/Lowering/mp-split-sums.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitTaps : Pass<"mp-split-taps", "::mlir::func::FuncOp"> {
  let summary = "Make convolutions of far taps sums over contractions";
  let description = [{
    Before: contractions on tensors with their epilogues. After: a convolution
    whose taps mostly lie outside of its image, as with a dilation of 12 on 14 x
    14 pixels, is a contraction for each tap, of the part of the image that the
    tap reads. The last one has the epilogue.

    Example: test/Lowering/mp-split-taps.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DelayWaits : Pass<"mp-delay-waits", "::mlir::func::FuncOp"> {
  let summary = "Compute while ranks reduce";
  let description = [{
    Before: ops on memrefs, of which none is freed. After: each
    `runtime.reduce_wait` stands in front of the first op that touches its memory;
    what comes before that overlaps with communication. With `together`, members
    of a bucket start where the last one is ready, and waits follow each other:
    a device is interrupted as seldom as can be.

    Example: test/Lowering/mp-delay-waits.mlir
  }];
  let options = [Option<"together", "together", "bool", /*default=*/"false",
    "Starts of a bucket, and waits, follow each other">];
}

def FuseUpdates : Pass<"mp-fuse-updates"> {
  let summary = "Compute all that an optimizer does to a parameter in one op";
  let description = [{
    Before: linalg ops on tensors, elementwise ones fused. After: elementwise ops
    that only update states and share what they read are one op: it reads a
    gradient, a parameter and its moments and writes these. What others read as
    well, as unscaled gradients are read by the test whether they are finite, is
    computed by each reader where that takes no more memory.

    Example: test/Lowering/mp-fuse-updates.mlir
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def AdvanceUpdates : Pass<"mp-advance-updates", "::mlir::func::FuncOp"> {
  let summary = "Update states as soon as what they need is there";
  let description = [{
    Before: ops that update states are behind all gradients, as the optimizer's
    nodes are. After: each is where the last of its operands is made, or where
    the old state is read for the last time; gradients and activations do not
    live until the end of the step.

    Example: test/Lowering/mp-advance-updates.mlir
  }];
  let options = [
    Option<"contractionsOnly", "contractions-only", "bool", "false",
           "leave elementwise updates where one kernel can do all of them">
  ];
}

def SeparateTemporaries : Pass<"mp-separate-temporaries"> {
  let summary = "Give each use of an empty tensor one of its own";
  let description = [{
    Before: empty tensors that are equal may be one. After: each has one use,
    and stands in front of it, or of the loop that it is in; so buffers are not
    kept from one use to the next.

    Example: test/Lowering/mp-separate-temporaries.mlir
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def PlaceParts : Pass<"mp-place-parts", "::mlir::func::FuncOp"> {
  let summary = "Give the parts of long concatenations their memory";
  let description = [{
    Before: a chain of `tensor.insert_slice` ops fills an empty tensor. After: a
    chain of `min-parts` or more is gone. Its result is a buffer, which parts
    are computed in, or copied to; to bufferization the parts are no aliases of
    each other, so its time does not grow with a power of their number.

    Example: test/Lowering/mp-place-parts.mlir
  }];
  let options = [Option<"minParts", "min-parts", "unsigned", "17",
                        "Shorter chains stay as they are">];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FreeOwned : Pass<"mp-free-owned", "::mlir::func::FuncOp"> {
  let summary = "Free allocations that nothing else owns";
  let description = [{
    Before: a `bufferization.dealloc` frees what it owns, and none of it twice.
    After: where that is memory of `memref.alloc` ops, in any case, there is a
    `memref.dealloc` for each.

    Example: test/Lowering/mp-free-owned.mlir
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def FreeEarly : Pass<"mp-free-early", "::mlir::func::FuncOp"> {
  let summary = "Free memory right behind its last use";
  let description = [{
    Before: what a block allocates is freed somewhere in it. After: it is freed
    behind the last op that uses it or a view of it.

    Example: test/Lowering/mp-free-early.mlir
  }];
}

def PlanMemory : Pass<"mp-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give temporaries places in one piece of memory";
  let description = [{
    Before: `main` allocates and frees buffers. After: those of known size are
    views of one arena; buffers that do not live at the same time share their
    places. The module's `mp.arena` is its size in bytes.

    Example: test/Lowering/mp-plan-memory.mlir
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", /*default=*/"0",
           "For a device: places are at multiples of so many bytes, and what "
           "is no bigger shares its with nothing; 0: for a processor">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def BindArguments : Pass<"mp-bind-arguments", "::mlir::ModuleOp"> {
  let summary = "Say where the inputs of a model are and its outputs go";
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
           "write states over their inputs">,
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
    with defaults and states are no constants.

    Example: test/Lowering/mp-mark-constants.mlir
  }];
  let dependentDialects = ["::mp::kernel::KernelDialect"];
}

def LowerLinalg : Pass<"mp-lower-linalg"> {
  let summary = "Write structured ops on buffers as loops";
  let description = [{
    Before: linalg ops on memrefs. After: loops; those with enough to do are
    `runtime.parallel`. The innermost loop runs over contiguous memory where
    there is any, for LLVM's vectorizer.

    Example: test/Lowering/mp-lower-linalg.mlir
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mp::runtime::RuntimeDialect",
  ];
}

def OutlineParallel : Pass<"mp-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "Make functions of the bodies of parallel loops";
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
  let summary = "Cut a long model into functions that follow each other";
  let description = [{
    Before: `main` is one block; bodies of parallel loops and contractions are
    functions. After: of a block with at least twice `length` ops, runs of
    `length` ops each are functions that `main` calls. Constants, views, sizes
    and what else says where memory is are computed again in each; other values
    are arguments and results. Allocations stay in `main`. Shorter ones are left
    alone, and what other functions do.

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
    Before: functions on memrefs of scf, arith, math, vector, memref and
    runtime ops. After: LLVM's dialect, and calls of the run-time library
    (include/mp-opt/Runtime/Runtime.h). Rounding to bf16 is to nearest even, for
    subnormals too; functions of f32 are polynomials where MLIR has them, those
    of f64 calls of libm. `mp.target` goes away: nothing reads it from here on,
    and tools of LLVM do not know it.

    Example: test/Lowering/mp-convert-to-llvm.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def SetTarget : Pass<"mp-set-target", "::mlir::ModuleOp"> {
  let summary = "Say what code is made for";
  let description = [{
    After: the module has the `mp.target` that the options say. Tools set it
    themselves, also for the machine they run on; no pass looks at that.

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
  let summary = "Keep the times at which kernels begin and end";
  let description = [{
    Before: `main` is on memrefs with places in the arena. After: there is a
    `runtime.stamp` at its begin, and one behind each op that is going to be a
    kernel; `mp.stamped` of the module says for each of these which nodes it is
    of, and what it moves and computes (`#device.work`). Only for `mp-run bench
    --profile`.

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
    (`#kernel.config`), and a remark of the category `mp-codegen` says it:
    blocked products, or for convolutions of 3 x 3 taps at stride 1 and their
    gradients fewer products (Winograd's F(2 x 2, 3 x 3); F(4 x 4, 3 x 3) between
    elements of 16 bits) where sizes are known and that pays; tiles and blocks;
    what is packed; the operand that `kernel.constant` names, if it can be
    packed by the first call of the model for all that follow. Nothing else has
    changed.

    Example: test/Lowering/kernel-select-strategy.mlir
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "0",
           "Rows of a register tile; 0: as the target says">,
    Option<"vectors", "vectors", "int64_t", "0", "Its columns, in vectors">,
    Option<"mc", "mc", "int64_t", "0", "Rows of a block of the result">,
    Option<"nc", "nc", "int64_t", "0", "Its columns">,
    Option<"kc", "kc", "int64_t", "0",
           "Elements of the summed dimension that are packed at a time">];
  let dependentDialects = ["::mp::kernel::KernelDialect", "::mp::MPDialect"];
}

def OutlineContracts : Pass<"kernel-outline-contracts", "::mlir::ModuleOp"> {
  let summary = "Make functions of contractions";
  let description = [{
    Before: contractions of the kernel dialect are on memrefs. After: they are
    calls of private functions with dynamic sizes, one for all contractions that
    differ in nothing but sizes; attributes say what code for them may rely on.
    Where `config` says that an operand is cached, a function's last argument is
    the cache entry. Calls that pack the same share an entry. The module's
    `mp.kept` counts them.

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
    are distributed. Memory of threads is `runtime.scratch`; what tasks share is
    allocated outside of their loops; what is cached is in a cache entry
    (`runtime.cache_lookup`, `runtime.cache_insert`). A config that does not fit
    is an error.

    Examples: test/Lowering/kernel-to-cpu.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mp::runtime::RuntimeDialect"];
}

def SelectTile : Pass<"kernel-select-tile"> {
  let summary = "Choose how contractions are computed on a GPU";
  let description = [{
    Before: contractions of the kernel dialect are on memrefs of known sizes,
    strides and offsets. After: each has a `kernel.tile` (`#kernel.tile`), and a
    remark of the category `mp-codegen` says it: what multiplies, tensor cores or
    fused multiply-adds, and the tiles of blocks, warps or threads. One that is
    there already is kept, if it fits.

    Example: test/Lowering/GPU/kernel-select-tile.mlir
  }];
  let dependentDialects = ["::mp::kernel::KernelDialect"];
}

def ConvertContractToGPU : Pass<"convert-contract-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Write contractions as kernels for GPUs";
  let description = [{
    Before: contractions of the kernel dialect are on memrefs of known sizes,
    strides and offsets; without a `kernel.tile` they get the one that
    `kernel-select-tile` would choose. After: each is a `device.launch` of a
    function of its own in `gpu.module @kernels`, in which blocks of threads
    compute tiles of the result through shared memory. A tile that does not fit,
    and an epilogue that asks for more than operands and constants, are errors.

    Example: test/Lowering/GPU/convert-contract-to-gpu.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mp::device::DeviceDialect"];
}

def ConvertScratchToLLVM : Pass<"convert-scratch-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Get memory of threads from the run-time library";
  let description = [{
    For pipelines of MLIR's own conversions; `mp-convert-to-llvm` does it, too.
    After: `runtime.scratch` is a call of `mp_scratch`. The casts that are left
    go away with `finalize-memref-to-llvm` and `reconcile-unrealized-casts`.
    `mp.target` goes away: tools of MLIR do not know it.

    Example: test/Lowering/convert-scratch-to-llvm.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

def SettleMemory : Pass<"mp-settle-memory"> {
  let summary = "Give memory that loops and branches carry one buffer";
  let description = [{
    Before: `scf.for`, `scf.while` and `scf.if` carry or return memory, another
    buffer in each iteration. After: if sizes are known, they copy it to one
    buffer.

    Example: test/Lowering/GPU/mp-settle-memory.mlir
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def SetGPU : Pass<"mp-set-gpu", "::mlir::ModuleOp"> {
  let summary = "Say which GPU kernels are for";
  let description = [{
    After: the module's `kernel.chip` is `chip`, for which code of kernels is
    made from then on. Without it they are for NVIDIA's GPUs.

    Example: test/Lowering/GPU/mp-set-gpu.mlir
  }];
  let options = [
    Option<"chip", "chip", "std::string", [{"gfx942"}],
           "gfx942 (MI300) or gfx1100 (RX 7900)">,
  ];
}

def ShadowWeights : Pass<"mp-shadow-weights", "::mlir::ModuleOp"> {
  let summary = "Keep 16-bit working copies of parameters";
  let description = [{
    Before: `main` on buffers, whose states are written in place. After: products
    by tiles that round a state in fp32 (`round_a`, `round_b`) read a
    `device.shadow` of it, which the elementwise op that updates the state
    writes as well: half the bytes for each product, and nothing to round.

    Example: test/Lowering/GPU/mp-shadow-weights.mlir
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mp::device::DeviceDialect"];
}

def UnrollLoops : Pass<"mp-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Make launches of the iterations of loops";
  let description = [{
    Before: `main` on buffers. After: `scf.for`s of it whose trips are known, and
    whose iterations have so much to do that they are worth kernels of their own,
    are their iterations one behind the other, with the same temporaries; up to
    some thousands of ops in all. Products of recurrent layers are contractions
    of `main` then. Other loops stay, and are kernels of one block.

    Example: test/Lowering/GPU/mp-unroll-loops.mlir
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def FormKernels : Pass<"mp-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Divide main into groups of one kernel each";
  let description = [{
    Before: `main` on buffers and one arena, as `mp-plan-memory` leaves it. After:
    what it does is in `device.group`s: structured ops and loops over indices of
    updates each in its own, small ones and scalars that follow each other in
    one. A remark names other loops, which run in one block. Of an `scf.if` with
    much to do, each op is in a group and an `scf.if` of its own. Between groups
    stand places in memory and numbers that every group can have for itself; what
    one group computes and another uses goes through a place at the end of the
    arena.
    Sizes that are not known, and memory whose size depends on data, are errors.

    Example: test/Lowering/GPU/mp-form-kernels.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mp::device::DeviceDialect"];
}

def SplitReductions : Pass<"mp-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Divide long reductions with few results among more blocks";
  let description = [{
    Before: `device.group`s. After: a `reduce` group of so few results that its
    blocks would leave most of a device idle, and of so many points that this
    counts, is two: the first reduces pieces of the points to a place at the end
    of the arena, the second these to the result. Into how many pieces follows
    from sizes alone, and with it the order of sums. A `contract` group of few
    tiles and a long sum is two as well: partial products, and a sum of them,
    which has the epilogue.

    Example: test/Lowering/GPU/mp-split-reductions.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mp::device::DeviceDialect"];
}

def MergeGroups : Pass<"mp-merge-groups", "::mlir::ModuleOp"> {
  let summary = "Make fewer kernels of the groups of main";
  let description = [{
    Before: `device.group`s. After: maps over the same points are one where each
    point needs no other; small groups that do not wait for each other are the
    parts of one group, and contractions that differ in memory alone one group.
    The updates of all parameters become one kernel, or a few.

    Example: test/Lowering/GPU/mp-merge-groups.mlir
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mp::device::DeviceDialect"];
}

def ConvertGroupsToGPU : Pass<"convert-groups-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Make functions for a GPU of groups";
  let description = [{
    Before: `device.group`s. After: `gpu.module @kernels` with a `gpu.func` for
    each, equal ones once, and a `device.launch` in the group's place, which says
    how many blocks and threads there are.

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
  let summary = "Add the kernels that ranks reduce with on their devices";
  let description = [{
    Where `main` has `runtime.reduce_start`, `gpu.module @kernels` gets kernels
    that copy the elements of many places, and that add up, in the order of
    ranks, what ranks have sent. How many there are is known when it runs: the
    run time launches them, with an address of a structure in memory.

    Example: test/Lowering/GPU/mp-add-rank-kernels.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def ExpandKernels : Pass<"mp-expand-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Write what devices have no instruction for in simpler ops";
  let description = [{
    Functions of `math` of f32 become polynomials (`math-extend-to-supported-types`
    widens those of 16 bit in front of this pass), and `device.draw` arithmetic.
    No library of a vendor is needed then.

    Example: test/Lowering/GPU/mp-expand-kernels.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerFailures : Pass<"mp-lower-failures", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Write device.fail as accesses to the control words";
  let description = [{
    Before: kernels with branches between blocks. After: the first thread that
    fails leaves a text's index and two numbers; threads that end return.

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
    After: functions of bare pointers. Indices have 32 bits in kernels whose memory
    allows it and that make no indices of numbers of 64 bits. Dynamic shared
    memory is the global `mp_shared` without size.

    Example: test/Lowering/GPU/convert-kernels-to-nvvm.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def ConvertKernelsToROCDL : Pass<"convert-kernels-to-rocdl",
                                 "::mlir::gpu::GPUModuleOp"> {
  let summary = "Write kernels in the dialects of LLVM and ROCDL";
  let description = [{
    As `convert-kernels-to-nvvm`, for AMD's devices. Memory of threads is in an
    address space of its own. Ops that only NVIDIA's devices have, as contractions
    by tiles are made of, and functions of a library are errors.

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
    LLVM's NVPTX takes them. After: their functions are in the module itself, in
    LLVM's dialect for the host. Barriers, shuffles, products of matrices and
    asynchronous copies are calls of the emulator
    (`include/mp-opt/Emulation/EmulatedCode.h`); shared variables have places in
    the memory that it gives each block. `mp_emulated_kernels` is a table of all
    kernels (`include/mp-opt/Emulation/Emulator.h`), each with a function
    `NAME__packed` that takes its parameters' addresses. An op that the emulator
    does not know is an error. `device.launch` ops stay: they name kernels of
    that table.

    Example: test/Lowering/GPU/mp-emulate-kernels.mlir
  }];
  let options = [
    Option<"checkRaces", "check-races", "bool", "false",
           "tell the emulator of each access to shared memory: it finds races, "
           "and accesses out of bounds">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // MPOPT_PASSES_LOWERING_PASSES_TD
