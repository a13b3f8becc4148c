//===- ReferencePrinting.cpp - Prints comparisons -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/ReferenceComparison.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Support/ShownText.h"

using namespace llvm;

namespace mp {

/// Prints errors relative to the values' root mean squares.
static void printNodes(ArrayRef<NodeError> nodes, raw_ostream &os) {
  constexpr size_t column = 12;
  bool isTried = llvm::any_of(
      nodes, [](const NodeError &node) { return node.atOutputs.has_value(); });
  StringRef title = isTried ? "nodes that add most to the outputs"
                            : "nodes that add most to their operands' errors";
  size_t width = title.size();
  for (const NodeError &node : nodes)
    width = std::max(width, escapeText(node.node).size());
  os << "\n" << pad(title, width);
  if (isTried)
    os << padLeft("alone", column);
  os << padLeft("added", column) << padLeft("error", column) << "\n";
  for (const NodeError &node : nodes) {
    os << pad(escapeText(node.node), width);
    if (isTried)
      os << padLeft(node.atOutputs ? formatPercent(*node.atOutputs) : "-",
                    column);
    os << padLeft(formatPercent(node.added), column)
       << padLeft(formatPercent(node.error), column) << "\n";
  }
}

/// Prints one section per model, with a title that identifies the model.
void ReferenceComparison::print(raw_ostream &os) const {
  for (auto [index, model] : llvm::enumerate(models)) {
    os << (index ? "\n" : "") << "== " << escapeText(model.title)
       << ", against " << escapeText(reference.title) << " in float64 ==\n";
    printDifferences(model.differences, os);
    if (!model.nodes.empty())
      printNodes(model.nodes, os);
    if (model.unexplained)
      os << "\nfirst that rounding does not explain: "
         << escapeText(model.unexplained->describe()) << "\n";
    if (model.discrete)
      os << "\nfirst that is decided otherwise: "
         << escapeText(model.discrete->describe()) << "\n";
  }
}

void ReferenceComparison::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("reference", json::fixUTF8(reference.title));
    json.attributeArray("models", [&] {
      for (const ComparedModel &model : models)
        json.object([&] {
          json.attribute("model", json::fixUTF8(model.title));
          json.attributeArray("outputs", [&] {
            for (const OutputDifference &difference : model.differences)
              mp::printJSON(difference, json);
          });
          if (model.unexplained)
            json.attribute("unexplained",
                           json::fixUTF8(model.unexplained->describe()));
          if (model.discrete)
            json.attribute("other_integers",
                           json::fixUTF8(model.discrete->describe()));
          json.attributeArray("nodes", [&] {
            for (const NodeError &node : model.nodes)
              json.object([&] {
                json.attribute("node", json::fixUTF8(node.node));
                json.attribute("value", json::fixUTF8(node.value));
                json.attribute("error", toJSON(node.error));
                json.attribute("added", toJSON(node.added));
                if (node.atOutputs)
                  json.attribute("to_outputs", toJSON(*node.atOutputs));
              });
          });
        });
    });
  });
  os << "\n";
}

} // namespace mp
