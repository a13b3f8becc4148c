//===- ParameterTable.cpp - Table of trained parameters -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/ParameterTable.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mp {

namespace {

struct TextField {
  StringLiteral key;
  std::string ParameterRecord::*member;
};
struct CountField {
  StringLiteral key;
  int64_t ParameterRecord::*member;
};

} // namespace

static constexpr TextField textFields[] = {
    {"name", &ParameterRecord::name},
    {"role", &ParameterRecord::role},
    {"state", &ParameterRecord::state},
    {"reason", &ParameterRecord::reason},
    {"note", &ParameterRecord::note},
    {"type", &ParameterRecord::type},
    {"split_from", &ParameterRecord::splitFrom},
};
static constexpr CountField countFields[] = {
    {"elements", &ParameterRecord::elements},
    {"bytes", &ParameterRecord::bytes},
};
static constexpr StringLiteral sharersKey = "shared_by";

void setParameterTable(ModuleOp module,
                       const std::vector<ParameterRecord> &records) {
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  for (const ParameterRecord &record : records) {
    NamedAttrList fields;
    for (const TextField &field : textFields)
      if (const std::string &text = record.*field.member; !text.empty())
        fields.append(field.key, builder.getStringAttr(text));
    for (const CountField &field : countFields)
      fields.append(field.key, builder.getI64IntegerAttr(record.*field.member));
    if (record.sharers.size() > 1)
      fields.append(sharersKey,
                    builder.getStrArrayAttr(
                        llvm::to_vector_of<StringRef>(record.sharers)));
    entries.push_back(fields.getDictionary(module.getContext()));
  }
  module->setAttr(mark::parameters, builder.getArrayAttr(entries));
}

std::vector<ParameterRecord> getParameterTable(ModuleOp module) {
  std::vector<ParameterRecord> records;
  auto entries = module->getAttrOfType<ArrayAttr>(mark::parameters);
  if (!entries)
    return records;
  for (Attribute entry : entries) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    if (!fields)
      continue;
    ParameterRecord record;
    for (const TextField &field : textFields)
      if (auto text = fields.getAs<StringAttr>(field.key))
        record.*field.member = text.str();
    for (const CountField &field : countFields)
      if (auto count = fields.getAs<IntegerAttr>(field.key))
        record.*field.member = count.getInt();
    if (auto sharers = fields.getAs<ArrayAttr>(sharersKey))
      for (auto name : sharers.getAsRange<StringAttr>())
        record.sharers.push_back(name.str());
    records.push_back(std::move(record));
  }
  return records;
}

} // namespace mp
