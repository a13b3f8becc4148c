//===- NodeRules.cpp - Operators, calls and forms of attributes -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using Node = ::onnx::NodeProto;
using Proto = ::onnx::AttributeProto;

namespace mp {

std::string describeNode(const Node &node, StringRef op) {
  std::string text = "node ";
  if (node.name().empty() && node.output_size())
    text += "with output '" + node.output(0) + "'";
  else
    text += "'" + node.name() + "'";
  return text + " (" + op.str() + ")";
}

static std::string describeNode(const Node &node) {
  return describeNode(node, getQualifiedName(node.domain(), node.op_type()));
}

//===----------------------------------------------------------------------===//
// Operators and their versions
//===----------------------------------------------------------------------===//

/// Domains of runtimes, which have one version.
static bool isRuntimeDomain(StringRef domain) {
  return llvm::StringSwitch<bool>(domain)
      .Cases({"com.microsoft", "com.microsoft.nchwc"}, true)
      .Cases({"com.microsoft.experimental", "com.ms.internal.nhwc"}, true)
      .Case("org.pytorch.aten", true)
      .Default(false);
}

/// Operators that onnxruntime had in ONNX's domain before ONNX did, from opset
/// 1 on.
static bool isRuntimeOperator(const OpFamily &family) {
  return family.domain.empty() && family.name == "LayerNormalization";
}

static StringRef showDomain(StringRef domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

static LogicalResult checkVersion(const Node &node, const OpFamily &family,
                                  int64_t opset, Deviations &deviations,
                                  EmitErrorFn emitError) {
  const OpSchema *schema = family.at(int(std::min<int64_t>(opset, INT32_MAX)));
  if (schema && !schema->deprecated)
    return success();
  if (!schema && isRuntimeOperator(family))
    return deviations.add(Deviation::RuntimeOperator, describeNode(node));
  // A version that is withdrawn, but has a successor, still has a meaning.
  if (schema && family.after(schema->since))
    return deviations.add(Deviation::WithdrawnVersion, describeNode(node));
  InFlightDiagnostic error = emitError();
  error << "opset " << opset << " of domain '" << showDomain(family.domain)
        << "' has no such operator: it ";
  if (schema)
    error << "was removed with opset " << schema->since;
  else
    error << "came with opset " << family.getVersions().front()->since;
  return error;
}

/// Checks an operator that has no schema.
static LogicalResult checkUnknown(const Node &node, StringRef domain,
                                  const NodeContext &context,
                                  Deviations &deviations,
                                  EmitErrorFn emitError) {
  if (context.functions.hasName(node))
    return emitError() << "expected an overload that the model has of the "
                          "function, found overload '"
                       << node.overload() << "'";
  if (domain.empty())
    return deviations.add(Deviation::UnknownOperator, describeNode(node));
  if (context.functions.hasDomain(domain))
    return deviations.add(Deviation::UnknownFunction, describeNode(node));
  return success();
}

LogicalResult checkOperator(const Node &node, const OpFamily *family,
                            const NodeContext &context, Deviations &deviations,
                            EmitErrorFn emitError) {
  if (node.input().empty() && node.output().empty() &&
      failed(deviations.add(Deviation::IdleNode, describeNode(node))))
    return failure();
  StringRef domain = normalizeDomain(node.domain());
  bool isCall = context.functions.lookup(node);
  auto opset = context.opsets.find(domain);
  if (opset == context.opsets.end()) {
    bool isOfRuntime = isRuntimeDomain(domain) && !isCall;
    if (!isOfRuntime)
      return emitError() << "the " << (context.function ? "function" : "model")
                         << " imports no opset of the domain '"
                         << showDomain(domain) << "'";
    if (failed(deviations.add(Deviation::RuntimeDomain, describeNode(node))))
      return failure();
  }
  if (isCall)
    return success();
  if (!family)
    return checkUnknown(node, domain, context, deviations, emitError);
  // The name that the runtime has for it.
  if (family->domain != domain)
    return deviations.add(Deviation::RuntimeOperator, describeNode(node));
  if (opset == context.opsets.end())
    return success();
  return checkVersion(node, *family, opset->second, deviations, emitError);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult checkCall(const Node &node, const ::onnx::FunctionProto &function,
                        EmitErrorFn emitError) {
  auto checkCount = [&](int found, int most, StringRef what) -> LogicalResult {
    if (found <= most)
      return success();
    return emitError() << "expected at most " << most << " " << what
                       << (most == 1 ? "" : "s") << " for the function, got "
                       << found;
  };
  if (failed(checkCount(node.input_size(), function.input_size(), "input")) ||
      failed(checkCount(node.output_size(), function.output_size(), "output")))
    return failure();
  SmallVector<StringRef> known(function.attribute().begin(),
                               function.attribute().end());
  for (const Proto &attribute : function.attribute_proto())
    known.push_back(attribute.name());
  for (const Proto &attribute : node.attribute())
    if (!llvm::is_contained(known, attribute.name()))
      return emitError() << "attribute '" << attribute.name()
                         << "' is unknown to the function"
                         << suggestNearest(attribute.name(), known);
  return success();
}

//===----------------------------------------------------------------------===//
// Forms of attributes
//===----------------------------------------------------------------------===//

/// A reference to an attribute of the function that the node is in.
static LogicalResult checkReference(const Proto &attribute,
                                    const NodeContext &context,
                                    EmitErrorFn emitError) {
  StringRef name = attribute.ref_attr_name();
  if (!context.function)
    return emitError() << "refers to the attribute '" << name
                       << "' of a function, but is in none";
  bool isDeclared = llvm::is_contained(context.function->attribute(), name) ||
                    llvm::any_of(context.function->attribute_proto(),
                                 [&](const Proto &declared) {
                                   return declared.name() == name;
                                 });
  if (isDeclared)
    return success();
  return emitError() << "refers to '" << name
                     << "', which is not an attribute of the function";
}

LogicalResult checkAttributeForm(const Proto &attribute, const Node &node,
                                 const NodeContext &context,
                                 Deviations &deviations,
                                 EmitErrorFn emitError) {
  if (failed(checkAttributeType(attribute, emitError)))
    return failure();
  if (attribute.has_ref_attr_name() && !attribute.ref_attr_name().empty())
    return checkReference(attribute, context, emitError);
  constexpr int64_t withTypes = 2;
  if (attribute.has_type() || context.irVersion < withTypes)
    return success();
  return deviations.add(Deviation::UntypedAttribute,
                        describeNode(node) + ": attribute '" +
                            attribute.name() + "'");
}

} // namespace mp
