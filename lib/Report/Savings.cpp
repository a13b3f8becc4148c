//===- Savings.cpp - Savings by more 16-bit operators ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/PrecisionReport.h"

#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Policy/Policy.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The roots that determine the precision of free nodes.
static std::vector<int> findRoots(ArrayRef<ReportNode> nodes) {
  std::vector<int> roots(nodes.size(), noIndex);
  std::vector<char> isKnown(nodes.size(), 0);
  SmallVector<unsigned> path;
  for (unsigned node = 0; node < nodes.size(); ++node) {
    unsigned at = node;
    while (!isKnown[at] && nodes[at].isFree && nodes[at].causeNode != noIndex) {
      path.push_back(at);
      at = nodes[at].causeNode;
    }
    if (!isKnown[at]) {
      roots[at] = nodes[at].isFree ? noIndex : int(at);
      isKnown[at] = 1;
    }
    for (unsigned step : path) {
      roots[step] = roots[at];
      isKnown[step] = 1;
    }
    path.clear();
  }
  return roots;
}

/// The bytes that `node` would save in 16 bit: half its fp32 results, and its
/// share of the casts around it.
static uint64_t getSavedBytes(const PrecisionReport &report,
                              const ReportNode &node) {
  uint64_t bytes = 0;
  auto add = [&](uint64_t more) { bytes = llvm::SaturatingAdd(bytes, more); };
  for (unsigned result : node.results) {
    const ReportValue &value = report.values[result];
    if (isF32Tensor(value.type))
      add(value.size.bytes / 2);
    for (unsigned user : value.users)
      if (report.nodes[user].isInsertedCast)
        add(report.getMovedBytes(report.nodes[user]));
  }
  for (int operand : node.operands) {
    int source = operand == noIndex ? noIndex : report.values[operand].source;
    if (source != noIndex && report.nodes[source].isInsertedCast)
      add(report.getMovedBytes(report.nodes[source]) /
          report.values[operand].users.size());
  }
  return bytes;
}

std::vector<Saving> PrecisionReport::getSavings(size_t limit) const {
  std::vector<int> roots = findRoots(nodes);
  llvm::StringMap<unsigned> indices;
  std::vector<Saving> savings;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    if (node.state != ReportNode::F32 || roots[index] == noIndex)
      continue;
    const ReportNode &root = nodes[roots[index]];
    // Nodes that are denied for safety are not offered.
    if (root.opClass != stringifyOpClass(OpClass::Deny) ||
        !root.hazard.empty() || root.isShape || root.op->getNumRegions() ||
        isConstant(root.op) || !(root.isAdmitted || root.firstOpset))
      continue;
    std::string op = getQualifiedName(root.domain, root.opType);
    auto [it, isNew] = indices.try_emplace(op, savings.size());
    if (isNew) {
      savings.emplace_back();
      savings.back().op = op;
    }
    Saving &saving = savings[it->second];
    ++(node.isFree ? saving.following : saving.nodes);
    saving.bytes =
        llvm::SaturatingAdd(saving.bytes, getSavedBytes(*this, node));
    if (!root.isAdmitted)
      saving.opset = std::max(saving.opset, root.firstOpset);
  }
  llvm::stable_sort(savings, [](const Saving &lhs, const Saving &rhs) {
    return lhs.bytes > rhs.bytes;
  });
  if (savings.size() > limit)
    savings.resize(limit);
  return savings;
}

} // namespace mp
