//===- ONNX.td - The onnx dialect --------------------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_ONNX_ONNX_TD
#define MPOPT_DIALECT_ONNX_ONNX_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ONNX_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::mp::onnxir";
  let summary = "complete ONNX models";
  let description = [{
    Operators come from ONNX's schemas at start-up, not from this file: every op
    of the standard domains is `onnx.<Name>`, every op of another described
    domain `onnx.<domain>.<Name>`. The verifier uses the schema at the opset in
    force. Ops that no schema describes are `onnx.custom`.

    This file adds what a model has besides nodes: graphs, functions,
    training entries, initializers, absent operands. Lower-case names cannot
    clash with operators.

    A node keeps its ONNX identity in properties that are written as attributes
    (NodeAttributes.h): `onnx.name`
    (node name), `onnx.results` (value names, empty for an absent output),
    `onnx.regions` (attribute name of each subgraph), `onnx.region_fields`
    (other fields of those attributes), `onnx.attr_order` (if
    the attributes are not in alphabetical order) and `onnx.extra` (fields of
    NodeProto that have no place of their own, under their protobuf names).
  }];
  let isExtensible = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// The schemas that this context's operators were made from.
    const ::mp::SchemaRegistry &getSchemas() const { return *schemas; }

    /// The operator family of a registered op; null for the ops of ONNX.td.
    const ::mp::OpFamily *getFamily(::mlir::OperationName name) const {
      return families.lookup(name.getAsOpaquePointer());
    }

    /// Adds operators of further domains; call before any of them is used.
    void useSchemas(std::shared_ptr<const ::mp::SchemaRegistry> registry);

  private:
    void addBytecode();
    void registerOperators();
    std::shared_ptr<const ::mp::SchemaRegistry> schemas;
    ::llvm::DenseMap<const void *, const ::mp::OpFamily *> families;
    /// Allocates the IDs of the operators.
    ::mlir::TypeIDAllocator typeIDs;

  public:
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class ONNX_Type<string cppName, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<ONNX_Dialect, cppName, traits> {
  let mnemonic = typeMnemonic;
}

def ONNX_StringType : ONNX_Type<"String", "string"> {
  let summary = "element type of string tensors";
}
def ONNX_UnknownType : ONNX_Type<"Unknown", "unknown"> {
  let summary = "type that neither the model nor its schemas define";
}
class ONNX_ContainerType<string cppName, string typeMnemonic, string text>
    : ONNX_Type<cppName, typeMnemonic> {
  let summary = text;
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}
def ONNX_SequenceType : ONNX_ContainerType<"Sequence", "seq", "sequence of one type">;
def ONNX_OptionalType : ONNX_ContainerType<"Optional", "optional", "optional value">;
def ONNX_SparseTensorType
    : ONNX_ContainerType<"SparseTensor", "sparse", "sparse form of a tensor type">;
def ONNX_MapType : ONNX_Type<"Map", "map"> {
  let summary = "map from an integer or string to a type";
  let parameters = (ins "::mlir::Type":$keyType, "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $keyType `,` $valueType `>`";
}
def ONNX_OpaqueType : ONNX_Type<"Opaque", "opaque"> {
  let summary = "type known to one domain only";
  let parameters = (ins StringRefParameter<>:$domain, StringRefParameter<>:$name);
  let assemblyFormat = "`<` $domain `,` $name `>`";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class ONNX_Attr<string cppName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<ONNX_Dialect, cppName, traits> {
  let mnemonic = attrMnemonic;
}

def ONNX_ProtoAttr : ONNX_Attr<"Proto", "proto"> {
  let summary = "an attribute kept as the fields of its AttributeProto";
  let description = [{
    It is used for attributes without a plain MLIR form: references to a
    function's attribute, types, sparse tensors, documented attributes. The name
    is that of the attribute itself.
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$fields);
  let assemblyFormat = "`<` $fields `>`";
}

def ONNX_TensorAttr : ONNX_Attr<"Tensor", "tensor"> {
  let summary = "a tensor with the fields of its TensorProto";
  let description = [{
    `value` holds the elements if they have a plain MLIR form (then `fields`
    lacks dims, data_type and the data). Otherwise it is absent and `fields` has
    everything.
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$fields,
                        OptionalParameter<"::mlir::TypedAttr">:$value);
  let assemblyFormat = "`<` $fields (`,` $value^)? `>`";
}

def ONNX_CastElementsAttr
    : ONNX_Attr<"CastElements", "cast_elements", [TypedAttrInterface]> {
  let summary = "the elements of a big constant, rounded to another float type";
  let description = [{
    The attribute stands for the conversion (to nearest even) of an elements
    attribute that has not been made yet: big weights are converted while they
    are written out. With a `clamp` (f64), finite elements beyond it are
    replaced by it, with their sign, before they are rounded.
  }];
  let parameters = (ins "::mlir::TypedAttr":$source,
                        OptionalParameter<"::mlir::FloatAttr">:$clamp,
                        AttributeSelfTypeParameter<"">:$type);
  let assemblyFormat = "`<` $source (`,` `clamp` `=` $clamp^)? `>`";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class ONNX_Op<string mnemonic, list<Trait> traits = []>
    : Op<ONNX_Dialect, mnemonic, traits>;

class ONNX_ContainerOp<string mnemonic, list<Trait> traits = []>
    : ONNX_Op<mnemonic, !listconcat(traits, [IsolatedFromAbove,
        DeclareOpInterfaceMethods<OpAsmOpInterface,
                                  ["getAsmBlockArgumentNames"]>])>;

def ONNX_GraphOp : ONNX_ContainerOp<"graph", [SingleBlock]> {
  let summary = "the main graph of a model";
  let description = [{
    Block arguments are the graph's inputs; `onnx.yield` ends the graph and
    carries its name, the inputs' and outputs' descriptions and value_info.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def ONNX_FunctionOp : ONNX_ContainerOp<"function", [SingleBlock]> {
  let summary = "a model-local function";
  let description = [{
    It is called by `onnx.custom` ops of the same domain and op type. Functions
    are polymorphic: their values have types only where value_info gives them.
  }];
  let arguments = (ins StrAttr:$domain, StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$domain $name attr-dict-with-keyword $body";
}

def ONNX_TrainingOp : ONNX_ContainerOp<"training", [NoTerminator]> {
  let summary = "one training_info entry of a model";
  let description = [{
    Either region may be empty (the model lacks that graph). Names that the
    algorithm takes from the main graph appear as `onnx.outer`.
  }];
  let regions = (region AnyRegion:$initialization, AnyRegion:$algorithm);
  let assemblyFormat = [{
    `initialization` $initialization `algorithm` $algorithm
    attr-dict-with-keyword
  }];
}

def ONNX_YieldOp : ONNX_Op<"yield", [Terminator, Pure]> {
  let summary = "ends a graph with its outputs, and describes the graph";
  let description = [{
    Discardable attributes: `onnx.inputs`, `onnx.outputs`, `onnx.value_info`
    (ValueInfoProto each; plain names in a function) and `onnx.graph` (the
    graph's remaining fields, under their protobuf names).
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def ONNX_InitializerOp
    : ONNX_Op<"initializer",
              [DeclareOpInterfaceMethods<OpAsmOpInterface,
                                         ["getAsmResultNames"]>]> {
  let summary = "a constant stored with the model";
  let description = [{
    `value` is absent if the elements have no plain MLIR form; then `fields` has
    them. `overridable` marks the default of the graph input of the same name:
    such an initializer has no uses; the uses are those of the input. `sparse`
    marks a sparse initializer, kept in `fields`.
  }];
  let arguments = (ins StrAttr:$name,
                       OptionalAttr<TypedAttrInterface>:$value,
                       OptionalAttr<DictionaryAttr>:$fields,
                       UnitAttr:$overridable, UnitAttr:$sparse);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $name ($value^)? (`overridable` $overridable^)? (`sparse_form` $sparse^)?
    (`fields` $fields^)? attr-dict `:` type($result)
  }];
}

def ONNX_AbsentOp
    : ONNX_Op<"absent", [Pure, DeclareOpInterfaceMethods<
                                   OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "an optional operand that is not given";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict";
}

def ONNX_OuterOp
    : ONNX_Op<"outer", [DeclareOpInterfaceMethods<OpAsmOpInterface,
                                                  ["getAsmResultNames"]>]> {
  let summary = "a value of the main graph, taken by its name";
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def ONNX_CustomOp
    : ONNX_Op<"custom", [DeclareOpInterfaceMethods<OpAsmOpInterface,
                                                   ["getAsmResultNames"]>]> {
  let summary = "a node that no schema describes, or a call of a function";
  let description = [{
    The node is kept as it is: its operands and results keep their types.
  }];
  let arguments = (ins StrAttr:$onnx_domain, StrAttr:$onnx_op_type,
                       Variadic<AnyType>:$inputs);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region VariadicRegion<AnyRegion>:$graphs);
  let assemblyFormat = [{
    $onnx_domain $onnx_op_type `(` $inputs `)` attr-dict-with-keyword $graphs `:`
    functional-type($inputs, $outputs)
  }];
}

#endif // MPOPT_DIALECT_ONNX_ONNX_TD
