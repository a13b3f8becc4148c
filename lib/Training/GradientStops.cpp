//===- GradientStops.cpp - Values without gradients -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/GradientStops.h"

#include "NamePatterns.h"
#include "Roles/ConstantContents.h"
#include "Roles/ExportMetadata.h"
#include "Roles/ModuleScopes.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Support/Nearest.h"
#include "mp-opt/Training/Parameters.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Metadata of exports
//===----------------------------------------------------------------------===//

/// True for "detach", "detach_3": torch's names for detached values.
static bool isDetachName(StringRef name) {
  if (!name.consume_front("detach"))
    return false;
  return name.empty() ||
         (name.consume_front("_") && llvm::all_of(name, llvm::isDigit));
}

static bool isDetached(Operation *node) {
  if (!isStandardOp(node, "Identity"))
    return false;
  if (getNodeMetadata(node, stopGradientKey))
    return true;
  if (auto call = getFxNode(node))
    return call->contains("torch.ops.aten.detach");
  // ONNX's text has no metadata of nodes.
  StringRef name = getNodeName(node);
  return isTorchExport(node) && name.consume_front("node_") &&
         isDetachName(name) &&
         isDetachName(onnxir::getValueName(node->getResult(0)));
}

/// Warns of nodes that read a detached value whose Identity the exporter has
/// dropped.
static void warnOfFolded(GraphOp graph) {
  llvm::StringSet<> known;
  graph.walk([&](Operation *op) {
    for (Value result : op->getResults())
      known.insert(onnxir::getValueName(result));
  });
  SmallVector<StringRef> readers;
  graph.walk([&](Operation *op) {
    auto call = isNode(op) ? getFxNode(op) : std::nullopt;
    if (!call)
      return;
    for (StringRef name : getFxOperands(*call))
      if (isDetachName(name) && !known.contains(name)) {
        readers.push_back(getNodeName(op));
        return;
      }
  });
  if (readers.empty())
    return;
  graph.emitWarning() << "the exporter has folded 'detach' away before "
                      << readers.size() << " nodes ('" << readers.front() << "'"
                      << (readers.size() > 1 ? ", ..." : "")
                      << "): gradients pass there; torch.onnx.export(..., "
                         "optimize=False) keeps "
                      << "it, --stop-gradient=REGEX names such values";
}

/// The difference of `x + (y - x)`; null for other nodes.
static Operation *getUndoneDifference(Operation *node) {
  if (!isStandardOp(node, "Add"))
    return nullptr;
  for (unsigned index : {0, 1}) {
    Operation *sub = node->getOperand(index).getDefiningOp();
    if (sub && isStandardOp(sub, "Sub") &&
        sub->getOperand(1) == node->getOperand(1 - index))
      return sub;
  }
  return nullptr;
}

/// Warns of x + (y - x), a straight-through estimator whose `detach` torch's
/// older exporter has dropped.
static void warnOfStraightThrough(GraphOp graph) {
  SmallVector<StringRef> names;
  graph.walk([&](Operation *op) {
    if (Operation *sub = isNode(op) ? getUndoneDifference(op) : nullptr)
      names.push_back(onnxir::getValueName(sub->getResult(0)));
  });
  if (names.empty())
    return;
  graph.emitWarning() << "a node adds what '" << names.front()
                      << "' has just subtracted"
                      << (names.size() > 1 ? ", and others do" : "")
                      << ": a straight-through estimator whose 'detach' the "
                      << "exporter has lost trains otherwise; "
                      << "--stop-gradient=REGEX names the difference, "
                      << "export_torch.py keeps it";
}

/// Warns of buffers that nodes read, but whose next values the exporter has
/// omitted. BatchNormalization computes the next values of its statistics
/// itself.
static void warnOfKeptBuffers(GraphOp graph,
                              const llvm::StringMap<std::string> &buffers) {
  llvm::StringMap<Value> known = findValues(graph);
  SmallVector<StringRef> kept;
  for (const auto &[value, buffer] : buffers) {
    Value old = known.lookup(buffer);
    bool isRead = old && llvm::any_of(old.getUsers(), [](Operation *user) {
                    return !isStandardOp(user, "BatchNormalization");
                  });
    if (isRead && !known.contains(value))
      kept.push_back(buffer);
  }
  if (kept.empty())
    return;
  llvm::sort(kept);
  graph.emitWarning() << "the module updates '" << kept.front() << "'"
                      << (kept.size() > 1 ? " and other buffers" : "")
                      << " in its forward pass, which the exporter has left "
                      << "out: steps keep the value that the model has; "
                      << "export_torch.py keeps the update";
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

/// Inserts an Identity after `value` that passes no gradient, takes over the
/// name and all uses, and is returned.
static Operation *stopBehind(NodeBuilder &builder, OpResult value) {
  auto unit = builder.getBuilder().getUnitAttr();
  Operation *definer = value.getOwner();
  if (definer->hasAttr(mark::stopGradient))
    return definer;
  std::string name = onnxir::getValueName(value).str();
  builder.setInsertionPointAfter(definer);
  builder.setBase(name);
  Value passed = builder.create("Identity", {value}, {}, value.getType());
  value.replaceAllUsesExcept(passed, passed.getDefiningOp());
  passed.getDefiningOp()->setAttr(mark::stopGradient, unit);
  setValueName(value, builder.getNames().getValueName(name + "_passed"));
  setValueName(cast<OpResult>(passed), name);
  return passed.getDefiningOp();
}

/// Results of nodes in the graph and its subgraphs, in order.
static std::vector<OpResult> findComputed(GraphOp graph) {
  std::vector<OpResult> found;
  graph.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op) && !isStandardOp(op, "Constant"))
      for (OpResult result : op->getResults())
        if (!isa<NoneType>(result.getType()))
          found.push_back(result);
  });
  return found;
}

static LogicalResult findMatches(GraphOp graph, StringRef text,
                                 ArrayRef<OpResult> values,
                                 llvm::SetVector<Value> &found) {
  std::vector<StringRef> names;
  for (OpResult value : values)
    names.push_back(onnxir::getValueName(value));
  auto pattern = NamePattern::parse(text);
  if (!pattern)
    return graph.emitError() << "stop-gradient pattern '" << text
                             << "': " << toString(pattern.takeError());
  bool isUsed = false;
  for (auto [value, name] : llvm::zip(values, names))
    if (pattern->matches(name)) {
      isUsed = true;
      found.insert(value);
    }
  if (isUsed) {
    pattern->warnOfUnused(graph, "stop-gradient", names);
    return success();
  }
  for (auto initializer : graph.getBody().front().getOps<InitializerOp>())
    if (pattern->matches(initializer.getName()))
      return graph.emitError()
             << "stop-gradient pattern '" << text << "': no node computes '"
             << initializer.getName() << "'; --freeze is for parameters";
  return graph.emitError() << "stop-gradient pattern '" << text
                           << "' matches no value that a node computes"
                           << suggestNearest(text, names);
}

LogicalResult markGradientStops(GraphOp graph, ArrayRef<std::string> patterns) {
  NodeBuilder builder(graph->getParentOfType<ModuleOp>());
  std::vector<OpResult> values = findComputed(graph);
  llvm::SetVector<Value> stops;
  for (const std::string &text : patterns)
    if (failed(findMatches(graph, text, values, stops)))
      return failure();
  warnOfFolded(graph);
  for (OpResult value : values)
    if (isDetached(value.getOwner()))
      value.getOwner()->setAttr(mark::stopGradient,
                                builder.getBuilder().getUnitAttr());
  // A value that a step stores in a buffer has no gradient in the next step.
  ValueMetadata metadata(graph);
  auto buffers = findNextBuffers(graph);
  if (failed(buffers))
    return failure();
  for (OpResult value : values) {
    StringRef name = onnxir::getValueName(value);
    if (buffers->contains(name) ||
        metadata.get(name, outputKindKey) == StringRef("BUFFER_MUTATION"))
      stops.insert(value);
  }
  llvm::StringMap<Value> known = findValues(graph);
  for (Value value : stops) {
    std::string buffer = buffers->lookup(onnxir::getValueName(value));
    Operation *stop = stopBehind(builder, cast<OpResult>(value));
    Value old = known.lookup(buffer);
    if (old && mayHold(old, value))
      stop->setAttr(mark::nextBuffer,
                    builder.getBuilder().getStringAttr(buffer));
  }
  warnOfStraightThrough(graph);
  warnOfKeptBuffers(graph, *buffers);
  return success();
}

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

/// torch's dynamo exporter never updates statistics, even if its call has
/// training = True.
static bool isTrainedNormalization(Operation *node) {
  if (!isStandardOp(node, "BatchNormalization") ||
      NodeView(node).getFlag("training_mode") || node->getNumResults() != 1)
    return false;
  auto call = getFxNode(node);
  return call &&
         call->contains("aten._native_batch_norm_legit_functional.default]") &&
         getFxArgument(*call, 5, "training") == StringRef("True");
}

void restoreTrainingModes(GraphOp graph) {
  NodeBuilder builder(graph->getParentOfType<ModuleOp>());
  SmallVector<Operation *> nodes;
  graph.walk([&](Operation *op) {
    if (isNode(op) && isTrainedNormalization(op))
      nodes.push_back(op);
  });
  for (Operation *node : nodes) {
    setAttributes(node, {builder.attr("training_mode", int64_t(1))});
    builder.extend(
        node, {node->getOperand(3).getType(), node->getOperand(4).getType()});
    node->erase();
  }
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// The padding row according to the exporter; absent if there is none.
static std::optional<int64_t> getStatedPadding(Operation *node) {
  int64_t index = 0;
  if (auto text = getNodeMetadata(node, paddingIndexKey))
    return text->getAsInteger(10, index) ? std::nullopt : std::optional(index);
  auto call = getFxNode(node);
  if (!call || !call->contains("torch.ops.aten.embedding.default]"))
    return std::nullopt;
  std::optional<StringRef> text = getFxArgument(*call, 2, "padding_idx");
  // torch's value for no padding.
  constexpr int64_t none = -1;
  if (!text || text->getAsInteger(10, index) || index == none)
    return std::nullopt;
  return index;
}

/// The only row of zeros of a table that has others.
static std::optional<int64_t> findZeroRow(Operation *constant) {
  auto elements = constant ? FloatElements::get(constant) : std::nullopt;
  if (!elements || elements->getShape().size() != 2)
    return std::nullopt;
  int64_t rows = elements->getShape()[0], width = elements->getShape()[1];
  std::optional<int64_t> found;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t column = 0;
    while (column < width && (*elements)[row * width + column] == 0)
      ++column;
    if (column < width)
      continue;
    if (found || rows < 3 || width < 2)
      return std::nullopt;
    found = row;
  }
  return found;
}

static LogicalResult markPadding(Operation *node) {
  std::optional<int64_t> index = getStatedPadding(node);
  Value table = node->getOperand(0);
  auto type = dyn_cast<RankedTensorType>(table.getType());
  if (!index) {
    // Exporters that know of no padding say so.
    bool isUnsaid = isTorchExport(node) && !getFxNode(node) &&
                    !getNodeMetadata(node, paddingIndexKey);
    index = isUnsaid ? findZeroRow(table.getDefiningOp()) : std::nullopt;
    if (!index)
      return success();
    node->emitWarning() << describe(node) << ": row " << *index << " of '"
                        << onnxir::getValueName(table)
                        << "' is zero, as torch leaves that of padding, and "
                        << "gets no gradient";
  }
  bool isOpen = !type || type.getRank() < 1 || type.isDynamicDim(0);
  if (*index < 0 || (!isOpen && *index >= type.getDimSize(0)))
    return node->emitError()
           << describe(node) << ": its metadata name row " << *index
           << " as padding, expected one of the table '"
           << onnxir::getValueName(table) << "', which is " << table.getType();
  node->setAttr(mark::paddingIndex,
                Builder(node->getContext()).getI64IntegerAttr(*index));
  return success();
}

LogicalResult markPadding(GraphOp graph) {
  WalkResult result = graph.walk([&](Operation *op) {
    bool isLookup = isNode(op) && isStandardOp(op, "Gather") &&
                    op->getNumOperands() == 2 && getInt(op, "axis", 0) == 0;
    return isLookup && failed(markPadding(op)) ? WalkResult::interrupt()
                                               : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace mp
