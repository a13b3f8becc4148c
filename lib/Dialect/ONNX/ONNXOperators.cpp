//===- ONNXOperators.cpp - Operators made from schemas --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op family becomes an op of the dialect, with a verifier that asks the
// schema in force, an assembly interface that prints results under their ONNX
// names, and, where the schema promises that the op computes its results from
// its operands alone, a memory model that lets dead code go.
//
//===----------------------------------------------------------------------===//

#include "NodeOperation.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mp::onnxir {

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

/// Checks one node against one schema.
class NodeVerifier {
public:
  NodeVerifier(Operation *op, const OpSchema &schema)
      : op(op), schema(schema), bindings(schema.typeVariables.size()) {}

  LogicalResult verify();
  /// Verifies the numbers of operands and results.
  LogicalResult verifyCounts();
  /// The same without a diagnostic.
  bool hasCounts() const;

private:
  InFlightDiagnostic error() { return op->emitError() << describe(op) << ": "; }
  LogicalResult verifyCount(ArrayRef<FormalParameter> formals, unsigned actual,
                            StringRef what);
  LogicalResult verifyValue(const FormalParameter *formal, unsigned index,
                            Type type, StringRef what);
  LogicalResult verifyKind(StringRef name, StringRef kind,
                           const AttributeSchema *known);
  LogicalResult verifyAttributes();
  LogicalResult verifySize(StringRef name, Attribute value);

  Operation *op;
  const OpSchema &schema;
  SmallVector<Type> bindings;
};

} // namespace

/// The position of `type` in the lattice of TypeSet; absent for other types.
static std::optional<std::pair<TypeShape, ElementKind>> classify(Type type) {
  auto wrap =
      [](TypeShape shape,
         Type inner) -> std::optional<std::pair<TypeShape, ElementKind>> {
    ElementKind kind = getElementKind(getTensorElementType(inner));
    if (kind == ElementKind::Undefined)
      return std::nullopt;
    return std::make_pair(shape, kind);
  };
  if (isa<TensorType>(type))
    return wrap(TypeShape::Tensor, type);
  if (auto sequence = dyn_cast<SequenceType>(type))
    return wrap(TypeShape::Sequence, sequence.getElementType());
  if (auto sparse = dyn_cast<SparseTensorType>(type))
    return wrap(TypeShape::SparseTensor, sparse.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type)) {
    if (auto sequence = dyn_cast<SequenceType>(optional.getElementType()))
      return wrap(TypeShape::OptionalSequence, sequence.getElementType());
    return wrap(TypeShape::Optional, optional.getElementType());
  }
  return std::nullopt;
}

/// Types agree if they differ in shape information only.
static bool sameKind(Type lhs, Type rhs) {
  auto left = classify(lhs), right = classify(rhs);
  return !left || !right || left == right;
}

/// The minimum and maximum number of values.
static std::pair<unsigned, unsigned>
getBounds(ArrayRef<FormalParameter> formals) {
  unsigned least = 0, most = formals.size();
  for (auto [index, formal] : llvm::enumerate(formals)) {
    if (formal.option == FormalParameter::Variadic) {
      most = UINT32_MAX;
      if (formal.minArity)
        least = index + formal.minArity;
    } else if (formal.option == FormalParameter::Single) {
      least = index + 1;
    }
  }
  return {least, most};
}

LogicalResult NodeVerifier::verifyCount(ArrayRef<FormalParameter> formals,
                                        unsigned actual, StringRef what) {
  auto [least, most] = getBounds(formals);
  if (actual >= least && actual <= most)
    return success();
  InFlightDiagnostic diag = error() << "expected ";
  if (most == UINT32_MAX)
    diag << "at least " << least;
  else if (least == most)
    diag << least;
  else
    diag << least << " to " << most;
  return diag << " " << what << "s, got " << actual;
}

LogicalResult NodeVerifier::verifyValue(const FormalParameter *formal,
                                        unsigned index, Type type,
                                        StringRef what) {
  if (isa<NoneType, UnknownType>(type) || !formal)
    return success();
  const TypeSet &types = schema.typesOf(*formal);
  auto kind = classify(type);
  if (kind ? !types.contains(kind->first, kind->second) : !types.admitsOther())
    return error() << what << " #" << index << " ('" << formal->name
                   << "') has type " << type << ", which '"
                   << schema.typeVariables[formal->typeVariable].name << "' of "
                   << schema.getDisplayName() << " does not admit";
  if (formal->option == FormalParameter::Variadic && !formal->homogeneous)
    return success();
  Type &bound = bindings[formal->typeVariable];
  if (bound && !sameKind(bound, type))
    return error() << what << " #" << index << " ('" << formal->name
                   << "') has type " << type << ", but '"
                   << schema.typeVariables[formal->typeVariable].name
                   << "' is already " << bound;
  if (!bound && kind)
    bound = type;
  return success();
}

/// The names of AttributeProto.AttributeType, by number.
static constexpr StringLiteral kindNames[] = {"",
                                              "FLOAT",
                                              "INT",
                                              "STRING",
                                              "TENSOR",
                                              "GRAPH",
                                              "FLOATS",
                                              "INTS",
                                              "STRINGS",
                                              "TENSORS",
                                              "GRAPHS",
                                              "SPARSE_TENSOR",
                                              "SPARSE_TENSORS",
                                              "TYPE_PROTO",
                                              "TYPE_PROTOS"};

/// The kind of an attribute as AttributeProto names it; empty if it does not
/// say.
static StringRef getKind(Attribute attribute) {
  return TypeSwitch<Attribute, StringRef>(attribute)
      .Case([](IntegerAttr) { return "INT"; })
      .Case([](FloatAttr) { return "FLOAT"; })
      .Case([](StringAttr) { return "STRING"; })
      .Case([](DenseI64ArrayAttr) { return "INTS"; })
      .Case([](DenseF32ArrayAttr) { return "FLOATS"; })
      .Case([](ElementsAttr) { return "TENSOR"; })
      .Case([](TensorAttr) { return "TENSOR"; })
      .Case([](ArrayAttr array) {
        if (array.empty() || isa<StringAttr>(array[0]))
          return "STRINGS";
        return isa<ElementsAttr, TensorAttr>(array[0]) ? "TENSORS" : "";
      })
      .Case([](ProtoAttr proto) {
        auto type = proto.getFields().getAs<IntegerAttr>("type");
        uint64_t number = type ? type.getValue().getLimitedValue() : 0;
        return StringRef(kindNames[number < std::size(kindNames) ? number : 0]);
      })
      .Default([](Attribute) { return ""; });
}

LogicalResult NodeVerifier::verifySize(StringRef name, Attribute value) {
  SmallVector<int64_t> sizes;
  if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
    sizes.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  else if (auto single = dyn_cast<IntegerAttr>(value))
    sizes.push_back(single.getInt());
  for (int64_t size : sizes)
    if (size < 1 || size > INT32_MAX)
      return error() << "attribute '" << name << "': expected 1 to "
                     << INT32_MAX << ", found " << size;
  return success();
}

/// Fails unless the schema has an attribute of this name and kind; `known` is
/// the one of the name.
LogicalResult NodeVerifier::verifyKind(StringRef name, StringRef kind,
                                       const AttributeSchema *known) {
  if (!known && (!schema.checkedAttributes || !schema.isONNX()))
    return success();
  if (!known)
    return error() << "attribute '" << name << "' is unknown to "
                   << schema.getDisplayName();
  if (!kind.empty() && kind != known->kind)
    return error() << "attribute '" << name << "' is " << kind << ", expected "
                   << known->kind;
  return success();
}

LogicalResult NodeVerifier::verifyAttributes() {
  llvm::SmallDenseSet<StringRef> present;
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name.contains('.'))
      continue;
    present.insert(name);
    const AttributeSchema *known = schema.getAttribute(name);
    if (failed(verifyKind(name, getKind(attribute.getValue()), known)) ||
        (known && known->isSize() &&
         failed(verifySize(name, attribute.getValue()))))
      return failure();
  }
  if (auto regions = op->getAttrOfType<ArrayAttr>(attr::regions))
    for (auto entry : regions.getAsRange<StringAttr>()) {
      // A list of graphs has "NAME[]" for each.
      StringRef name = entry.getValue();
      StringRef kind = name.consume_back("[]") ? "GRAPHS" : "GRAPH";
      present.insert(name);
      if (failed(verifyKind(name, kind, schema.getAttribute(name))))
        return failure();
    }
  for (const AttributeSchema &attribute : schema.attributes)
    if (attribute.required && !present.contains(attribute.name))
      return error() << "attribute '" << attribute.name << "' is missing";
  return success();
}

LogicalResult NodeVerifier::verifyCounts() {
  if (failed(verifyCount(schema.inputs, op->getNumOperands(), "input")) ||
      failed(verifyCount(schema.outputs, op->getNumResults(), "output")))
    return failure();
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const FormalParameter *formal = schema.getInput(index);
    if (isa<NoneType>(operand.getType()) &&
        formal->option == FormalParameter::Single)
      return error() << "input #" << index << " ('" << formal->name
                     << "') is not optional, but absent";
  }
  return success();
}

bool NodeVerifier::hasCounts() const {
  auto isWithin = [](unsigned count, ArrayRef<FormalParameter> formals) {
    auto [least, most] = getBounds(formals);
    return count >= least && count <= most;
  };
  return isWithin(op->getNumOperands(), schema.inputs) &&
         isWithin(op->getNumResults(), schema.outputs) &&
         llvm::none_of(llvm::enumerate(op->getOperandTypes()), [&](auto entry) {
           return isa<NoneType>(entry.value()) &&
                  schema.getInput(entry.index())->option ==
                      FormalParameter::Single;
         });
}

LogicalResult NodeVerifier::verify() {
  if (failed(verifyCounts()))
    return failure();
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const FormalParameter *formal = schema.getInput(index);
    if (failed(verifyValue(formal, index, operand.getType(), "input")))
      return failure();
  }
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (failed(verifyValue(schema.getOutput(index), index, type, "output")))
      return failure();
  return verifyAttributes();
}

LogicalResult verifyNode(Operation *op) {
  const OpFamily *family =
      cast<ONNXDialect>(op->getDialect())->getFamily(op->getName());
  std::optional<int64_t> opset = getOpset(op, family->domain);
  const OpSchema *schema = getSchemaAt(*family, opset);
  // An op outside its own opsets is a runtime's extension: its schema is only a
  // guess. But passes that access operands by their numbers rely on as many of
  // them as one of the versions has.
  if (!opset || *opset < schema->since) {
    bool isKnown = llvm::any_of(family->getVersions(), [&](const auto &known) {
      return NodeVerifier(op, *known).hasCounts();
    });
    return isKnown ? success() : NodeVerifier(op, *schema).verifyCounts();
  }
  return NodeVerifier(op, *schema).verify();
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

namespace {

struct OperatorAsm : public OpAsmOpInterface::FallbackModel<OperatorAsm> {
  void getAsmResultNames(Operation *op, OpAsmSetValueNameFn setName) const {
    for (OpResult result : op->getResults())
      if (std::string name = getPrintableName(result); !name.empty())
        setName(result, name);
  }
  void getAsmBlockArgumentNames(Operation *, Region &region,
                                OpAsmSetValueNameFn setName) const {
    if (region.empty())
      return;
    for (BlockArgument argument : region.front().getArguments())
      if (std::string name = getPrintableName(argument); !name.empty())
        setName(argument, name);
  }
  void getAsmBlockNames(Operation *, OpAsmSetBlockNameFn) const {}
  static StringRef getDefaultDialect() { return ""; }
};

struct PureOperator
    : public MemoryEffectOpInterface::FallbackModel<PureOperator> {
  void getEffects(Operation *,
                  SmallVectorImpl<MemoryEffects::EffectInstance> &) const {}
};

} // namespace

void ONNXDialect::registerOperators() {
  families.reserve(schemas->getFamilies().size());
  for (const OpFamily *family : schemas->getFamilies()) {
    std::string name = "onnx." + getQualifiedName(family->domain, family->name);
    auto known = RegisteredOperationName::lookup(name, getContext());
    if (!known) {
      known = registerNodeOperation(*this, name, typeIDs.allocate());
      known->attachInterface<OperatorAsm>();
      // Standard ops compute; those with subgraphs may hold anything inside.
      if (family->isPure)
        known->attachInterface<PureOperator>();
    }
    families[known->getAsOpaquePointer()] = family;
  }
}

} // namespace mp::onnxir
