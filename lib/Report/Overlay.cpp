//===- Overlay.cpp - Node data for Model Explorer -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes Model Explorer's form of custom node data: per graph, `results` maps a
// node's id to a value and a colour, and `thresholds` are the upper bounds of
// colours. Its ONNX adapter shows each graph and subgraph under its name, and
// nodes under their names, or else that of their first output. The value is the
// node's width in bits. Nodes whose errors have been attributed also have
// these, for other readers.
//
//===----------------------------------------------------------------------===//

#include "ErrorForms.h"

#include "mp-opt/Report/ReportForms.h"

#include <map>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static constexpr StringLiteral otherColor = "#e0e0e0", lowColor = "#a5d6a7",
                               f32Color = "#ffcc80", castColor = "#ef9a9a";

/// The ONNX name of the graph that holds the node.
static std::string getGraphName(Operation *op) {
  YieldOp yield = getYield(*op->getParentRegion());
  auto graph = yield ? yield->getAttrOfType<DictionaryAttr>(attr::graph)
                     : DictionaryAttr();
  auto name = graph ? graph.getAs<StringAttr>("name") : StringAttr();
  return name && !name.getValue().empty() ? name.getValue().str() : "<main>";
}

static void writeNode(llvm::json::OStream &json, const ReportNode &node) {
  bool isLow = node.state == ReportNode::Low;
  bool isF32 = node.state == ReportNode::F32;
  StringRef color = node.isInsertedCast ? castColor
                    : isLow             ? lowColor
                    : isF32             ? f32Color
                                        : otherColor;
  json.attribute("value", isLow ? 16 : isF32 ? 32 : 0);
  json.attribute("bgColor", color);
  if (!node.error)
    return;
  json.attribute("error", errorToJSON(node.error->predicted));
  json.attribute("error_share", errorToJSON(node.error->share));
}

void printOverlay(const PrecisionReport &report, raw_ostream &os) {
  // A key may occur only once in an object; it belongs to the first node.
  std::map<std::string, std::map<std::string, const ReportNode *>> graphs;
  for (const ReportNode &node : report.nodes)
    graphs[llvm::json::fixUTF8(getGraphName(node.op))].try_emplace(
        llvm::json::fixUTF8(node.getDisplayName()), &node);
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    for (const auto &[graph, nodes] : graphs)
      json.attributeObject(graph, [&, &nodes = nodes] {
        json.attributeObject("results", [&] {
          for (const auto &[name, node] : nodes)
            json.attributeObject(name,
                                 [&, node = node] { writeNode(json, *node); });
        });
        json.attributeArray("thresholds", [&] {
          for (auto [value, color] :
               {std::pair(0, otherColor), std::pair(16, lowColor),
                std::pair(32, f32Color)})
            json.object([&, value = value, color = color] {
              json.attribute("value", value);
              json.attribute("bgColor", color);
            });
        });
      });
  });
  os << "\n";
}

} // namespace mp
