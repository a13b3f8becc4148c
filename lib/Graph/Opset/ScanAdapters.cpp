//===- ScanAdapters.cpp - Scan over a batch -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adapters.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static std::string getScanObstacle(Operation *node, int) {
  if (hasOperand(node, 0))
    return "input 'sequence_lens' is gone";
  if (!isReadable(node, "num_scan_inputs") || !isReadable(node, "directions"))
    return "attribute 'num_scan_inputs' or 'directions' has no value";
  int64_t scanned = getInt(node, "num_scan_inputs", 0);
  int64_t states = int64_t(node->getNumOperands()) - 1 - scanned;
  return scanned < 0 || states < 0 || node->getNumRegions() != 1 ||
                 states > int64_t(node->getNumResults())
             ? "it has fewer inputs than attribute 'num_scan_inputs' says"
             : "";
}

/// The type of one element of a batch.
static Type dropBatch(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0)
    return type;
  return RankedTensorType::get(tensor.getShape().drop_front(),
                               tensor.getElementType());
}

namespace {

/// Scan-8 runs over axis 1 for each element of axis 0; newer versions run over
/// axis 0, once. The adapter nests one Scan in another.
class BatchScan {
public:
  explicit BatchScan(NodeEditor &editor, UniqueNames &names)
      : editor(editor), names(names) {}
  void build();

private:
  Attribute describe(Value value, StringRef base,
                     SmallVectorImpl<Attribute> &into);

  NodeEditor &editor;
  UniqueNames &names;
};

} // namespace

Attribute BatchScan::describe(Value value, StringRef base,
                              SmallVectorImpl<Attribute> &into) {
  OpBuilder &builder = editor.getBuilder();
  auto name = builder.getStringAttr(names.getValueName(base));
  into.push_back(builder.getDictionaryAttr(builder.getNamedAttr("name", name)));
  return name;
}

void BatchScan::build() {
  Operation *node = editor.getNode();
  OpBuilder &builder = editor.getBuilder();
  Location loc = node->getLoc();
  std::string base = getNodeName(node).str();
  if (base.empty() && node->getNumResults())
    base = onnxir::getValueName(node->getResult(0)).str();
  base += "_element";

  // The inner node has the body, and runs on the elements of a batch.
  auto body = std::make_unique<Region>();
  Block *block = &body->emplaceBlock();
  SmallVector<Attribute> inputs, outputs, results;
  for (Value operand : llvm::drop_begin(node->getOperands())) {
    block->addArgument(dropBatch(operand.getType()), loc);
    describe(operand, base, inputs);
  }
  OperationState state(loc, node->getName());
  state.addOperands(block->getArguments());
  for (Type type : node->getResultTypes())
    state.addTypes(dropBatch(type));
  for (OpResult result : node->getResults())
    results.push_back(describe(result, base, outputs));
  NamedAttrList attributes(node->getAttrDictionary());
  if (Attribute directions = attributes.erase("directions"))
    attributes.set("scan_input_directions", directions);
  attributes.erase(attr::order);
  attributes.set(attr::results, builder.getArrayAttr(results));
  attributes.set(attr::name, builder.getStringAttr(names.getNodeName(base)));
  state.addAttributes(attributes);
  state.addRegion()->takeBody(node->getRegion(0));
  OpBuilder inside(node->getContext());
  inside.setInsertionPointToEnd(block);
  Operation *inner = inside.create(state);
  auto yield = YieldOp::create(inside, loc, inner->getResults());
  yield->setAttr(attr::inputs, builder.getArrayAttr(inputs));
  yield->setAttr(attr::outputs, builder.getArrayAttr(outputs));
  yield->setAttr(attr::graph, builder.getDictionaryAttr(builder.getNamedAttr(
                                  "name", builder.getStringAttr(base))));

  // The outer node scans everything, and has no states.
  editor.eraseOperand(0);
  node->getRegion(0).takeBody(*body);
  node->removeAttr("directions");
  editor.setInt("num_scan_inputs", node->getNumOperands());
}

static void raiseScan(NodeEditor &editor) {
  BatchScan(editor, editor.getNames()).build();
}

ArrayRef<OpsetAdapter> getScanAdapters() {
  static constexpr OpsetAdapter adapters[] = {
      {"Scan", 9, getScanObstacle, raiseScan},
  };
  return adapters;
}

} // namespace mp
