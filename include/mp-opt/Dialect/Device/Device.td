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
    On the device; the run time writes word 0 before each call and reads the
    others after it:

    * 0: the number of the call, of which random numbers are a function;
    * 1: 0, or anything else once a thread has failed;
    * 2: of the first that did, 1 + the index of a text in the module's
      `device.errors`;
    * 3, 4: the two numbers that stand for `%0` and `%1` in it;
    * 5: 0, or anything else once a kernel has ended for that: what follows must
      not trust numbers that the model computes, and does nothing.

    `%0 = device.control : memref<8xi64>`
  }];
  let results = (outs MemRefRankOf<[I64], [1]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Device_GroupOp : Device_Op<"group", [SingleBlock, NoTerminator,
                                         RecursiveMemoryEffects]> {
  let summary = "ops of one kernel";
  let description = [{
    What is inside runs on the device, in this order; memory is all that leaves
    a group. `kind` says how its threads share the work:

    * `map`: one `linalg.generic` without reductions; a thread for each element,
      or a few that follow each other;
    * `reduce`: one `linalg.generic` with reductions;
    * `contract`: one `kernel.contract`, or some that differ in memory alone;
    * `rows`: one `scf.forall`; a block for each of its iterations, whose threads
      do what is inside together;
    * `block`: anything else, by the threads of one block together;
    * `indexed`: one nest of `scf.for` that updates elements or rows at places
      that data name; threads own places, and go through all indices;
    * `parts`: groups that do not wait for each other, each by blocks of its own;
    * `ranks`: no kernel, but `runtime.reduce_start` and `runtime.reduce_wait`,
      which the host makes between launches.

    ```mlir
    device.group map {
      linalg.generic ...
    }
    ```

    With `when_set`, it runs where states have been set alone, before the
    next call.
  }];
  let arguments = (ins StrAttr:$kind, UnitAttr:$when_set);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind attr-dict-with-keyword $body";
}

def Device_WorkingCopyOp : Device_Op<"shadow", [Pure]> {
  let summary = "16-bit working copy of a state";
  let description = [{
    Memory of the device that lasts as long as that of `state`, an input of
    `main`. Once the state has been set, it holds the state's elements rounded to
    nearest, ties to even; what writes the state writes it as well.

    `%0 = device.shadow %w : memref<64x32xf32> as memref<64x32xbf16>`
  }];
  let arguments = (ins AnyMemRef:$state);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$state attr-dict `:` type($state) `as` type($result)";
}

def Device_DrawOp : Device_Op<"draw", [Pure]> {
  let summary = "where a sequence of random numbers begins";
  let description = [{
    `runtime.draw` as a function of what is known on the device: the number of
    the call, the seed, and how often the call has drawn from it before.

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
    Writes the index of a text in the module's `device.errors` and two numbers
    into the control words, unless another thread has failed already. With
    `ends`, the thread does nothing more in this kernel: all threads of its block
    come here together.

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
    `kernel` is a function of the operands' pointers: bare ones, since their
    types say the rest. `grid` counts blocks, `block` threads in each;
    `shared` is dynamic shared memory in bytes. `work` is what the launch moves
    and computes, one `#device.work` for each kind. With `when_set`, it is no
    part of a call: it runs where states have been set, before the next one.

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
