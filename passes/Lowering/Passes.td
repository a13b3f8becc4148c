//===- Passes.td - Passes from models to code --------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_LOWERING_PASSES_TD
#define MPOPT_PASSES_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertONNXToLinalg
    : Pass<"convert-onnx-to-linalg", "::mlir::ModuleOp"> {
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

def ConvertKernelToLoops : Pass<"convert-kernel-to-loops", "::mlir::ModuleOp"> {
  let summary = "Write contractions as calls of blocked, packed kernels";
  let description = [{
    Before: contractions of the kernel dialect are on memrefs. After: they are
    calls of private functions, one for all contractions that differ in nothing
    but sizes. Such a function packs its operands into panels, multiplies these
    in register tiles, and applies the epilogue where the sums are stored. It
    has one `scf.parallel` or two, each with one induction variable over tasks;
    results do not depend on how these are distributed. Memory of threads is
    `kernel.scratch`; what tasks share is allocated outside of their loops.

    Example: `test/Lowering/convert-kernel-to-loops.mlir`.
  }];
  let options = [
    Option<"isa", "isa", "std::string", "\"avx512\"",
           "Instruction set: native, avx512, avx2, neon">,
    Option<"form", "form", "std::string", "\"widen\"",
           "How 16-bit operands are multiplied: auto, widen, dot, amx">,
    Option<"rows", "rows", "int64_t", "0",
           "Rows of a register tile; 0: as suits the instruction set">,
    Option<"vectors", "vectors", "int64_t", "0", "Its columns, in vectors">,
    Option<"depth", "depth", "int64_t", "0",
           "Elements of the summed dimension that are packed at a time">,
    Option<"blockRows", "block-rows", "int64_t", "0",
           "Rows of a block of the output">,
    Option<"blockColumns", "block-columns", "int64_t", "0", "Its columns">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ConvertKernelScratchToLLVM
    : Pass<"convert-kernel-scratch-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Get memory of threads from the run-time library";
  let description = [{
    After: `kernel.scratch` is a call of `mp_scratch`. The casts that are left
    go away with `finalize-memref-to-llvm` and `reconcile-unrealized-casts`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // MPOPT_PASSES_LOWERING_PASSES_TD
