//===- NodeOperation.cpp - Ops that schemas make --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's own ops of this kind (DynamicOpDefinition) have no properties; these
// have NodeAttributes, and print them as attributes among the others.
//
//===----------------------------------------------------------------------===//

#include "NodeOperation.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mp::onnxir {

static NodeAttributes &get(OpaqueProperties properties) {
  return *properties.as<NodeAttributes *>();
}

static NodeAttributes &get(Operation *op) {
  return get(op->getPropertiesStorage());
}

/// Null if the op has no attributes.
static DictionaryAttr getDictionary(Operation *op) {
  SmallVector<NamedAttribute> all = get(op).getAll();
  return all.empty() ? DictionaryAttr()
                     : DictionaryAttr::getWithSorted(op->getContext(), all);
}

static LogicalResult
setFromDictionary(NodeAttributes &attributes, Attribute value,
                  function_ref<InFlightDiagnostic()> emitError) {
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(value);
  if (value && !dictionary)
    return emitError() << "expected a dictionary of properties, got " << value;
  attributes = NodeAttributes();
  if (!dictionary)
    return success();
  for (NamedAttribute entry : dictionary) {
    if (!NodeAttributes::holds(entry.getName()))
      return emitError() << "expected properties with the prefix 'onnx.' or "
                         << "'mp.', got '" << entry.getName().getValue() << "'";
    attributes.set(entry.getName(), entry.getValue());
  }
  return success();
}

namespace {

class NodeOperation : public OperationName::Impl {
public:
  using Impl::Impl;

  LogicalResult foldHook(Operation *, ArrayRef<Attribute>,
                         SmallVectorImpl<OpFoldResult> &) override {
    return failure();
  }
  void getCanonicalizationPatterns(RewritePatternSet &,
                                   MLIRContext *) override {}
  bool hasTrait(TypeID) override { return false; }
  OperationName::ParseAssemblyFn getParseAssemblyFn() override {
    return [](OpAsmParser &parser, OperationState &state) -> ParseResult {
      return parser.emitError(parser.getNameLoc())
             << "expected '" << state.name << "' in the generic form";
    };
  }
  void populateDefaultAttrs(const OperationName &, NamedAttrList &) override {}
  void printAssembly(Operation *op, OpAsmPrinter &printer, StringRef) override;
  LogicalResult verifyInvariants(Operation *op) override {
    // Attributes of other dialects on a node are not discardable attributes,
    // which MLIR would have these dialects verify.
    for (NamedAttribute entry : get(op).getEntries())
      if (Dialect *owner = entry.getNameDialect();
          owner && owner != op->getDialect() &&
          failed(owner->verifyOperationAttribute(op, entry)))
        return failure();
    return verifyNode(op);
  }
  LogicalResult verifyRegionInvariants(Operation *) override {
    return success();
  }

  std::optional<Attribute> getInherentAttr(Operation *op,
                                           StringRef name) override {
    if (!NodeAttributes::holds(name))
      return std::nullopt;
    return get(op).get(name);
  }
  void setInherentAttr(Operation *op, StringAttr name,
                       Attribute value) override {
    get(op).set(name, value);
  }
  void populateInherentAttrs(Operation *op, NamedAttrList &attrs) override {
    attrs.append(get(op).getAll());
  }
  LogicalResult
  verifyInherentAttrs(OperationName, NamedAttrList &,
                      function_ref<InFlightDiagnostic()>) override {
    return success();
  }
  int getOpPropertyByteSize() override { return sizeof(NodeAttributes); }
  void initProperties(OperationName, OpaqueProperties storage,
                      OpaqueProperties init) override {
    if (init)
      new (storage.as<void *>()) NodeAttributes(get(init));
    else
      new (storage.as<void *>()) NodeAttributes();
  }
  void deleteProperties(OpaqueProperties properties) override {
    get(properties).~NodeAttributes();
  }
  void populateDefaultProperties(OperationName, OpaqueProperties) override {}
  LogicalResult
  setPropertiesFromAttr(OperationName, OpaqueProperties properties,
                        Attribute value,
                        function_ref<InFlightDiagnostic()> emitError) override {
    return setFromDictionary(get(properties), value, emitError);
  }
  Attribute getPropertiesAsAttr(Operation *op) override {
    return getDictionary(op);
  }
  void copyProperties(OpaqueProperties to, OpaqueProperties from) override {
    get(to) = get(from);
  }
  bool compareProperties(OpaqueProperties lhs, OpaqueProperties rhs) override {
    return get(lhs) == get(rhs);
  }
  llvm::hash_code hashProperties(OpaqueProperties properties) override {
    return get(properties).getHash();
  }
};

struct NodeBytecode : public BytecodeOpInterface::FallbackModel<NodeBytecode> {
  static LogicalResult readProperties(DialectBytecodeReader &reader,
                                      OperationState &state) {
    DictionaryAttr dictionary;
    if (failed(reader.readOptionalAttribute(dictionary)))
      return failure();
    return setFromDictionary(state.getOrAddProperties<NodeAttributes>(),
                             dictionary, [&] { return reader.emitError(); });
  }
  void writeProperties(Operation *op, DialectBytecodeWriter &writer) const {
    writer.writeOptionalAttribute(getDictionary(op));
  }
};

} // namespace

/// Prints the generic form, except for the place of the properties.
void NodeOperation::printAssembly(Operation *op, OpAsmPrinter &printer,
                                  StringRef) {
  printer.getStream() << '"';
  llvm::printEscapedString(op->getName().getStringRef(), printer.getStream());
  printer << "\"(";
  printer.printOperands(op->getOperands());
  printer << ')';
  if (op->getNumRegions()) {
    printer << " (";
    llvm::interleaveComma(op->getRegions(), printer, [&](Region &region) {
      printer.printRegion(region, /*printEntryBlockArgs=*/true,
                          /*printBlockTerminators=*/true,
                          /*printEmptyBlock=*/true);
    });
    printer << ')';
  }
  SmallVector<NamedAttribute> attributes(op->getDiscardableAttrs());
  llvm::append_range(attributes, get(op).getAll());
  llvm::sort(attributes);
  printer.printOptionalAttrDict(attributes);
  printer << " : ";
  printer.printFunctionalType(op);
}

RegisteredOperationName registerNodeOperation(Dialect &dialect, StringRef name,
                                              TypeID typeID) {
  MLIRContext *context = dialect.getContext();
  RegisteredOperationName::insert(
      std::make_unique<NodeOperation>(StringAttr::get(context, name), &dialect,
                                      typeID, mlir::detail::InterfaceMap()),
      {});
  RegisteredOperationName registered =
      *RegisteredOperationName::lookup(name, context);
  registered.attachInterface<NodeBytecode>();
  return registered;
}

} // namespace mp::onnxir
