//===- Device.td - The device dialect ----------------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_DEVICE_DEVICE_TD
#define MPOPT_DIALECT_DEVICE_DEVICE_TD

include "mp-opt/Dialect/Device/DeviceAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Device_Op<string mnemonic, list<Trait> traits = []>
    : Op<Device_Dialect, mnemonic, traits>;

def Device_ControlOp : Device_Op<"control", [Pure]> {
  let summary = "words that the run time and kernels share";
  let description = [{
    The words are in the device's memory. The run time writes word 0 before each
    call, and reads the others after it:

    * 0: the number of the call, on which random numbers depend;
    * 1: 0 until a thread fails, then not 0;
    * 2: 1 + the index of the first failed thread's message in the module's
      `device.errors`;
    * 3, 4: the two numbers that replace `%0` and `%1` in this message;
    * 5: 0 until a kernel ends because of a failure, then not 0. Later kernels
      do nothing, since numbers that the model has computed may be wrong.

    `%0 = device.control : memref<8xi64>`
  }];
  let results = (outs MemRefRankOf<[I64], [1]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Device_GroupOp : Device_Op<"group", [SingleBlock, NoTerminator,
                                         RecursiveMemoryEffects]> {
  let summary = "ops of one kernel";
  let description = [{
    The ops in the region run on the device, in this order; a group passes
    results to others only through memory. `kind` says how its threads share the
    work:

    * `elementwise`: one `linalg.generic` without reductions; each thread
      computes one element, or a few consecutive ones;
    * `reduce`: one `linalg.generic` with reductions;
    * `contract`: one `kernel.contract`, or several that differ only in their
      memory;
    * `attention`: one `kernel.attention` or `kernel.attention_gradient`;
    * `row_wise`: one `scf.forall`; each iteration is computed by the threads of
      one block together;
    * `single_block`: all other ops, computed by the threads of one block
      together;
    * `scatter`: one nest of `scf.for` that updates elements or rows at indices
      that come from data; each thread owns some of these elements or rows, and
      goes through all indices;
    * `fused`: independent groups, each of which has its own blocks;
    * `collective`: `runtime.collective_start` and `runtime.collective_wait`,
      which are not a kernel; the host executes them between launches.

    `strategy` has the blocks and threads of the kernel; it is absent until
    `kernel-select-gpu-strategy` sets it.

    ```mlir
    device.group elementwise strategy <by = threads, blocks = 4, threads = 256> {
      linalg.generic ...
    }
    ```

    With `when_set`, the group is not part of a call: it runs only after states
    have been set, before the next call.
  }];
  let arguments = (ins Device_KindAttr:$kind,
                       OptionalAttr<Device_StrategyAttr>:$strategy,
                       UnitAttr:$when_set);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "Kind":$kind), [{
    build($_builder, $_state, kind, StrategyAttr(), false);
  }]>];
  let assemblyFormat = [{
    $kind (`strategy` $strategy^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Device_WorkingCopyOp : Device_Op<"shadow", [Pure]> {
  let summary = "16-bit working copy of a state";
  let description = [{
    The result is memory of the device that lasts as long as that of `state`, an
    input of `main`. When the state has been set, the copy holds the state's
    elements, rounded to nearest, ties to even; ops that write the state write
    the copy as well.

    `%0 = device.shadow %w : memref<64x32xf32> as memref<64x32xbf16>`
  }];
  let arguments = (ins AnyMemRef:$state);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$state attr-dict `:` type($state) `as` type($result)";
}

def Device_DrawOp : Device_Op<"draw", [Pure]> {
  let summary = "the start of a sequence of random numbers";
  let description = [{
    The op computes `runtime.draw` on the device, from the number of the call,
    the seed, and how often the call has drawn from this seed before.

    `%0 = device.draw %control, 42 after 0 : memref<8xi64>`
  }];
  let arguments = (ins MemRefRankOf<[I64], [1]>:$control, I64Attr:$seed,
                       I64Attr:$before);
  let results = (outs I64:$result);
  let assemblyFormat = [{
    $control `,` $seed `after` $before attr-dict `:` type($control)
  }];
}

def Device_FailOp : Device_Op<"fail"> {
  let summary = "makes the call fail";
  let description = [{
    The op writes the index of a message in the module's `device.errors`, and
    two numbers, into the control words, unless another thread has failed
    already. With `ends`, the thread does nothing more in this kernel; all
    threads of its block execute the op together.

    `device.fail %control, 0 (%i, %size) : memref<8xi64>`
  }];
  let arguments = (ins MemRefRankOf<[I64], [1]>:$control, I64Attr:$text,
                       Index:$first, Index:$second, UnitAttr:$ends);
  let assemblyFormat = [{
    $control `,` $text `(` $first `,` $second `)` (`ends` $ends^)? attr-dict `:`
    type($control)
  }];
}

def Device_LaunchOp
    : Device_Op<"launch", [MemoryEffects<[MemRead, MemWrite]>,
                           DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    `kernel` is a function of the operands' bare pointers; the operands' types
    describe the rest. `grid` is the number of blocks, `block` the number of
    threads in each; `shared` is dynamic shared memory in bytes. `work` counts
    what the launch moves and computes, with one `#device.work` for each kind.
    With `when_set`, the launch is not part of a call: it runs only after states
    have been set, before the next call.

    ```mlir
    device.launch @kernels::@map_0 grid [4, 1, 1] block [256, 1, 1] (%a, %b)
        : memref<1024xf32>, memref<1024xf32>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, DenseI32ArrayAttr:$grid,
                       DenseI32ArrayAttr:$block,
                       DefaultValuedAttr<I32Attr, "0">:$shared,
                       OptionalAttr<Device_WorkArrayAttr>:$work,
                       UnitAttr:$when_set,
                       Variadic<AnyMemRef>:$operands);
  let assemblyFormat = [{
    $kernel `grid` $grid `block` $block (`shared` $shared^)? `(` $operands `)`
    attr-dict `:` type($operands)
  }];
  let hasVerifier = 1;
}

#endif // MPOPT_DIALECT_DEVICE_DEVICE_TD
