//===- GraphImporter.cpp - Graphs of a model into regions -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "NodeOrder.h"
#include "ProtoAttr.h"
#include "Validation/TensorRules.h"
#include "WireFormat.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mp::onnxir;
using Node = ::onnx::NodeProto;

namespace mp {

/// The maximum nesting of graphs; protobuf itself refuses deeper ones.
static constexpr unsigned maxDepth = 64;

GraphImporter::GraphImporter(const ::onnx::ModelProto &model,
                             TensorSource &source, OpBuilder builder,
                             Location loc, Deviations &deviations,
                             const LocalFunctions &functions)
    : source(source), builder(builder), loc(loc),
      schemas(loc.getContext()->getOrLoadDialect<ONNXDialect>()->getSchemas()),
      deviations(deviations), functions(functions), mainGraph(model.graph()),
      irVersion(model.ir_version()), nameKey(builder.getStringAttr(attr::name)),
      resultsKey(builder.getStringAttr(attr::results)) {
  for (const ::onnx::OperatorSetIdProto &import : model.opset_import())
    opsets[normalizeDomain(import.domain())] = import.version();
}

InFlightDiagnostic GraphImporter::nodeError(const Node &node,
                                            const OpSchema *schema) {
  std::string op = schema ? schema->getDisplayName()
                          : getQualifiedName(node.domain(), node.op_type());
  return emitError(loc) << describeNode(node, op) << ": ";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::define(StringRef name, Value value,
                                    const Twine &definer) {
  if (scopes.back().values.try_emplace(name, value).second) {
    for (const Scope &outer : llvm::drop_end(scopes))
      if (outer.values.contains(name))
        return deviations.add(Deviation::HiddenName,
                              "inner value '" + name + "'");
    return success();
  }
  return emitError(loc) << definer << " defines '" << name
                        << "', which is defined already";
}

Value GraphImporter::lookup(StringRef name) {
  for (Scope &scope : llvm::reverse(scopes))
    if (auto it = scope.values.find(name); it != scope.values.end())
      return it->second;
  if (!outerNames || name.empty())
    return {};
  OpBuilder::InsertionGuard guard(builder);
  Scope &outermost = scopes.front();
  builder.setInsertionPointToStart(outermost.block);
  Value value = OuterOp::create(builder, loc, builder.getType<UnknownType>(),
                                builder.getStringAttr(name));
  outermost.values[name] = value;
  return value;
}

Value GraphImporter::getAbsent() {
  Scope &scope = scopes.back();
  if (!scope.absent) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(scope.block);
    scope.absent = AbsentOp::create(builder, loc, builder.getNoneType());
  }
  return scope.absent;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// The names of all values in `graph`.
static llvm::StringSet<> collectNames(const ::onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const ::onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const ::onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const ::onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    names.insert(tensor.values().name());
  for (const Node &node : graph.node())
    names.insert(node.output().begin(), node.output().end());
  return names;
}

LogicalResult GraphImporter::importMainGraph(const ::onnx::GraphProto &graph,
                                             Region &region) {
  if (failed(importGraph(graph, GraphPlace::Main, region, {})))
    return failure();
  llvm::StringSet<> names;
  return checkGradients(graph, loc, [&](StringRef name) {
    if (names.empty())
      names = collectNames(graph);
    return names.contains(name);
  });
}

LogicalResult
GraphImporter::importTrainingGraph(const ::onnx::GraphProto &graph,
                                   Region &region, const Twine &what) {
  outerNames = true;
  LogicalResult result = importGraph(graph, GraphPlace::Training, region, {});
  outerNames = false;
  if (failed(result))
    return failure();
  if (mainNames.empty())
    mainNames = collectNames(mainGraph);
  for (auto outer : region.getOps<OuterOp>())
    if (!mainNames.contains(outer.getName()))
      return emitError(loc) << what << " takes '" << outer.getName()
                            << "', which the model does not define";
  llvm::StringSet<> own = collectNames(graph);
  return checkGradients(graph, loc, [&](StringRef name) {
    return mainNames.contains(name) || own.contains(name);
  });
}

LogicalResult GraphImporter::importInputs(const ::onnx::GraphProto &graph,
                                          ArrayRef<Type> inputTypes) {
  Scope &scope = scopes.back();
  for (auto [index, input] : llvm::enumerate(graph.input())) {
    Type type = convertType(loc.getContext(), input.type());
    if (isa<UnknownType>(type) && index < inputTypes.size())
      type = inputTypes[index];
    Value argument = scope.block->addArgument(type, loc);
    if (failed(define(input.name(), argument, "a graph input")))
      return failure();
  }
  for (const ::onnx::ValueInfoProto &info : graph.value_info())
    scope.types.try_emplace(info.name(), &info.type());
  for (const ::onnx::ValueInfoProto &info : graph.output())
    if (info.has_type())
      scope.types[info.name()] = &info.type();
  return success();
}

LogicalResult
GraphImporter::importInitializers(const ::onnx::GraphProto &graph) {
  Scope &scope = scopes.back();
  llvm::StringSet<> overridden;
  auto create = [&](const std::string &name, Type type,
                    const TensorParts &parts, bool sparse) -> LogicalResult {
    if (name.empty())
      return emitError(loc) << "graph '" << graph.name()
                            << "': expected initializers to have names";
    // Before IR 4 every initializer is also an input; later this is optional.
    Value input = scope.values.lookup(name);
    bool overridable =
        isa_and_nonnull<BlockArgument>(input) && overridden.insert(name).second;
    if (overridable && contradict(input.getType(), type))
      return emitError(loc)
             << "initializer '" << name << "': expected " << input.getType()
             << ", as the input of this name is declared, found " << type;
    auto op = InitializerOp::create(
        builder, loc, type, builder.getStringAttr(name), parts.value,
        parts.fields, overridable ? builder.getUnitAttr() : UnitAttr(),
        sparse ? builder.getUnitAttr() : UnitAttr());
    return overridable ? success()
                       : define(name, op.getResult(), "an initializer");
  };
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    FailureOr<TensorParts> parts =
        convertTensor(loc.getContext(), tensor, source, [&] {
          return emitError(loc) << "initializer '" << tensor.name() << "': ";
        });
    if (failed(parts) ||
        failed(create(tensor.name(), parts->type, *parts, false)))
      return failure();
    if (!getToken(tensor) && !tensor.has_data_location())
      constants[scope.values[tensor.name()]] = &tensor;
  }
  for (const ::onnx::SparseTensorProto &sparse : graph.sparse_initializer()) {
    Type element =
        convertElementType(loc.getContext(), sparse.values().data_type());
    SmallVector<int64_t> dims(sparse.dims().begin(), sparse.dims().end());
    if (!element || llvm::any_of(dims, [](int64_t dim) { return dim < 0; }))
      return emitError(loc) << "sparse initializer '" << sparse.values().name()
                            << "': expected a tensor type";
    TensorParts parts;
    ::onnx::SparseTensorProto whole = sparse;
    if (!source.restore(whole))
      return emitError(loc) << "sparse initializer '" << sparse.values().name()
                            << "': " << reservedField;
    if (failed(checkSparseTensor(whole, [&] {
          return emitError(loc)
                 << "sparse initializer '" << sparse.values().name() << "': ";
        })))
      return failure();
    parts.fields = protoToAttr(loc.getContext(), whole);
    if (failed(create(sparse.values().name(),
                      RankedTensorType::get(dims, element), parts, true)))
      return failure();
  }
  return success();
}

/// Converts ValueInfoProtos to an array of dictionaries.
template <typename Infos>
static ArrayAttr convertValueInfos(Builder &builder, const Infos &infos) {
  SmallVector<Attribute> entries;
  for (const auto &info : infos)
    entries.push_back(protoToAttr(builder.getContext(), info));
  return builder.getArrayAttr(entries);
}

LogicalResult GraphImporter::importYield(const ::onnx::GraphProto &graph) {
  using Proto = ::onnx::GraphProto;
  SmallVector<Value> values;
  for (const ::onnx::ValueInfoProto &output : graph.output()) {
    Value value = lookup(output.name());
    if (!value)
      return emitError(loc) << "graph '" << graph.name() << "': output '"
                            << output.name() << "' is not defined";
    values.push_back(value);
  }
  auto yield = YieldOp::create(builder, loc, values);
  yield->setAttr(attr::inputs, convertValueInfos(builder, graph.input()));
  yield->setAttr(attr::outputs, convertValueInfos(builder, graph.output()));
  if (graph.value_info_size())
    yield->setAttr(attr::valueInfo,
                   convertValueInfos(builder, graph.value_info()));
  DictionaryAttr rest = protoToAttr(
      loc.getContext(), graph,
      {Proto::kNodeFieldNumber, Proto::kInputFieldNumber,
       Proto::kOutputFieldNumber, Proto::kValueInfoFieldNumber,
       Proto::kInitializerFieldNumber, Proto::kSparseInitializerFieldNumber});
  if (!rest.empty())
    yield->setAttr(attr::graph, rest);
  return success();
}

LogicalResult GraphImporter::importGraph(const ::onnx::GraphProto &graph,
                                         GraphPlace place, Region &region,
                                         ArrayRef<Type> inputTypes) {
  if (++depth > maxDepth)
    return emitError(loc) << "graph '" << graph.name() << "': expected at most "
                          << maxDepth << " levels of subgraphs";
  if (failed(checkInterface(graph, place, loc, deviations)))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  scopes.emplace_back();
  scopes.back().block = &region.emplaceBlock();
  builder.setInsertionPointToEnd(scopes.back().block);
  LogicalResult result = success(
      succeeded(importInputs(graph, inputTypes)) &&
      succeeded(importInitializers(graph)) && succeeded(checkDeclared(graph)) &&
      succeeded(importNodes(graph.node())) && succeeded(importYield(graph)));
  scopes.pop_back();
  --depth;
  return result;
}

LogicalResult
GraphImporter::importFunctionBody(const ::onnx::FunctionProto &body,
                                  Region &region) {
  OpBuilder::InsertionGuard guard(builder);
  auto outerOpsets = std::move(opsets);
  opsets = {};
  for (const ::onnx::OperatorSetIdProto &import : body.opset_import())
    opsets[normalizeDomain(import.domain())] = import.version();
  function = &body;
  llvm::scope_exit restore([&] {
    opsets = std::move(outerOpsets);
    function = nullptr;
    scopes.pop_back();
  });
  scopes.emplace_back();
  Scope &scope = scopes.back();
  scope.block = &region.emplaceBlock();
  builder.setInsertionPointToEnd(scope.block);
  for (const ::onnx::ValueInfoProto &info : body.value_info()) {
    if (failed(checkSizes(info.type(), "value_info '" + info.name() + "'", loc,
                          deviations)))
      return failure();
    scope.types.try_emplace(info.name(), &info.type());
  }
  auto typeOf = [&](const std::string &name) -> Type {
    auto it = scope.types.find(name);
    return it == scope.types.end() ? Type(builder.getType<UnknownType>())
                                   : convertType(loc.getContext(), *it->second);
  };
  SmallVector<Attribute> inputs, outputs;
  for (const std::string &name : body.input()) {
    inputs.push_back(builder.getStringAttr(name));
    if (failed(define(name, scope.block->addArgument(typeOf(name), loc),
                      "a function input")))
      return failure();
  }
  if (failed(importNodes(body.node())))
    return failure();
  SmallVector<Value> values;
  for (const std::string &name : body.output()) {
    outputs.push_back(builder.getStringAttr(name));
    Value value = lookup(name);
    if (!value)
      return emitError(loc)
             << "function '" << getQualifiedName(body.domain(), body.name())
             << "': output '" << name << "' is not defined";
    values.push_back(value);
  }
  auto yield = YieldOp::create(builder, loc, values);
  yield->setAttr(attr::inputs, builder.getArrayAttr(inputs));
  yield->setAttr(attr::outputs, builder.getArrayAttr(outputs));
  if (body.value_info_size())
    yield->setAttr(attr::valueInfo,
                   convertValueInfos(builder, body.value_info()));
  return success();
}

LogicalResult GraphImporter::importNodes(const Nodes &nodes) {
  std::vector<int> order;
  if (const Node *stuck = getTopologicalOrder(nodes, order))
    return nodeError(*stuck) << "is part of a cycle";
  // Report the first node that depends on nodes after it.
  for (auto [place, index] : llvm::enumerate(order))
    if (int(place) != index) {
      const Node &early = nodes.Get(int(place));
      if (failed(deviations.add(
              Deviation::UnsortedNodes,
              describeNode(early,
                           getQualifiedName(early.domain(), early.op_type())))))
        return failure();
      break;
    }
  for (int index : order)
    if (failed(importNode(nodes.Get(index))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const OpFamily *GraphImporter::getFamily(const Node &node) {
  StringRef domain = normalizeDomain(node.domain());
  if (functions.hasName(node))
    return nullptr;
  if (const OpFamily *family = schemas.lookup(domain, node.op_type()))
    return family;
  // ONNX Runtime once used the default domain for its training ops.
  return domain.empty() ? schemas.lookup("com.microsoft", node.op_type())
                        : nullptr;
}

LogicalResult GraphImporter::importOperands(const Node &node,
                                            OperationState &state) {
  for (const std::string &name : node.input()) {
    Value value = name.empty() ? getAbsent() : lookup(name);
    if (!value)
      return nodeError(node) << "input '" << name
                             << "' is not defined by any node, graph input or "
                                "initializer";
    state.operands.push_back(value);
  }
  return success();
}

static bool isGraphAttribute(const ::onnx::AttributeProto &attribute) {
  return attribute.has_g() || attribute.graphs_size();
}

LogicalResult GraphImporter::importAttributes(const Node &node,
                                              OperationState &state) {
  SmallVector<Attribute> order;
  llvm::SmallDenseSet<StringRef> seen;
  bool sorted = true;
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    StringRef name = attribute.name();
    // Names with dots are reserved for the compiler's own attributes.
    if (name.empty() || name.contains('.') || name.starts_with("onnx_"))
      return nodeError(node)
             << "expected an attribute name, found '" << name << "'";
    if (!seen.insert(name).second)
      return nodeError(node) << "attribute '" << name << "' is given twice";
    if (!order.empty())
      sorted &= cast<StringAttr>(order.back()).getValue() < name;
    order.push_back(builder.getStringAttr(name));
    auto emitError = [&] {
      return nodeError(node) << "attribute '" << name << "': ";
    };
    if (failed(checkAttributeForm(attribute, node, getContext(), deviations,
                                  emitError)))
      return failure();
    if (isGraphAttribute(attribute))
      continue;
    FailureOr<Attribute> value =
        convertAttribute(loc.getContext(), attribute, source, emitError);
    if (failed(value))
      return failure();
    state.addAttribute(name, *value);
  }
  if (!sorted)
    addAttribute(state, attr::order, builder.getArrayAttr(order));
  return success();
}

LogicalResult GraphImporter::importSubgraphs(const Node &node,
                                             OperationState &state) {
  SmallVector<Attribute> names;
  NamedAttrList extras;
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    using Proto = ::onnx::AttributeProto;
    if (!isGraphAttribute(attribute))
      continue;
    auto add = [&](const ::onnx::GraphProto &graph, const Twine &name) {
      names.push_back(builder.getStringAttr(name));
      return importGraph(graph, GraphPlace::Subgraph, *state.addRegion(),
                         getSubgraphInputTypes(loc.getContext(), node.op_type(),
                                               ValueRange(state.operands),
                                               graph.input_size()));
    };
    if (attribute.has_g() && failed(add(attribute.g(), attribute.name())))
      return failure();
    for (const ::onnx::GraphProto &graph : attribute.graphs())
      if (failed(add(graph, attribute.name() + "[]")))
        return failure();
    // A tensor next to a graph is unusual, but kept.
    bool hasTensors = attribute.has_t() || attribute.tensors_size() ||
                      attribute.has_sparse_tensor() ||
                      attribute.sparse_tensors_size();
    Proto whole;
    if (hasTensors) {
      whole = attribute;
      whole.clear_g();
      whole.clear_graphs();
    }
    if (!source.restore(whole))
      return nodeError(node)
             << "attribute '" << attribute.name() << "': " << reservedField;
    DictionaryAttr rest =
        protoToAttr(loc.getContext(), hasTensors ? whole : attribute,
                    {Proto::kNameFieldNumber, Proto::kGFieldNumber,
                     Proto::kGraphsFieldNumber});
    bool usual =
        rest.size() == 1 && attribute.has_type() &&
        attribute.type() == (attribute.has_g() ? Proto::GRAPH : Proto::GRAPHS);
    if (!usual)
      extras.append(attribute.name(), rest);
  }
  if (!names.empty())
    addAttribute(state, attr::regions, builder.getArrayAttr(names));
  if (!extras.empty())
    addAttribute(state, attr::regionFields,
                 extras.getDictionary(loc.getContext()));
  return success();
}

/// Checks for rarely used fields, which is faster than reflection. A field that
/// a later ONNX adds must be added here.
static bool hasOtherFields(const Node &node) {
  static_assert(Node::kDeviceConfigurationsFieldNumber == 10);
  return node.has_doc_string() || node.has_overload() ||
         node.metadata_props_size() || node.device_configurations_size() ||
         !node.unknown_fields().empty();
}

/// Adds the attributes that identify the node: its names, and fields that are
/// stored nowhere else.
void GraphImporter::addIdentity(const Node &node, const OpFamily *family,
                                OperationState &state) {
  SmallVector<Attribute> names;
  for (const std::string &name : node.output())
    names.push_back(builder.getStringAttr(name));
  addAttribute(state, resultsKey,
               family && names.size() == 1 ? names.front()
                                           : builder.getArrayAttr(names));
  if (node.has_name())
    addAttribute(state, nameKey, builder.getStringAttr(node.name()));
  if (!family) {
    state.addAttribute("onnx_domain", builder.getStringAttr(node.domain()));
    state.addAttribute("onnx_op_type", builder.getStringAttr(node.op_type()));
  }
  NamedAttrList rest;
  if (hasOtherFields(node))
    rest = protoToAttr(loc.getContext(), node,
                       {Node::kInputFieldNumber, Node::kOutputFieldNumber,
                        Node::kNameFieldNumber, Node::kOpTypeFieldNumber,
                        Node::kAttributeFieldNumber, Node::kDomainFieldNumber});
  StringRef domain = family ? StringRef(family->domain) : node.domain();
  bool usualDomain =
      node.domain() == domain && node.has_domain() == !domain.empty();
  if (!usualDomain)
    rest.set("domain", node.has_domain()
                           ? Attribute(builder.getStringAttr(node.domain()))
                           : builder.getUnitAttr());
  if (!rest.empty())
    addAttribute(state, attr::extra, rest.getDictionary(loc.getContext()));
}

LogicalResult GraphImporter::importNode(const Node &node) {
  if (node.op_type().empty())
    return nodeError(node) << "expected the name of an operator";
  const OpFamily *family = getFamily(node);
  const ::onnx::FunctionProto *callee = functions.lookup(node);
  if (failed(checkOperator(node, family, getContext(), deviations,
                           [&] { return nodeError(node); })) ||
      (callee &&
       failed(checkCall(node, *callee, [&] { return nodeError(node); }))))
    return failure();
  OperationState state(loc, family ? getOperationName(loc.getContext(), *family)
                                   : OperationName(CustomOp::getOperationName(),
                                                   loc.getContext()));
  if (failed(importOperands(node, state)) ||
      failed(importAttributes(node, state)) ||
      failed(importSubgraphs(node, state)))
    return failure();
  const OpSchema *schema = nullptr;
  if (family) {
    auto opset = opsets.find(family->domain);
    int64_t version = opset == opsets.end() ? 1 : opset->second;
    schema = family->at(int(std::min<int64_t>(version, INT32_MAX)));
    if (!schema)
      schema = family->getVersions().front().get();
  }
  std::string refused;
  if (failed(addResultTypes(node, schema, state, refused)))
    return failure();
  addIdentity(node, family, state);

  Operation *op = builder.create(state);
  // Errors of the verifier come first, since the others may follow from them.
  if (!refused.empty())
    return failed(op->getName().verifyInvariants(op))
               ? failure()
               : LogicalResult(nodeError(node, schema) << refused);
  for (auto [name, result] : llvm::zip(node.output(), op->getResults()))
    if (!name.empty() &&
        failed(define(name, result, Twine("node '") + node.name() + "'")))
      return failure();
  noteConstant(node, op);
  return success();
}

} // namespace mp
