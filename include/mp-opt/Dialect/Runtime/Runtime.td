//===- Runtime.td - The runtime dialect --------------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_RUNTIME_RUNTIME_TD
#define MPOPT_DIALECT_RUNTIME_RUNTIME_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Runtime_Dialect : Dialect {
  let name = "runtime";
  let cppNamespace = "::mp::runtime";
  let summary = "what compiled models ask of their run-time library";
  let description = [{
    Calls of include/mp-opt/Runtime/Runtime.h that need more than numbers.
    `convert-runtime-to-llvm` writes them as calls.
  }];
}

class Runtime_Op<string mnemonic, list<Trait> traits = []>
    : Op<Runtime_Dialect, mnemonic, traits>;

def Runtime_FailOp : Runtime_Op<"fail", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the run with an error";
  let description = [{
    `%0` and `%1` in the text stand for the two numbers. Where code runs in
    parallel (`parallel`), the run goes on and fails in the end, so what
    follows must be harmless.

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

#endif // MPOPT_DIALECT_RUNTIME_RUNTIME_TD
