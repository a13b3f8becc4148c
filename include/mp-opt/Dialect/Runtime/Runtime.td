//===- Runtime.td - The runtime dialect --------------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_RUNTIME_RUNTIME_TD
#define MPOPT_DIALECT_RUNTIME_RUNTIME_TD

include "mlir/IR/OpBase.td"
include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/Dialect/LLVMIR/LLVMTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Runtime_Dialect : Dialect {
  let name = "runtime";
  let cppNamespace = "::mp::runtime";
  let summary = "services of the run-time library for compiled models";
  let description = [{
    The ops stand for the functions of include/mp-opt/Runtime/Runtime.h: a
    model's inputs, outputs and constants, memory of threads and of the model,
    loops that run in parallel, and errors. `mp-convert-to-llvm` writes them as
    calls.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

class Runtime_Op<string mnemonic, list<Trait> traits = []>
    : Op<Runtime_Dialect, mnemonic, traits>;

def Runtime_Pointer
    : Type<CPred<"::mlir::isa<::mlir::LLVM::LLVMPointerType>($_self)">, "pointer",
           "::mlir::LLVM::LLVMPointerType">,
      BuildableType<
          "::mlir::LLVM::LLVMPointerType::get($_builder.getContext())">;

def Runtime_FailOp : Runtime_Op<"fail", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the run with an error";
  let description = [{
    `%0` and `%1` in the text stand for the two numbers. Where code runs in
    parallel (`parallel`), the run continues and fails at its end, so the ops
    that follow must be harmless.

    ```mlir
    scf.if %bad {
      runtime.fail "node 'a' (Gather-13): index %0 is out of range for size %1"
          (%i, %size) parallel
    }
    ```
  }];
  let arguments = (ins StrAttr:$text, Index:$first, Index:$second,
                       UnitAttr:$parallel);
  let assemblyFormat = [{
    $text `(` $first `,` $second `)` (`parallel` $parallel^)? attr-dict
  }];
}

def Runtime_InputOp : Runtime_Op<"input", [Pure]> {
  let summary = "the memory of one input";
  let description = [{
    The memory is that of an element of the array of `mp_tensor` in the first
    argument of the model. Sizes that the type states have been checked.

    `%0 = runtime.input %inputs[2] : memref<?x4xf32>`
  }];
  let arguments = (ins Runtime_Pointer:$inputs, I64Attr:$number);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$inputs `[` $number `]` attr-dict `:` type($result)";
}

def Runtime_InputSizeOp : Runtime_Op<"input_size", [Pure]> {
  let summary = "one of the sizes that the caller gives for an input";
  let arguments = (ins Runtime_Pointer:$inputs, I64Attr:$number, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$inputs `[` $number `,` $axis `]` attr-dict";
}

def Runtime_CheckInputsOp
    : Runtime_Op<"check_inputs", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the run if the caller gives sizes that do not fit";
  let description = [{
    Sizes that the types state must be those that the caller gives; others must
    not be negative. The names are for the error.

    ```mlir
    runtime.check_inputs %inputs ["x", "w"] [memref<?x4xf32>, memref<8xf32>]
    ```
  }];
  let arguments = (ins Runtime_Pointer:$inputs, StrArrayAttr:$names,
                       TypeArrayAttr:$types);
  let assemblyFormat = "$inputs $names $types attr-dict";
}

def Runtime_OutputOp : Runtime_Op<"output", [MemoryEffects<[MemWrite]>]> {
  let summary = "the memory for one output";
  let description = [{
    The memory is that of an element of the array of `mp_tensor` in the second
    argument: the caller's, or new memory if the caller gives none. The sizes
    are written there; `sizes` are those that the type does not state.
  }];
  let arguments = (ins Runtime_Pointer:$outputs, I64Attr:$number,
                       Variadic<Index>:$sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $outputs `[` $number `]` `(` $sizes `)` attr-dict `:` type($result)
  }];
}

def Runtime_ConstantOp : Runtime_Op<"constant", [Pure]> {
  let summary = "the memory of one constant of the model";
  let arguments = (ins FlatSymbolRefAttr:$symbol);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$symbol attr-dict `:` type($result)";
}

def Runtime_DrawOp : Runtime_Op<"draw", [MemoryEffects<[MemWrite]>]> {
  let summary = "the start of a sequence of random numbers";
  let description = [{
    The result is a function of `seed`, the number of the call, and how often
    the call has drawn from this seed before: loops and later calls get numbers
    of their own.

    `%0 = runtime.draw 42`
  }];
  let arguments = (ins I64Attr:$seed);
  let results = (outs I64:$result);
  let assemblyFormat = "$seed attr-dict";
}

def Runtime_TimestampOp : Runtime_Op<"stamp", [MemoryEffects<[MemWrite]>]> {
  let summary = "records the time at which a kernel has ended";
  let description = [{
    The time is that of the thread that called the model. Kernels end in the
    order of their numbers; timestamp 0 is the start of the model. The op is only
    for code that runs in the process that compiled it, for `mp-run bench
    --profile`.

    `runtime.stamp 3`
  }];
  let arguments = (ins I64Attr:$number);
  let assemblyFormat = "$number attr-dict";
}

def Runtime_ScratchOp : Runtime_Op<"scratch"> {
  let summary = "memory of the running thread";
  let description = [{
    The result has at least `bytes` bytes at a multiple of 64, whose content is
    undefined. A thread has several such buffers; the memory lasts until it asks
    for the same buffer again. The op stands inside bodies of parallel loops;
    threads do not share the result.

    `%0 = runtime.scratch 1, %bytes : memref<?xi8>`
  }];
  let arguments = (ins Index:$bytes,
    ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<3>]>:$buffer);
  let results = (outs MemRefRankOf<[I8], [1]>:$result);
  let assemblyFormat = "$buffer `,` $bytes attr-dict `:` type($result)";
}

def Runtime_Line : MemRefRankOf<[AnyType], [1]>;

def Runtime_CacheLookupOp : Runtime_Op<"cache_lookup"> {
  let summary = "memory that an earlier call put into a cache entry";
  let description = [{
    If `there` is true, `memory` is the memory that `runtime.cache_insert` has
    put into the entry: `count` elements, which all calls share and none writes.

    `%memory, %there = runtime.cache_lookup %entry, %count : memref<?xf32>`
  }];
  let arguments = (ins Index:$entry, Index:$count);
  let results = (outs Runtime_Line:$memory, I1:$there);
  let assemblyFormat = "$entry `,` $count attr-dict `:` type($memory)";
}

def Runtime_CacheInsertOp
    : Runtime_Op<"cache_insert", [AllTypesMatch<["memory", "result"]>]> {
  let summary = "puts memory into a cache entry for later calls of the model";
  let description = [{
    `memory` has been allocated, and the entry takes ownership of it. Another
    call may have been faster: the result is the memory that the entry then
    holds.
  }];
  let arguments = (ins Index:$entry, Runtime_Line:$memory);
  let results = (outs Runtime_Line:$result);
  let assemblyFormat = "$entry `,` $memory attr-dict `:` type($memory)";
}

def Runtime_ParallelOp
    : Runtime_Op<"parallel", [SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "a loop whose iterations may run in any order";
  let description = [{
    The region runs for ranges [begin, end) that make up [0, count); `grain`
    is how long a range should be.

    ```mlir
    runtime.parallel %count by %grain {
    ^bb0(%begin: index, %end: index):
      scf.for %i = %begin to %end step %c1 { ... }
    }
    ```
  }];
  let arguments = (ins Index:$count, Index:$grain);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count `by` $grain attr-dict-with-keyword $body";
}

def Runtime_LaunchOp
    : Runtime_Op<"launch", [MemoryEffects<[MemRead, MemWrite]>,
                            DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a function for the ranges of a parallel loop";
  let description = [{
    `callee` is the body of a `runtime.parallel` as a function of the captured
    values, and of the begin and the end of a range. For a memref whose type
    says everything except its address, the callee gets a memref of rank 0: the
    pointer.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Index:$count, Index:$grain,
                       Variadic<AnyType>:$captures);
  let assemblyFormat = [{
    $callee `of` $count `by` $grain `(` $captures `)` attr-dict `:` type($captures)
  }];
}

def Runtime_AllReduceOp
    : Runtime_Op<"all_reduce", [AttrSizedOperandSegments,
        AllTypesMatch<["value", "result"]>,
        DeclareOpInterfaceMethods<BufferizableOpInterface,
          ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
           "getAliasingValues", "bufferize"]>]> {
  let summary = "combines the values of all ranks into one";
  let description = [{
    This is `mp.all_reduce` on tensors. Bufferization turns it into a
    `runtime.collective_start` and a `runtime.collective_wait` on the same
    memory, and mp-delay-waits joins those of a bucket. `kind` is an
    mp_operation of Runtime/Runtime.h, and `rows` is a vector of int64.

    `%1 = runtime.all_reduce %0 bucket 0 : tensor<8xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$value, Optional<I1>:$condition,
                       Optional<AnyRankedTensor>:$rows, I64Attr:$bucket,
                       DefaultValuedAttr<I32Attr, "0">:$kind);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $value (`if` $condition^)? (`rows` $rows^ `:` type($rows) `,`)?
    `bucket` $bucket attr-dict `:` type($result)
  }];
}

def Runtime_CollectiveStartOp
    : Runtime_Op<"collective_start", [AttrSizedOperandSegments]> {
  let summary = "starts a collective operation on memory";
  let description = [{
    The operation runs while the model continues. It replaces floats by their
    mean over the ranks, or by the result of another `kind` (an mp_operation of
    Runtime/Runtime.h); a byte becomes zero if it is zero on any rank. All
    members have the same type of elements, and each is a contiguous vector of
    them. Until the wait, no other op may read or write the memory. If
    `condition` is false, neither this op nor the wait does anything. `rows` are
    those of the only member, and are read immediately. After mp-delay-waits,
    each collective has a bucket of its own.

    `runtime.collective_start %a, %b bucket 0 : memref<8xf32>, memref<4xf32>`
  }];
  let arguments = (ins Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$members,
                       Optional<I1>:$condition,
                       Arg<Optional<AnyMemRef>, "", [MemRead]>:$rows,
                       I64Attr:$bucket, DefaultValuedAttr<I32Attr, "0">:$kind);
  let assemblyFormat = [{
    $members (`if` $condition^)? (`rows` $rows^ `:` type($rows) `,`)?
    `bucket` $bucket attr-dict `:` type($members)
  }];
  let hasVerifier = 1;
}

def Runtime_CollectiveWaitOp
    : Runtime_Op<"collective_wait", [AttrSizedOperandSegments]> {
  let summary = "waits until the collective operation of a bucket is done";
  let description = [{
    `runtime.collective_wait %a, %b bucket 0 : memref<8xf32>, memref<4xf32>`
  }];
  let arguments = (ins Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$members,
                       Optional<I1>:$condition, I64Attr:$bucket);
  let assemblyFormat = [{
    $members (`if` $condition^)? `bucket` $bucket attr-dict `:` type($members)
  }];
}

#endif // MPOPT_DIALECT_RUNTIME_RUNTIME_TD
