//===- SchemaFunctions.cpp - Functions that define operators --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX defines an operator by a FunctionProto, or by a function that makes one
// for the node's operands and attributes. It is imported like a model-local
// function.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Target/ONNX/SchemaFunctions.h"

#include "Conversion.h"
#include "GraphImporter.h"
#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "onnx/defs/schema.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static const ::onnx::OpSchema *getONNXSchema(Operation *node) {
  // Functions cannot take over subgraphs.
  bool isPlain = isNode(node) && !node->getNumRegions();
  const OpSchema *schema = isPlain ? getSchema(node) : nullptr;
  return schema ? static_cast<const ::onnx::OpSchema *>(schema->getONNXSchema())
                : nullptr;
}

/// The opset for which the body is requested.
static int getBodyOpset(Operation *node, const ::onnx::OpSchema &schema) {
  return int(std::max<int64_t>(getOpset(node, getDomain(node)).value_or(1),
                               schema.SinceVersion()));
}

static bool hasVersion(ArrayRef<int> versions, int opset) {
  return llvm::any_of(versions, [&](int version) { return version <= opset; });
}

bool hasFunctionBody(Operation *node) {
  const ::onnx::OpSchema *schema = getONNXSchema(node);
  if (!schema)
    return false;
  int opset = getBodyOpset(node, *schema);
  return hasVersion(schema->function_opset_versions(), opset) ||
         hasVersion(schema->context_dependent_function_opset_versions(), opset);
}

namespace {

/// Keeps all data: bodies may turn an attribute into a constant.
class WholeTensorSink : public TensorSink {
public:
  void place(const TensorData &data, bool,
             ::onnx::TensorProto &tensor) override {
    tensor.set_raw_data(data.readAll());
  }
};

} // namespace

/// Describes the node and its operands' types, for a function that depends on
/// them.
static LogicalResult describeNode(Operation *node, ::onnx::NodeProto &proto,
                                  std::vector<::onnx::TypeProto> &types) {
  proto.set_op_type(getOpType(node).str());
  proto.set_domain(getDomain(node).str());
  WholeTensorSink sink;
  for (NamedAttribute entry : node->getDiscardableAttrs())
    if (!entry.getName().strref().contains('.') &&
        failed(convertAttribute(entry.getValue(), entry.getName(), sink,
                                *proto.add_attribute(),
                                [&] { return node->emitError(); })))
      return failure();
  for (Value operand : node->getOperands()) {
    bool isAbsent = isa<NoneType>(operand.getType());
    proto.add_input(isAbsent ? "" : onnxir::getValueName(operand).str());
    ::onnx::TypeProto &type = types.emplace_back();
    if (!isAbsent && !isa<UnknownType>(operand.getType()))
      convertType(operand.getType(), type);
  }
  for (OpResult result : node->getResults())
    proto.add_output(isa<NoneType>(result.getType())
                         ? ""
                         : onnxir::getValueName(result).str());
  return success();
}

/// The function for `node`; false if ONNX has none for its operands.
static FailureOr<bool> getBody(Operation *node, const ::onnx::OpSchema &schema,
                               ::onnx::FunctionProto &body) {
  int opset = getBodyOpset(node, schema);
  if (hasVersion(schema.function_opset_versions(), opset))
    if (const ::onnx::FunctionProto *found = schema.GetFunction(opset)) {
      body = *found;
      return true;
    }
  if (!hasVersion(schema.context_dependent_function_opset_versions(), opset))
    return false;
  ::onnx::NodeProto proto;
  std::vector<::onnx::TypeProto> types;
  if (failed(describeNode(node, proto, types)))
    return failure();
  ::onnx::FunctionBodyBuildContextImpl context(proto, types);
  return schema.BuildContextDependentFunction(context, body, opset);
}

/// Bodies that are made for a node lack the outputs that it omits. Sets each of
/// them to an input as an unused placeholder. Returns false if the node does
/// have one of them.
static bool completeOutputs(Operation *node, ::onnx::FunctionProto &body) {
  llvm::StringSet<> defined;
  for (const std::string &name : body.input())
    defined.insert(name);
  for (const ::onnx::NodeProto &inner : body.node())
    for (const std::string &name : inner.output())
      defined.insert(name);
  for (int index = 0; index < body.output_size(); ++index) {
    if (defined.contains(body.output(index)))
      continue;
    if (hasResult(node, unsigned(index)) || !body.input_size())
      return false;
    body.set_output(index, body.input(0));
  }
  return true;
}

/// The node's attributes, and the schema's defaults of the others.
static AttributeValues getValues(Operation *node,
                                 const ::onnx::OpSchema &schema) {
  AttributeValues values;
  TensorSource source(nullptr, ExternalData("", {}));
  for (const auto &[name, attribute] : schema.attributes()) {
    if (!attribute.default_value.has_type())
      continue;
    ::onnx::AttributeProto proto = attribute.default_value;
    proto.set_name(name);
    FailureOr<Attribute> value = convertAttribute(
        node->getContext(), proto, source, [&] { return node->emitError(); });
    if (succeeded(value))
      values[name] = *value;
  }
  for (NamedAttribute entry : node->getDiscardableAttrs())
    if (!entry.getName().strref().contains('.'))
      values[entry.getName()] = entry.getValue();
  return values;
}

/// Nodes in a function have the opset that it imports, and nodes in the graph
/// have that of the model. The same nodes must be valid in both.
static void alignOpsets(FunctionOp function, Operation *node) {
  Builder builder(node->getContext());
  auto imports = function->getAttrOfType<ArrayAttr>(attr::opsets);
  if (auto opset = getOpset(node, ""))
    imports = builder.getArrayAttr({builder.getArrayAttr(
        {builder.getStringAttr(""), builder.getI64IntegerAttr(*opset)})});
  function->setAttr(attr::opsets, imports);
}

static LogicalResult checkNodes(FunctionOp function, Operation *node) {
  std::string complaint;
  ScopedDiagnosticHandler listen(node->getContext(), [&](Diagnostic &found) {
    complaint = found.str();
    return success();
  });
  WalkResult result = function->walk([&](Operation *op) {
    return !isNode(op) || succeeded(op->getName().verifyInvariants(op))
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static FailureOr<SchemaFunction> import(Operation *node,
                                        const ::onnx::OpSchema &schema) {
  auto emitError = [&] { return node->emitError() << describe(node) << ": "; };
  ::onnx::FunctionProto body;
  FailureOr<bool> found = getBody(node, schema, body);
  if (failed(found))
    return failure();
  if (!*found || !completeOutputs(node, body))
    return LogicalResult(emitError()
                         << "ONNX defines the operator by a function, but not "
                            "for these operands and attributes");
  for (::onnx::NodeProto &inner : *body.mutable_node())
    if (inner.domain().empty())
      inner.clear_domain();
  SchemaFunction made;
  made.module = ModuleOp::create(node->getLoc());
  OpBuilder place = OpBuilder::atBlockEnd(made.module->getBody());
  made.function =
      FunctionOp::create(place, node->getLoc(), body.domain(), body.name());
  TensorSource source(nullptr, ExternalData("", {}));
  const ::onnx::ModelProto model;
  const LocalFunctions functions(model);
  Deviations deviations(node->getLoc(), CheckLevel::Lenient);
  GraphImporter importer(model, source, place, node->getLoc(), deviations,
                         functions);
  if (failed(importer.importFunctionBody(body, made.function.getBody())))
    return failure();
  alignOpsets(made.function, node);
  if (failed(checkNodes(made.function, node)))
    return LogicalResult(emitError() << "the function that defines the "
                                        "operator is not valid at this opset");
  made.values = getValues(node, schema);
  return made;
}

FailureOr<SchemaFunction> importSchemaFunction(Operation *node) {
  const ::onnx::OpSchema *schema = getONNXSchema(node);
  if (!schema)
    return LogicalResult(node->emitError()
                         << describe(node)
                         << ": no function defines the operator");
  try {
    return import(node, *schema);
  } catch (const std::exception &exception) {
    return LogicalResult(node->emitError()
                         << describe(node) << ": " << exception.what());
  }
}

} // namespace mp
