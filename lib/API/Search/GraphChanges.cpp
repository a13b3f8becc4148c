//===- GraphChanges.cpp - Nodes and outputs that a model can lose ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChanges.h"

#include "mp-opt/API/Search/GraphChanges.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Graph/Functions.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static llvm::StringSet<> makeSet(ChangeRange names) {
  llvm::StringSet<> set;
  for (const std::string &name : names)
    set.insert(name);
  return set;
}

/// The name of a node's first result that has one; empty if none has.
static StringRef getKey(Operation *node) {
  for (OpResult result : node->getResults())
    if (StringRef name = getValueName(result); !name.empty())
      return name;
  return "";
}

static void forEachNode(ModuleOp module,
                        llvm::function_ref<void(Operation *)> visit) {
  for (Operation &op :
       llvm::make_early_inc_range(getMainGraph(module).getBody().front()))
    if (isNode(&op))
      visit(&op);
}

/// The op of the graph's own block that holds `op`.
static Operation *getAncestor(GraphOp graph, Operation *op) {
  return graph.getBody().front().findAncestorOpInBlock(*op);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Changes listNodes(ModuleOp module) {
  Changes names;
  forEachNode(module, [&](Operation *node) {
    if (StringRef name = getKey(node); !name.empty())
      names.push_back(name.str());
  });
  return names;
}

/// Makes an input of each result that nodes other than `removed` read.
static bool replaceByInputs(GraphOp graph, Operation *node,
                            const llvm::SetVector<Operation *> &removed) {
  GraphEditor editor(graph);
  for (OpResult result : node->getResults()) {
    auto isKept = [&](OpOperand &use) {
      return !removed.contains(getAncestor(graph, use.getOwner()));
    };
    if (llvm::none_of(result.getUses(), isKept))
      continue;
    if (!getTensorElementType(result.getType()) || getValueName(result).empty())
      return false;
    std::string name = getValueName(result).str();
    result.replaceUsesWithIf(editor.addInput(name, result.getType()), isKept);
  }
  return true;
}

bool removeNodes(ModuleOp module, ChangeRange names) {
  GraphOp graph = getMainGraph(module);
  GraphEditor editor(graph);
  llvm::StringSet<> wanted = makeSet(names);
  llvm::SetVector<Operation *> removed;
  forEachNode(module, [&](Operation *node) {
    if (wanted.contains(getKey(node)))
      removed.insert(node);
  });
  llvm::SetVector<Value> read;
  for (Operation *node : removed)
    node->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && isNode(source) &&
            source->getBlock() == node->getBlock() && !removed.contains(source))
          read.insert(operand);
    });
  YieldOp yield = editor.getYield();
  editor.eraseOutputs([&](unsigned index) {
    return removed.contains(yield.getOperand(index).getDefiningOp());
  });
  for (Operation *node : removed)
    if (!replaceByInputs(graph, node, removed))
      return false;
  for (Operation *node : llvm::reverse(removed)) {
    node->dropAllUses();
    node->erase();
  }
  SmallVector<Value> added;
  for (Value value : read)
    if (value.use_empty() && !getValueName(value).empty()) {
      if (!getTensorElementType(value.getType()))
        return false;
      added.push_back(value);
    }
  editor.addOutputs(added);
  return editor.getYield().getNumOperands() > 0;
}

Changes listOutputs(ModuleOp module) {
  Changes names;
  for (Value value : GraphEditor(getMainGraph(module)).getYield().getOperands())
    names.push_back(getValueName(value).str());
  return names;
}

bool dropOutputs(ModuleOp module, ChangeRange names) {
  GraphEditor editor(getMainGraph(module));
  llvm::StringSet<> dropped = makeSet(names);
  YieldOp yield = editor.getYield();
  editor.eraseOutputs([&](unsigned index) {
    return dropped.contains(getValueName(yield.getOperand(index)));
  });
  return editor.getYield().getNumOperands() > 0;
}

/// The operand that can replace the first result of a node, the only one that
/// is read; null if there is none.
static Value findBypass(Operation *node) {
  if (!node->getNumResults())
    return {};
  Value result = node->getResult(0);
  for (OpResult other : node->getResults().drop_front())
    if (!other.use_empty())
      return {};
  // An output keeps its name.
  if (result.use_empty() || llvm::any_of(result.getUsers(), [](Operation *op) {
        return isa<YieldOp>(op);
      }))
    return {};
  for (Value operand : node->getOperands())
    if (operand.getType() == result.getType() &&
        getTensorElementType(operand.getType()))
      return operand;
  return {};
}

Changes listBypasses(ModuleOp module) {
  Changes names;
  forEachNode(module, [&](Operation *node) {
    if (StringRef name = getKey(node); !name.empty() && findBypass(node))
      names.push_back(name.str());
  });
  return names;
}

bool bypassNodes(ModuleOp module, ChangeRange names) {
  llvm::StringSet<> bypassed = makeSet(names);
  forEachNode(module, [&](Operation *node) {
    if (!bypassed.contains(getKey(node)))
      return;
    if (Value operand = findBypass(node)) {
      node->getResult(0).replaceAllUsesWith(operand);
      node->erase();
    }
  });
  return true;
}

//===----------------------------------------------------------------------===//
// Unused nodes, inputs and functions
//===----------------------------------------------------------------------===//

static void removeUnusedFunctions(ModuleOp module) {
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    FunctionTable table(module);
    llvm::DenseSet<Operation *> called;
    module.walk([&](Operation *op) {
      if (FunctionOp function = isNode(op) ? table.lookup(op) : FunctionOp())
        if (!function->isAncestor(op))
          called.insert(function);
    });
    for (FunctionOp function :
         llvm::make_early_inc_range(module.getOps<FunctionOp>()))
      if (!called.contains(function)) {
        function.erase();
        goesOn = true;
      }
  }
}

void removeUnused(ModuleOp module) {
  GraphOp graph = getMainGraph(module);
  GraphEditor editor(graph);
  Block &block = editor.getBlock();
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    auto initializer = dyn_cast<InitializerOp>(op);
    bool isDefault = initializer && initializer.getOverridable();
    if (op->use_empty() && !isDefault)
      op->erase();
  }
  for (int index = int(block.getNumArguments()) - 1; index >= 0; --index) {
    BlockArgument input = block.getArgument(index);
    if (!input.use_empty())
      continue;
    if (InitializerOp byDefault = editor.getDefault(input))
      byDefault.erase();
    editor.eraseInput(index);
  }
  editor.getYield()->removeAttr(attr::valueInfo);
  removeUnusedFunctions(module);
}

GraphSize::GraphSize(ModuleOp module) {
  GraphOp graph = getMainGraph(module);
  graph.walk([&](Operation *op) {
    nodes += isNode(op);
    if (isa<InitializerOp>(op))
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
          type && type.hasStaticShape())
        elements += type.getNumElements();
  });
  inputs = graph.getBody().getNumArguments();
  outputs = getYield(graph.getBody()).getNumOperands();
}

std::string GraphSize::describe() const {
  auto count = [](uint64_t number, StringRef noun) {
    return (Twine(number) + " " + noun + (number == 1 ? "" : "s")).str();
  };
  return count(nodes, "node") + ", " + count(inputs, "input") + ", " +
         count(outputs, "output") + ", " + count(elements, "weight");
}

//===----------------------------------------------------------------------===//
// Attributes, metadata, names
//===----------------------------------------------------------------------===//

Changes listAttributes(ModuleOp module) {
  Changes found;
  forEachNode(module, [&](Operation *node) {
    StringRef key = getKey(node);
    if (!getNodeAttributes(node) || key.empty() ||
        isStandardOp(node, "Constant"))
      return;
    for (NamedAttribute entry : node->getDiscardableAttrs())
      if (StringRef name = entry.getName(); !NodeAttributes::holds(name))
        found.push_back((key + "/" + name).str());
  });
  return found;
}

bool removeAttributes(ModuleOp module, ChangeRange attributes) {
  llvm::StringSet<> removed = makeSet(attributes);
  forEachNode(module, [&](Operation *node) {
    StringRef key = getKey(node);
    SmallVector<StringAttr> names;
    for (NamedAttribute entry : node->getDiscardableAttrs())
      if (removed.contains((key + "/" + entry.getName().getValue()).str()))
        names.push_back(entry.getName());
    for (StringAttr name : names)
      node->removeAttr(name);
  });
  forgetTypes(module);
  return true;
}

/// Fields of a model and of a graph that no runtime computes with.
static constexpr StringRef modelFields[] = {
    "doc_string",    "domain",           "metadata_props",
    "model_version", "producer_version", "producer_name"};
static constexpr StringRef graphFields[] = {"doc_string", "metadata_props",
                                            "quantization_annotation"};

/// Removes fields of a dictionary attribute; true if it had one of them. Only
/// looks if `isApplied` is false.
static bool dropFields(Operation *op, StringRef name,
                       ArrayRef<StringRef> fields, bool isApplied) {
  auto held = op->getAttrOfType<DictionaryAttr>(name);
  if (!held)
    return false;
  NamedAttrList list(held);
  bool any = false;
  for (StringRef field : fields)
    any |= bool(list.erase(field));
  if (any && isApplied)
    op->setAttr(name, list.getDictionary(op->getContext()));
  return any;
}

/// Removes one kind of metadata; true if there is some.
static bool dropKind(ModuleOp module, StringRef kind, bool isApplied) {
  GraphOp graph = getMainGraph(module);
  if (kind == "model")
    return dropFields(module, attr::model, modelFields, isApplied);
  if (kind == "graph")
    return dropFields(getYield(graph.getBody()), attr::graph, graphFields,
                      isApplied);
  bool any = false;
  if (kind == "training") {
    for (auto training :
         llvm::make_early_inc_range(module.getOps<TrainingOp>())) {
      any = true;
      if (isApplied)
        training.erase();
    }
    return any;
  }
  graph.walk([&](Operation *op) {
    if (isNode(op))
      any |= dropFields(op, attr::extra, graphFields, isApplied);
  });
  return any;
}

Changes listMetadata(ModuleOp module) {
  Changes kinds;
  for (StringRef kind : {"model", "graph", "training", "nodes"})
    if (dropKind(module, kind, /*isApplied=*/false))
      kinds.push_back(kind.str());
  return kinds;
}

bool dropMetadata(ModuleOp module, ChangeRange kinds) {
  for (StringRef kind : kinds)
    dropKind(module, kind, /*isApplied=*/true);
  return true;
}

/// Values by number: the names of inputs and outputs are the model's interface
/// and stay.
static bool shortenKind(ModuleOp module, StringRef kind, bool isApplied) {
  GraphOp graph = getMainGraph(module);
  bool any = false;
  if (kind == "node") {
    graph.walk([&](Operation *op) {
      if (!isNode(op) || getNodeName(op).empty())
        return;
      any = true;
      if (isApplied)
        op->removeAttr(attr::name);
    });
    return any;
  }
  llvm::StringSet<> taken;
  for (BlockArgument input : graph.getBody().getArguments())
    taken.insert(getValueName(input));
  llvm::DenseSet<Value> outputs;
  for (Value value : getYield(graph.getBody()).getOperands()) {
    outputs.insert(value);
    taken.insert(getValueName(value));
  }
  unsigned number = 0;
  graph.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto initializer = dyn_cast<InitializerOp>(op);
    if (!isNode(op) && !(initializer && !initializer.getOverridable()))
      return;
    for (OpResult result : op->getResults()) {
      StringRef old = getValueName(result);
      if (old.empty() || outputs.contains(result))
        continue;
      std::string name;
      do
        name = "v" + std::to_string(number++);
      while (taken.contains(name));
      any |= old != name;
      if (isApplied && initializer)
        initializer.setName(name);
      else if (isApplied)
        setValueName(result, name);
    }
  });
  return any;
}

Changes listNames(ModuleOp module) {
  Changes kinds;
  for (StringRef kind : {"value", "node"})
    if (shortenKind(module, kind, /*isApplied=*/false))
      kinds.push_back(kind.str());
  return kinds;
}

bool shortenNames(ModuleOp module, ChangeRange kinds) {
  for (StringRef kind : kinds)
    shortenKind(module, kind, /*isApplied=*/true);
  return true;
}

} // namespace mp
