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
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

def Device_WorkKind : I32EnumAttr<"WorkKind", "the kind of a launch", [
    I32EnumAttrCase<"Product", 0, "product">,
    I32EnumAttrCase<"Map", 1, "map">,
    I32EnumAttrCase<"Sum", 2, "sum">,
    I32EnumAttrCase<"Rows", 3, "rows">,
    I32EnumAttrCase<"Block", 4, "block">,
    I32EnumAttrCase<"Update", 5, "update">,
    I32EnumAttrCase<"Copy", 6, "copy">,
  ]> {
  let cppNamespace = "::mp::device";
  let genSpecializedAttr = 0;
}

def Device_WorkAttr : AttrDef<Device_Dialect, "Work"> {
  let mnemonic = "work";
  let summary = "what a launch moves and computes";
  let description = [{
    The attribute has the counts of one launch, or of all parts of a launch that
    have the same kind:

    * `kind`: `product` (`kernel.contract`), `map`, `sum` (`reduce`), `rows` and
      `block` are the kinds of `device.group`. `update` stands for any of them
      except `product`, if it overwrites a state. `copy` is not a launch, but a
      copy.
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
