//===- Annotate.cpp - Precision and reason in node metadata ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes have metadata since IR version 10. A model of an older version keeps
// its number: older readers skip the field, newer ones show it, and a greater
// number would only exclude the older ones.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/ReportForms.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static constexpr StringLiteral field = "metadata_props";
static constexpr StringLiteral precisionKey = "mp-opt.precision";
static constexpr StringLiteral reasonKey = "mp-opt.reason";
static constexpr StringLiteral insertedKey = "mp-opt.inserted";

namespace {

/// The metadata of one node.
class Metadata {
public:
  explicit Metadata(Operation *op) : op(op) {
    extra = NamedAttrList(op->getAttrOfType<DictionaryAttr>(attr::extra));
    if (auto list = dyn_cast_or_null<ArrayAttr>(extra.get(field)))
      entries.assign(list.begin(), list.end());
  }

  std::optional<StringRef> get(StringRef key) const {
    for (Attribute entry : entries)
      if (getText(entry, "key") == key)
        return getText(entry, "value");
    return std::nullopt;
  }

  void set(StringRef key, StringRef text) {
    Builder builder(op->getContext());
    // Protobuf's strings must be UTF-8, but names in a reason need not be.
    std::string value = llvm::json::fixUTF8(text);
    Attribute entry = builder.getDictionaryAttr(
        {builder.getNamedAttr("key", builder.getStringAttr(key)),
         builder.getNamedAttr("value", builder.getStringAttr(value))});
    auto it = llvm::find_if(
        entries, [&](Attribute old) { return getText(old, "key") == key; });
    if (it == entries.end())
      entries.push_back(entry);
    else
      *it = entry;
  }

  void write() {
    extra.set(field, ArrayAttr::get(op->getContext(), entries));
    op->setAttr(attr::extra, extra.getDictionary(op->getContext()));
  }

private:
  static StringRef getText(Attribute entry, StringRef name) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    auto text = fields ? fields.getAs<StringAttr>(name) : StringAttr();
    return text ? text.getValue() : StringRef();
  }

  Operation *op;
  NamedAttrList extra;
  SmallVector<Attribute> entries;
};

} // namespace

void annotateNodes(const PrecisionReport &report) {
  for (const ReportNode &node : report.nodes) {
    bool isDecided = node.state != ReportNode::Other;
    // Calls share functions; metadata of one call would separate it from the
    // others.
    if ((!node.isInsertedCast && !isDecided) ||
        node.op->getParentOfType<FunctionOp>())
      continue;
    Metadata metadata(node.op);
    if (node.isInsertedCast) {
      metadata.set(insertedKey, report.getCastReason(node));
      metadata.write();
      continue;
    }
    StringRef precision =
        node.state == ReportNode::F32 ? "fp32" : StringRef(report.precision);
    if (metadata.get(insertedKey) || metadata.get(precisionKey) == precision)
      continue;
    std::string reason = (node.opClass + ", " + node.classReason).str();
    if (!node.because.empty() && node.because != node.classReason)
      reason += "; " + node.because.str();
    metadata.set(precisionKey, precision);
    metadata.set(reasonKey, reason);
    metadata.write();
  }
}

} // namespace mp
