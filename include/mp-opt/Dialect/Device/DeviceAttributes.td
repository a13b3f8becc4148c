//===- DeviceAttributes.td - Attributes of launches --------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_DEVICE_DEVICEATTRIBUTES_TD
#define MPOPT_DIALECT_DEVICE_DEVICEATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/EnumAttr.td"

def Device_Dialect : Dialect {
  let name = "device";
  let cppNamespace = "::mp::device";
  let summary = "a model as a list of kernels, for devices";
  let description = [{
    For a GPU, `main` is not host code: it is a plan, a list of launches and
    copies over one arena, which the run-time library captures into one graph.
    `mp-form-kernels` divides `main` into `device.group`s, each of which becomes
    one kernel; `convert-groups-to-gpu` makes a function of each, in `gpu.module
    @kernels`, and a `device.launch`. Then `main` consists of these ops:

    * `runtime.input`, `runtime.output`, `runtime.constant`: memory that the
      caller knows;
    * one `memref.alloc` for the arena, and a `memref.view` at a constant offset
      for each temporary;
    * `device.control`: words that the run time and kernels share;
    * `device.launch`, whose operands are the results of these ops, and
      `memref.copy` between contiguous parts of them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

class Device_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mp::device";
  let genSpecializedAttr = 0;
}

def Device_Kind : Device_Enum<"Kind", "the kind of a group", [
    I32EnumAttrCase<"Elementwise", 0, "elementwise">,
    I32EnumAttrCase<"Reduce", 1, "reduce">,
    I32EnumAttrCase<"Contract", 2, "contract">,
    I32EnumAttrCase<"RowWise", 3, "row_wise">,
    I32EnumAttrCase<"SingleBlock", 4, "single_block">,
    I32EnumAttrCase<"Scatter", 5, "scatter">,
    I32EnumAttrCase<"Fused", 6, "fused">,
    I32EnumAttrCase<"Collective", 7, "collective">,
    I32EnumAttrCase<"Attention", 8, "attention">,
  ]>;

def Device_KindAttr : EnumAttr<Device_Dialect, Device_Kind, "kind">;

def Device_Sharing : Device_Enum<"Sharing", "the division of work", [
    I32EnumAttrCase<"Threads", 0, "threads">,
    I32EnumAttrCase<"Blocks", 1, "blocks">,
    I32EnumAttrCase<"Columns", 2, "columns">,
    I32EnumAttrCase<"Tiles", 3, "tiles">,
  ]>;

def Device_StrategyAttr : AttrDef<Device_Dialect, "Strategy"> {
  let mnemonic = "strategy";
  let summary = "the threads of a group";
  let description = [{
    `kernel-select-gpu-strategy` sets the strategy of each `device.group`, and
    `convert-groups-to-gpu` obeys it.

    * `by` says how the work is divided. `threads`: each thread of the grid
      computes elements, or rows. `blocks`: the threads of a block compute an
      element or a row together, or all of the group's ops. `columns`: a block
      computes as many neighbouring results of a reduction as a warp has lanes.
      `tiles`: a block computes a tile of a contraction, which `tile` of
      `kernel.contract` describes.
    * `blocks`: blocks of the grid, or of the part of a fused kernel.
    * `threads`: threads of a block, a multiple of the 32 lanes of a warp.

    ```mlir
    #device.strategy<by = threads, blocks = 4, threads = 256>
    ```
  }];
  let parameters = (ins
    EnumParameter<Device_Sharing>:$by, "int64_t":$blocks, "int64_t":$threads);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Device_FP32Products : Device_Enum<"FP32Products",
    "the arithmetic of fp32 products", [
    I32EnumAttrCase<"Exact", 0, "exact">,
    I32EnumAttrCase<"TF32", 1, "tf32">,
  ]>;

def Device_TargetAttr : AttrDef<Device_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the GPU that kernels are made for";
  let description = [{
    `device.target` on the module has the target of its kernels.

    * `chip`: `sm_80` for NVIDIA's GPUs from sm_80 on, whose kernels are the
      same; `gfx942` or `gfx1100` for AMD's.
    * `fp32_products`: `tf32` if tensor cores may multiply fp32 by fp32, of
      which they read 11 significant bits; else products are `exact`.

    Without the attribute, all parameters have their defaults. The properties of
    chips are in mp-opt/Codegen/Target/KnownTargets.h.

    ```mlir
    #device.target<chip = "sm_80", fp32_products = tf32>
    ```
  }];
  let parameters = (ins
    StringRefParameter<"the name that compilers use", [{"sm_80"}]>:$chip,
    DefaultValuedParameter<"FP32Products", "FP32Products::Exact">
      :$fp32_products);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Device_WorkKind : Device_Enum<"WorkKind", "the kind of a launch", [
    I32EnumAttrCase<"Product", 0, "product">,
    I32EnumAttrCase<"Map", 1, "map">,
    I32EnumAttrCase<"Sum", 2, "sum">,
    I32EnumAttrCase<"Rows", 3, "rows">,
    I32EnumAttrCase<"Block", 4, "block">,
    I32EnumAttrCase<"Update", 5, "update">,
    I32EnumAttrCase<"Copy", 6, "copy">,
  ]>;

def Device_WorkAttr : AttrDef<Device_Dialect, "Work"> {
  let mnemonic = "work";
  let summary = "what a launch moves and computes";
  let description = [{
    The attribute has the counts of one launch, or of all parts of a launch that
    have the same kind:

    * `kind` follows from that of the `device.group`: `product` (`contract` and
      `attention`), `map` (`elementwise`), `sum` (`reduce`), `rows`
      (`row_wise`), `block` (all others). `update` stands for any of them except
      `product`, if it overwrites a state. `copy` is not a launch, but a copy.
    * `read`: bytes that are read, except those that the launch itself has
      written before; `written`: bytes that are written. Each byte counts once,
      however often it is accessed; if parts of several kinds access it, it
      counts for the first. If data decide which element is accessed, each
      access counts as a different element, up to the number of all elements.
    * `tensor`: multiply-adds of 16-bit factors by tensor cores; `fma`:
      multiply-adds of other products.
    * `operations`: other operations on floats, except casts and constants; each
      counts as one.
    * `doubles`: all of these operations on f64; a multiply-add counts as two.

    ```mlir
    #device.work<kind = map, read = 16384, written = 16384, operations = 4096>
    ```
  }];
  let parameters = (ins
    EnumParameter<Device_WorkKind>:$kind,
    DefaultValuedParameter<"uint64_t", "0">:$read,
    DefaultValuedParameter<"uint64_t", "0">:$written,
    DefaultValuedParameter<"uint64_t", "0">:$tensor,
    DefaultValuedParameter<"uint64_t", "0">:$fma,
    DefaultValuedParameter<"uint64_t", "0">:$operations,
    DefaultValuedParameter<"uint64_t", "0">:$doubles);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Device_WorkArrayAttr : TypedArrayAttrBase<Device_WorkAttr, "work by kinds">;

#endif // MPOPT_DIALECT_DEVICE_DEVICEATTRIBUTES_TD
