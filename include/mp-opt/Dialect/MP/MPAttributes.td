//===- MPAttributes.td - Attributes of precision passes ----*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MP_MPATTRIBUTES_TD
#define MPOPT_DIALECT_MP_MPATTRIBUTES_TD

include "mp-opt/Dialect/MP/MP.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def MP_OpClass : I32EnumAttr<"OpClass",
    "the class that a policy gives an operator", [
    I32EnumAttrCase<"Allow", 0, "allow">,
    I32EnumAttrCase<"Deny", 1, "deny">,
    I32EnumAttrCase<"Promote", 2, "promote">,
    I32EnumAttrCase<"Follow", 3, "follow">,
  ]> {
  let cppNamespace = "::mp";
  let genSpecializedAttr = 0;
}

def MP_InstructionSet : I32EnumAttr<"InstructionSet",
    "vector instructions of a processor", [
    I32EnumAttrCase<"AVX2", 0, "avx2">,
    I32EnumAttrCase<"AVX512", 1, "avx512">,
    I32EnumAttrCase<"Neon", 2, "neon">,
  ]> {
  let cppNamespace = "::mp";
  let genSpecializedAttr = 0;
}

def MP_Products : I32EnumAttr<"Products", "how 16-bit factors are multiplied", [
    I32EnumAttrCase<"Widen", 0, "widen">,
    I32EnumAttrCase<"Dot", 1, "dot">,
    I32EnumAttrCase<"AMX", 2, "amx">,
  ]> {
  let cppNamespace = "::mp";
  let genSpecializedAttr = 0;
}

class MP_Attr<string name, string attrMnemonic>
    : AttrDef<MP_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def MP_ClassAttr : MP_Attr<"Class", "class"> {
  let summary = "the class of a node, and the reason for it";
  let description = [{
    `mp.class` is on a node from `mp-classify` on. `reason` says why;
    `requested_by` is the flag or line where the user asks for it, and
    `denied_by` is the obstacle to a request for 16 bit, if there is one.
    `builtin` says that the class comes from a built-in list, or from no list;
    `override`, that it comes from a rule for nodes, not from a list of
    operators.

    ```mlir
    #mp.class<allow, reason = "built-in list", builtin>
    #mp.class<deny, reason = "shape arithmetic", requested_by = "--allow", denied_by = "shape arithmetic">
    ```
  }];
  let parameters = (ins "::mp::OpClass":$opClass,
                    "::mlir::StringAttr":$reason,
                    OptionalParameter<"::mlir::StringAttr">:$requestedBy,
                    OptionalParameter<"::mlir::StringAttr">:$deniedBy,
                    "bool":$isBuiltin, "bool":$isOverride);
  let builders = [AttrBuilder<(ins "::mp::OpClass":$opClass,
                                   "::mlir::StringAttr":$reason), [{
    return $_get($_ctxt, opClass, reason, ::mlir::StringAttr(),
                 ::mlir::StringAttr(), false, false);
  }]>];
}

def MP_PrecisionAttr : MP_Attr<"Precision", "precision"> {
  let summary = "the element type that a node is to run in, and the reason";
  let description = [{
    `mp.precision` is on a node from `mp-assign` on. A node with several type
    variables (control flow, calls) has a list of their types after its own;
    `none` stands for a variable without fp32 values. The parts of a reason that
    differ from node to node (byte counts, names) are in `values`; the text has
    `{0}`, `{1}` in their places, so nodes can be grouped by the text.

    ```mlir
    #mp.precision<bf16, reason = "built-in list">
    #mp.precision<f32, variables = [f32, bf16, none], reason = "">
    #mp.precision<f32, reason = "minimum cut: bf16 would move {0} bytes more", values = [160]>
    ```
  }];
  let parameters = (ins "::mlir::Type":$type,
                    ArrayRefParameter<"::mlir::Type">:$variables,
                    "::mlir::StringAttr":$reason,
                    OptionalParameter<"::mlir::ArrayAttr">:$values);
  let builders = [AttrBuilder<(ins "::mlir::Type":$type,
                                   "::mlir::StringAttr":$reason), [{
    return $_get($_ctxt, type, ::llvm::ArrayRef<::mlir::Type>(), reason,
                 ::mlir::ArrayAttr());
  }]>];
  let genVerifyDecl = 1;
}

def MP_HazardAttr : MP_Attr<"Hazard", "hazard"> {
  let summary = "why a node must not run in 16 bit";
  let description = [{
    `mp.hazard` on a node: `#mp.hazard<"accumulates 4096 elements, bf16 counts to 256">`.
  }];
  let parameters = (ins "::mlir::StringAttr":$reason);
}

def MP_CompositeAttr : MP_Attr<"Composite", "composite"> {
  let summary = "the op that a set of nodes stands for";
  let description = [{
    `mp.composite` on each node of a decomposed op has the op's name, and a
    number that the nodes of one op share:
    `#mp.composite<"LayerNormalization", 0>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$number);
}

def MP_RoundingErrorAttr : AttrDef<MP_Dialect, "RoundingError"> {
  let mnemonic = "rounding_error";
  let summary = "what roundings at a node do to the outputs";
  let description = [{
    `mp.rounding_error` is on a node whose errors have been attributed. `errors`
    has a number for each result and then for each operand: the squared relative
    error of the model's outputs if it alone is rounded to 16 bit, to first
    order. An operand's counts only if the value is fp32 until then. `kinks` has
    the shares in the variance at kinks (ErrorLimitAttr).

    `#mp.rounding_error<[1.0e-06, 0.0, 2.0e-07]>`
  }];
  let parameters = (ins "::mlir::DenseF64ArrayAttr":$errors,
                    OptionalParameter<"::mlir::DenseF64ArrayAttr">:$kinks);
  let assemblyFormat = "`<` $errors (`,` `kinks` `=` $kinks^)? `>`";
}

def MP_ErrorLimitAttr : AttrDef<MP_Dialect, "ErrorLimit"> {
  let mnemonic = "error_limit";
  let summary = "the relative error that 16 bit may cause";
  let description = [{
    `mp.error_limit` is on the module if `mp-assign` is to stay within an error:
    the root of the sum of `mp.rounding_error` over all roundings is at most
    `limit`. With a share b of the variance at kinks (masks and choices that
    flip), the squared error is greater by `kinks` times the root of b.

    `#mp.error_limit<1.0e-03 : f64, kinks = 2.0e-06 : f64>`
  }];
  let parameters = (ins "::mlir::FloatAttr":$limit,
                    OptionalParameter<"::mlir::FloatAttr">:$kinks);
  let assemblyFormat = "`<` $limit (`,` `kinks` `=` $kinks^)? `>`";
}

def MP_PolicyAttr : MP_Attr<"Policy", "policy"> {
  let summary = "the user's policy for 16 bit";
  let description = [{
    `mp.policy` is on the module from `mp-set-policy` on. It has the 16-bit
    type, and all other settings of flags, files and the model. An entry is a
    text, and the flag or line that it comes from.

    ```mlir
    #mp.policy<bf16>
    #mp.policy<f16, {operators = {deny = [["Gelu", "--deny"]]}, strict = true}>
    ```
  }];
  let parameters = (ins "::mlir::Type":$lowType,
                    OptionalParameter<"::mlir::DictionaryAttr">:$options);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Null if the option is not set.
    template <typename T> T getOption(::llvm::StringRef name) const {
      return getOptions() ? getOptions().template getAs<T>(name) : T();
    }
  }];
}

def MP_TargetAttr : AttrDef<MP_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the machine that code is made for";
  let description = [{
    `mp.target` is on the module from `mp-set-target` on (tools set it, for the
    machine that they run on). `isa` names the vector instructions: `avx2`,
    `avx512` (F, BW and VL) or `neon`. `products` says how 16-bit factors are
    multiplied. With `widen` they are widened to f32 first. With `dot`, bf16 is
    multiplied by dot products of pairs (AVX512-BF16), with `amx` by tiles; both
    need avx512, and widen fp16. With `direct`, convolutions are computed
    without Winograd's transforms.

    ```mlir
    #mp.target<cpu, isa = avx512, products = dot>
    #mp.target<cpu, isa = avx2, products = widen, direct>
    ```
  }];
  let parameters = (ins "::mp::InstructionSet":$isa, "::mp::Products":$products,
                    "bool":$isDirect);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // MPOPT_DIALECT_MP_MPATTRIBUTES_TD
