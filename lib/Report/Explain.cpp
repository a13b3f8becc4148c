//===- Explain.cpp - Reasons for precisions -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorForms.h"

#include "mp-opt/Report/ReportForms.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

std::string findNearest(StringRef name, ArrayRef<StringRef> candidates) {
  // A name of this length is not a misspelling of another.
  if (name.size() > 256)
    return "";
  unsigned best = std::max<unsigned>(2, name.size() / 3) + 1;
  StringRef nearest;
  for (StringRef candidate : candidates) {
    size_t longer = std::max(candidate.size(), name.size());
    if (longer - std::min(candidate.size(), name.size()) >= best)
      continue;
    unsigned distance = name.edit_distance(candidate, true, best);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.str();
}

static std::string showNode(Operation *node) {
  return escapeText(describe(node));
}

namespace {

class Explainer {
public:
  Explainer(const PrecisionReport &report, raw_ostream &os)
      : report(report), os(os) {}

  void explainNode(const ReportNode &node);
  void explainValue(const ReportValue &value);
  void listNodes(ArrayRef<const ReportNode *> nodes, StringRef name);

private:
  void explainCast(const ReportNode &cast);
  void printDecision(const ReportNode &node);
  void printSchema(const ReportNode &node);
  void printOperand(const ReportNode &node, unsigned index);
  void printResult(const ReportNode &node, unsigned index);
  void printUsers(const ReportValue &value);
  void printChain(const ReportNode &node);
  void printLink(const ReportNode &node);
  StringRef getTypeName(const ReportValue &value) const {
    Type element = getTensorElementType(value.type);
    return isF32Tensor(value.type) || is16BitTensor(value.type)
               ? getPrecisionName(element)
               : StringRef();
  }
  void printBytes(const ByteCount &size);
  std::string getOrigin(const ReportValue &value) const;
  std::string getOwnReason(const ReportNode &node) const;

  const PrecisionReport &report;
  raw_ostream &os;
};

} // namespace

void Explainer::printBytes(const ByteCount &size) {
  if (size.isUnknown)
    os << ", size unknown";
  else
    os << ", " << size.bytes << " bytes"
       << (size.isDynamic ? " (not all dimensions are known)" : "");
}

/// For example "from node ...", "a constant", "a graph input".
std::string Explainer::getOrigin(const ReportValue &value) const {
  switch (value.kind) {
  case ReportValue::Input:
    return "a graph input";
  case ReportValue::Weight:
    return "a constant";
  case ReportValue::BodyInput:
    return "an input of the body";
  case ReportValue::Result:
    break;
  }
  return value.source == noIndex
             ? "from outside"
             : "from " + showNode(report.nodes[value.source].op);
}

/// The passes' facts about the node: class, its reason, and the decision.
std::string Explainer::getOwnReason(const ReportNode &node) const {
  std::string text = node.opClass.str();
  if (!node.classReason.empty())
    text += (text.empty() ? "" : ", ") + node.classReason.str();
  if (!node.because.empty() && node.because != node.classReason)
    text += (text.empty() ? "" : "; ") + node.because.str();
  return text.empty() ? "no reason was noted" : escapeText(text);
}

void Explainer::printDecision(const ReportNode &node) {
  os << showNode(node.op);
  if (StringRef precision = report.getPrecision(node); !precision.empty())
    os << " runs in " << precision << "\n";
  else
    os << " is left as it is: it has no float values to choose a type for\n";
  if (!node.opClass.empty())
    os << "  class: " << node.opClass << ": " << escapeText(node.classReason)
       << "\n";
  if (!node.composite.empty())
    os << "  composite: it is part of a decomposed "
       << escapeText(node.composite) << "\n";
  if (node.isShape)
    os << "  shape: its values compute shapes or indices\n";
  if (!node.hazard.empty())
    os << "  hazard: " << escapeText(node.hazard) << "\n";
  if (!node.because.empty() && node.because != node.classReason)
    os << "  reason: " << escapeText(node.because) << "\n";
  if (node.multiplyAdds.value_or(0))
    os << "  work: " << *node.multiplyAdds << " multiply-adds\n";
  printError(report, node, os);
}

/// Prints the float types that a type variable admits, with its parameters.
static void printVariables(const OpSchema &schema, raw_ostream &os) {
  static constexpr ElementKind floats[] = {
      ElementKind::BFloat16, ElementKind::Float16, ElementKind::Float,
      ElementKind::Double};
  for (auto [index, variable] : llvm::enumerate(schema.typeVariables)) {
    SmallVector<std::string> parameters, admitted;
    for (const auto *list : {&schema.inputs, &schema.outputs})
      for (const FormalParameter &parameter : *list)
        if (parameter.typeVariable == index)
          parameters.push_back(parameter.name);
    for (ElementKind kind : floats)
      if (variable.types.containsTensor(kind))
        admitted.push_back(getElementKindName(kind).str());
    if (!parameters.empty() && !admitted.empty())
      os << "    " << llvm::join(parameters, ", ") << ": "
         << llvm::join(admitted, ", ") << "\n";
  }
}

void Explainer::printSchema(const ReportNode &node) {
  const OpSchema *schema = getSchema(node.op);
  if (!schema) {
    os << "  schema: none describes the op\n";
    return;
  }
  int64_t opset = getOpset(node.op, schema->domain).value_or(1);
  os << "  schema: " << escapeText(schema->getDisplayName()) << " at opset "
     << opset;
  StringRef low = report.precision;
  if (node.isAdmitted)
    os << " admits " << low << "\n";
  else if (node.firstOpset > opset)
    os << " does not admit " << low << ", opset " << node.firstOpset
       << " does\n";
  else
    os << " does not admit " << low << " here, no opset does\n";
  printVariables(*schema, os);
}

void Explainer::printOperand(const ReportNode &node, unsigned index) {
  os << "    #" << index << " ";
  if (node.operands[index] == noIndex) {
    os << "is not given\n";
    return;
  }
  const ReportValue &value = report.values[node.operands[index]];
  int source = report.skipCasts(node.operands[index]);
  os << "'" << escapeText(value.name) << "' " << value.type;
  if (source != noIndex && source != node.operands[index]) {
    const ReportValue &exact = report.values[source];
    os << ", cast from " << getTypeName(exact) << " '" << escapeText(exact.name)
       << "' (" << getOrigin(exact) << ")";
  } else {
    os << ", " << getOrigin(value);
  }
  printBytes(value.size);
  os << "\n";
}

/// Prints up to three users, and the users of casts among them.
void Explainer::printUsers(const ReportValue &value) {
  constexpr size_t limit = 3;
  for (unsigned user : ArrayRef(value.users).take_front(limit)) {
    const ReportNode &node = report.nodes[user];
    if (node.isInsertedCast && !node.results.empty())
      os << "       cast to "
         << getTypeName(report.values[node.results.front()]) << ", "
         << escapeText(report.getCastReason(node)) << "\n";
    else
      os << "       taken by " << showNode(node.op) << "\n";
  }
  if (value.users.size() > limit)
    os << "       and by " << value.users.size() - limit << " more\n";
  if (value.isOutput)
    os << "       an output of the graph\n";
}

void Explainer::printResult(const ReportNode &node, unsigned index) {
  const ReportValue &value = report.values[node.results[index]];
  os << "    #" << index << " '" << escapeText(value.name) << "' "
     << value.type;
  printBytes(value.size);
  os << "\n";
  printUsers(value);
}

void Explainer::printLink(const ReportNode &node) {
  os << showNode(node.op) << ", which is ";
  StringRef precision = report.getPrecision(node);
  os << (precision.empty() ? "left as it is" : precision) << ": "
     << getOwnReason(node) << "\n";
}

/// Prints the path back to a node, an input or a constant that decides by
/// itself.
void Explainer::printChain(const ReportNode &node) {
  SmallVector<const ReportNode *> chain = {&node};
  while (chain.back()->isFree && chain.back()->causeNode != noIndex)
    chain.push_back(&report.nodes[chain.back()->causeNode]);
  bool endsAtValue =
      chain.back()->isFree && chain.back()->causeValue != noIndex;
  if (chain.size() == 1 && !endsAtValue)
    return;
  os << "  where that comes from:\n";
  constexpr size_t head = 8, tail = 3;
  for (size_t i = 1; i < chain.size(); ++i) {
    if (i == head && chain.size() > head + tail + 1) {
      size_t skipped = chain.size() - tail - head;
      os << "    ... " << skipped << " more such nodes ...\n";
      i += skipped;
    }
    const ReportValue &through = report.values[chain[i - 1]->causeValue];
    os << "    '" << escapeText(through.name) << "' is " << getTypeName(through)
       << (through.source == noIndex ||
                   &report.nodes[through.source] == chain[i]
               ? ", from "
               : ", and goes to ");
    printLink(*chain[i]);
  }
  if (endsAtValue) {
    const ReportValue &value = report.values[chain.back()->causeValue];
    os << "    '" << escapeText(value.name) << "' is " << getTypeName(value)
       << ": it is " << getOrigin(value) << "\n";
  }
}

void Explainer::explainCast(const ReportNode &cast) {
  os << showNode(cast.op) << " was inserted";
  if (cast.operands.empty() || cast.results.empty())
    return;
  const ReportValue &from = report.values[cast.operands.front()];
  const ReportValue &to = report.values[cast.results.front()];
  os << ": it casts '" << escapeText(from.name) << "' from "
     << getTypeName(from) << " to " << getTypeName(to)
     << "\n  reason: " << escapeText(report.getCastReason(cast))
     << "\n  bytes read and written: " << report.getMovedBytes(cast) << "\n";
  os << "  '" << escapeText(from.name) << "' is ";
  if (from.source == noIndex)
    os << getOrigin(from) << "\n";
  else
    printLink(report.nodes[from.source]);
}

void Explainer::explainNode(const ReportNode &node) {
  if (node.isInsertedCast)
    return explainCast(node);
  printDecision(node);
  printSchema(node);
  os << "  operands:\n";
  for (unsigned index = 0; index < node.operands.size(); ++index)
    printOperand(node, index);
  os << "  results:\n";
  for (unsigned index = 0; index < node.results.size(); ++index)
    printResult(node, index);
  printChain(node);
}

void Explainer::explainValue(const ReportValue &value) {
  os << "value '" << escapeText(value.name) << "' " << value.type << ", "
     << getOrigin(value);
  printBytes(value.size);
  os << "\n";
  printUsers(value);
  if (value.source != noIndex)
    explainNode(report.nodes[value.source]);
}

/// True for names under which pages and messages show a node: the end of a
/// path, or the operator with or without the opset of its schema. Several nodes
/// may share these.
static bool isShownAs(const ReportNode &node, StringRef name) {
  std::string shown = node.getDisplayName();
  const OpSchema *schema = getSchema(node.op);
  return StringRef(shown).rsplit('/').second == name ||
         getQualifiedName(node.domain, node.opType) == name ||
         (schema && schema->getDisplayName() == name);
}

/// Prints one line per node if there are too many for full explanations.
void Explainer::listNodes(ArrayRef<const ReportNode *> nodes, StringRef name) {
  constexpr size_t limit = 20;
  os << nodes.size() << " nodes are shown as '" << name
     << "'; --explain with the name of one says more:\n";
  for (const ReportNode *node : nodes.take_front(limit)) {
    os << "  ";
    printLink(*node);
  }
  if (nodes.size() > limit)
    os << "  and " << nodes.size() - limit << " more\n";
}

/// Explains nodes that are shown under a name that several share. False if
/// there are none.
static bool explainShown(const PrecisionReport &report, StringRef name,
                         Explainer &explainer) {
  constexpr size_t limit = 3;
  SmallVector<const ReportNode *> shown;
  for (const ReportNode &node : report.nodes)
    if (!name.empty() && isShownAs(node, name))
      shown.push_back(&node);
  if (shown.size() > limit)
    explainer.listNodes(shown, name);
  else
    for (const ReportNode *node : shown)
      explainer.explainNode(*node);
  return !shown.empty();
}

llvm::Error printExplanation(const PrecisionReport &report, StringRef name,
                             raw_ostream &os) {
  Explainer explainer(report, os);
  bool isFound = false;
  SmallVector<StringRef> candidates;
  for (const ReportNode &node : report.nodes) {
    candidates.push_back(node.name);
    if (name.empty() || node.name != name)
      continue;
    explainer.explainNode(node);
    isFound = true;
  }
  if (isFound)
    return llvm::Error::success();
  for (const ReportValue &value : report.values) {
    candidates.push_back(value.name);
    if (name.empty() || value.name != name)
      continue;
    explainer.explainValue(value);
    isFound = true;
  }
  if (isFound || explainShown(report, name, explainer))
    return llvm::Error::success();
  std::string nearest = findNearest(name, candidates);
  return llvm::createStringError(
      "--explain: no node and no value is named '" + name + "'" +
      (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

} // namespace mp
