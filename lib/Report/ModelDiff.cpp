//===- ModelDiff.cpp - Differences in precision ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/ModelDiff.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Report/ReportForms.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class Differ {
public:
  Differ(ModuleOp before, ModuleOp after, ModelDiff &diff)
      : modules{before, after}, diff(diff) {}

  void run();

private:
  using Nodes = std::vector<Operation *>;

  void collect(ModuleOp module, Nodes &nodes);
  void matchBy(function_ref<std::string(Operation *)> getKey);
  void matchByOrder();
  void compareNodes();
  void compareInterface();
  void compareInitializers();
  void compareVersions();

  ModuleOp modules[2];
  ModelDiff &diff;
  Nodes nodes[2];
  /// Indexed like nodes[0]: the matching node of the other model. `taken` has
  /// the nodes of nodes[1] that are matched.
  std::vector<Operation *> matches;
  llvm::DenseSet<Operation *> taken;
};

} // namespace

/// The element type, as MLIR prints it: "f32", "bf16", "i64", "seq<...>".
static std::string getElementName(Type type) {
  std::string text;
  Type element = getTensorElementType(type);
  llvm::raw_string_ostream(text) << (element ? element : type);
  return text;
}

static std::string getElementNames(TypeRange types) {
  std::string text;
  for (Type type : types)
    text += (text.empty() ? "" : ", ") +
            (isa<NoneType>(type) ? "-" : getElementName(type));
  return text;
}

static std::string getOpName(Operation *op) {
  return getQualifiedName(normalizeDomain(getDomain(op)), getOpType(op));
}

static std::string getFirstOutput(Operation *op) {
  return op->getNumResults() ? getValueName(op->getResult(0)).str() : "";
}

static std::string getDisplayName(Operation *op) {
  StringRef name = getNodeName(op);
  return name.empty() ? getFirstOutput(op) : name.str();
}

void Differ::collect(ModuleOp module, Nodes &nodes) {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op))
      nodes.push_back(op);
  });
}

/// Matches remaining nodes whose key is unique in both models.
void Differ::matchBy(function_ref<std::string(Operation *)> getKey) {
  llvm::StringMap<SmallVector<size_t, 1>> left;
  llvm::StringMap<SmallVector<Operation *, 1>> right;
  for (auto [index, op] : llvm::enumerate(nodes[0]))
    if (std::string key = getKey(op); !matches[index] && !key.empty())
      left[getOpName(op) + "\n" + key].push_back(index);
  for (Operation *op : nodes[1])
    if (std::string key = getKey(op); !taken.contains(op) && !key.empty())
      right[getOpName(op) + "\n" + key].push_back(op);
  for (auto &entry : left) {
    auto other = right.find(entry.getKey());
    if (entry.second.size() != 1 || other == right.end() ||
        other->second.size() != 1)
      continue;
    matches[entry.second.front()] = other->second.front();
    taken.insert(other->second.front());
  }
}

void Differ::matchByOrder() {
  std::map<std::string, std::pair<SmallVector<size_t, 1>, Nodes>> byOp;
  for (auto [index, op] : llvm::enumerate(nodes[0]))
    if (!matches[index])
      byOp[getOpName(op)].first.push_back(index);
  for (Operation *op : nodes[1])
    if (!taken.contains(op))
      byOp[getOpName(op)].second.push_back(op);
  for (auto &[name, both] : byOp) {
    if (both.first.size() != both.second.size())
      continue;
    for (auto [index, op] : llvm::zip(both.first, both.second)) {
      matches[index] = op;
      taken.insert(op);
    }
  }
}

/// True for a cast between float types.
static bool isPrecisionCast(Operation *op) {
  auto isFloat = [](Type type) {
    Type element = getTensorElementType(type);
    return element && isa<FloatType>(element);
  };
  return isStandardOp(op, "Cast") && op->getNumOperands() == 1 &&
         op->getNumResults() == 1 && isFloat(op->getOperand(0).getType()) &&
         isFloat(op->getResult(0).getType());
}

static void addUnmatched(Operation *op, std::vector<ModelDiff::Node> &casts,
                         std::vector<ModelDiff::Node> &others) {
  ModelDiff::Node node;
  node.name = getDisplayName(op);
  node.op = getOpName(op);
  if (!isPrecisionCast(op)) {
    others.push_back(std::move(node));
    return;
  }
  node.value = getValueName(op->getOperand(0)).str();
  node.from = getElementName(op->getOperand(0).getType());
  node.to = getElementName(op->getResult(0).getType());
  casts.push_back(std::move(node));
}

void Differ::compareNodes() {
  for (auto [index, op] : llvm::enumerate(nodes[0])) {
    Operation *other = matches[index];
    if (!other) {
      addUnmatched(op, diff.castsRemoved, diff.nodesRemoved);
      continue;
    }
    ++diff.matched;
    ModelDiff::NodeChange change;
    change.inputsBefore = getElementNames(op->getOperandTypes());
    change.inputsAfter = getElementNames(other->getOperandTypes());
    change.outputsBefore = getElementNames(op->getResultTypes());
    change.outputsAfter = getElementNames(other->getResultTypes());
    if (change.inputsBefore == change.inputsAfter &&
        change.outputsBefore == change.outputsAfter)
      continue;
    change.name = getDisplayName(op);
    change.op = getOpName(op);
    diff.nodes.push_back(std::move(change));
  }
  for (Operation *op : nodes[1])
    if (!taken.contains(op))
      addUnmatched(op, diff.castsAdded, diff.nodesAdded);
}

using NamedTypes = std::vector<std::pair<std::string, std::string>>;

/// Entries whose type differs; "-" means that a list has no such entry.
static void compareTypes(const NamedTypes &before, const NamedTypes &after,
                         std::vector<ModelDiff::Change> &changes) {
  llvm::StringMap<std::string> right;
  llvm::StringSet<> left;
  for (const auto &[name, type] : after)
    right[name] = type;
  for (const auto &[name, type] : before) {
    left.insert(name);
    auto it = right.find(name);
    std::string other = it == right.end() ? "-" : it->second;
    if (other != type)
      changes.push_back({name, type, other});
  }
  for (const auto &[name, type] : after)
    if (!left.contains(name))
      changes.push_back({name, "-", type});
}

static std::string getTypeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

void Differ::compareInterface() {
  NamedTypes inputs[2], outputs[2];
  for (int side : {0, 1})
    for (auto graph : modules[side].getOps<GraphOp>()) {
      for (BlockArgument input : graph.getBody().getArguments())
        inputs[side].emplace_back(getValueName(input).str(),
                                  getTypeText(input.getType()));
      if (YieldOp yield = getYield(graph.getBody()))
        for (Value output : yield->getOperands())
          outputs[side].emplace_back(getValueName(output).str(),
                                     getTypeText(output.getType()));
    }
  compareTypes(inputs[0], inputs[1], diff.inputs);
  compareTypes(outputs[0], outputs[1], diff.outputs);
}

void Differ::compareInitializers() {
  NamedTypes types[2];
  for (int side : {0, 1})
    modules[side]->walk([&](InitializerOp op) {
      types[side].emplace_back(op.getName().str(), getTypeText(op.getType()));
    });
  compareTypes(types[0], types[1], diff.initializers);
  diff.weightsBefore = ModelSize::measure(modules[0]).weights;
  diff.weightsAfter = ModelSize::measure(modules[1]).weights;
}

void Differ::compareVersions() {
  NamedTypes versions[2];
  for (int side : {0, 1}) {
    std::map<std::string, std::string> byDomain;
    if (auto imports = modules[side]->getAttrOfType<ArrayAttr>(attr::opsets))
      for (Attribute import : imports) {
        auto pair = dyn_cast<ArrayAttr>(import);
        auto domain = pair && pair.size() > 1 ? dyn_cast<StringAttr>(pair[0])
                                              : StringAttr();
        StringRef name = normalizeDomain(domain ? domain.getValue() : "");
        std::string shown = name.empty() ? "ai.onnx" : name.str();
        byDomain["opset " + shown] =
            std::to_string(getOpset(modules[side], name).value_or(0));
      }
    versions[side].assign(byDomain.begin(), byDomain.end());
    versions[side].emplace_back(
        "ir_version",
        std::to_string(ModelSize::measure(modules[side]).irVersion));
  }
  compareTypes(versions[0], versions[1], diff.versions);
}

void Differ::run() {
  for (int side : {0, 1})
    collect(modules[side], nodes[side]);
  matches.assign(nodes[0].size(), nullptr);
  matchBy([](Operation *op) { return getNodeName(op).str(); });
  matchBy(getFirstOutput);
  matchByOrder();
  compareNodes();
  compareInterface();
  compareInitializers();
  compareVersions();
}

ModelDiff ModelDiff::compute(ModuleOp before, ModuleOp after) {
  ModelDiff diff;
  Differ(before, after, diff).run();
  return diff;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printChanges(StringRef kind, ArrayRef<ModelDiff::Change> changes,
                         raw_ostream &os) {
  for (const ModelDiff::Change &change : changes)
    os << kind << " '" << escapeText(change.name) << "': " << change.before
       << " -> " << change.after << "\n";
}

static void printNodes(StringRef kind, ArrayRef<ModelDiff::Node> nodes,
                       raw_ostream &os) {
  for (const ModelDiff::Node &node : nodes) {
    os << kind << " '" << escapeText(node.name) << "'";
    if (node.from.empty())
      os << " (" << escapeText(node.op) << ")\n";
    else
      os << ": '" << escapeText(node.value) << "' from " << node.from << " to "
         << node.to << "\n";
  }
}

void ModelDiff::print(raw_ostream &os) const {
  if (isEmpty()) {
    os << "no difference in precision (" << matched << " nodes)\n";
    return;
  }
  for (const Change &change : versions)
    os << escapeText(change.name) << ": " << change.before << " -> "
       << change.after << "\n";
  printChanges("input", inputs, os);
  printChanges("output", outputs, os);
  printChanges("initializer", initializers, os);
  for (const NodeChange &node : nodes) {
    os << "node '" << escapeText(node.name) << "' (" << escapeText(node.op)
       << "):";
    if (node.inputsBefore != node.inputsAfter)
      os << " takes " << node.inputsBefore << " -> " << node.inputsAfter;
    if (node.outputsBefore != node.outputsAfter)
      os << (node.inputsBefore != node.inputsAfter ? "," : "") << " yields "
         << node.outputsBefore << " -> " << node.outputsAfter;
    os << "\n";
  }
  printNodes("cast added", castsAdded, os);
  printNodes("cast removed", castsRemoved, os);
  printNodes("node added", nodesAdded, os);
  printNodes("node removed", nodesRemoved, os);
  os << matched << " nodes matched, " << nodes.size() << " differ; "
     << castsAdded.size() << " casts added, " << castsRemoved.size()
     << " removed; " << initializers.size() << " initializers differ, "
     << weightsBefore << " -> " << weightsAfter << " bytes of weights\n";
}

static void writeChanges(llvm::json::OStream &json, StringRef key,
                         ArrayRef<ModelDiff::Change> changes) {
  json.attributeArray(key, [&] {
    for (const ModelDiff::Change &change : changes)
      json.object([&] {
        json.attribute("name", toJSON(change.name));
        json.attribute("before", toJSON(change.before));
        json.attribute("after", toJSON(change.after));
      });
  });
}

static void writeNodes(llvm::json::OStream &json, StringRef key,
                       ArrayRef<ModelDiff::Node> nodes) {
  json.attributeArray(key, [&] {
    for (const ModelDiff::Node &node : nodes)
      json.object([&] {
        json.attribute("name", toJSON(node.name));
        json.attribute("op", toJSON(node.op));
        if (node.from.empty())
          return;
        json.attribute("value", toJSON(node.value));
        json.attribute("from", node.from);
        json.attribute("to", node.to);
      });
  });
}

void ModelDiff::printJSON(StringRef before, StringRef after,
                          raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema_version", reportSchemaVersion);
    json.attribute("before", toJSON(before));
    json.attribute("after", toJSON(after));
    json.attribute("differs", !isEmpty());
    json.attribute("matched_nodes", int64_t(matched));
    writeChanges(json, "versions", versions);
    writeChanges(json, "inputs", inputs);
    writeChanges(json, "outputs", outputs);
    writeChanges(json, "initializers", initializers);
    json.attributeArray("nodes", [&] {
      for (const NodeChange &node : nodes)
        json.object([&] {
          json.attribute("name", toJSON(node.name));
          json.attribute("op", toJSON(node.op));
          json.attribute("inputs_before", node.inputsBefore);
          json.attribute("inputs_after", node.inputsAfter);
          json.attribute("outputs_before", node.outputsBefore);
          json.attribute("outputs_after", node.outputsAfter);
        });
    });
    writeNodes(json, "casts_added", castsAdded);
    writeNodes(json, "casts_removed", castsRemoved);
    writeNodes(json, "nodes_added", nodesAdded);
    writeNodes(json, "nodes_removed", nodesRemoved);
    json.attributeObject("weight_bytes", [&] {
      json.attribute("before", weightsBefore);
      json.attribute("after", weightsAfter);
    });
  });
  os << "\n";
}

} // namespace mp
