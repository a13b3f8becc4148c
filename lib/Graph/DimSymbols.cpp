//===- DimSymbols.cpp - Names of unknown sizes ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/DimSymbols.h"

#include "mp-opt/Graph/SizeNames.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool isSizeName(StringRef name) {
  // Characters beyond ASCII count as letters.
  return name != "None" && llvm::any_of(name, [](char letter) {
           return llvm::isAlpha(letter) || letter == '_' ||
                  static_cast<unsigned char>(letter) > 0x7f;
         });
}

/// The dictionary `name` in `fields`; null if there is none.
static DictionaryAttr getFields(DictionaryAttr fields, StringRef name) {
  return fields ? fields.getAs<DictionaryAttr>(name) : DictionaryAttr();
}

void DimSymbols::describe(ArrayAttr list) {
  if (!list)
    return;
  for (Attribute entry : list) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    auto name = fields ? fields.getAs<StringAttr>("name") : StringAttr();
    DictionaryAttr shape =
        getFields(getFields(getFields(fields, "type"), "tensor_type"), "shape");
    auto dims = shape ? shape.getAs<ArrayAttr>("dim") : ArrayAttr();
    if (!name || !dims)
      continue;
    SmallVector<unsigned> &found = described[name.getValue()];
    found.clear();
    for (Attribute dim : dims) {
      auto size = dyn_cast<DictionaryAttr>(dim);
      auto symbol = size ? size.getAs<StringAttr>("dim_param") : StringAttr();
      unsigned number = 0;
      if (symbol && isSizeName(symbol.getValue())) {
        unsigned &known = numbers[symbol.getValue()];
        number = known = known ? known : ++last;
      }
      found.push_back(number);
    }
  }
}

void DimSymbols::add(Value value, ArrayRef<unsigned> inferred) {
  symbols.erase(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.hasStaticShape())
    return;
  ArrayRef<unsigned> stated;
  if (auto it = described.find(onnxir::getValueName(value));
      it != described.end())
    stated = it->second;
  size_t rank = type.getRank();
  SmallVector<unsigned> &names = symbols[value];
  for (size_t axis = 0; axis < rank; ++axis) {
    unsigned name = inferred.size() == rank ? inferred[axis] : 0;
    if (!name && stated.size() == rank)
      name = stated[axis];
    if (!name && type.isDynamicDim(axis))
      name = ++last;
    names.push_back(name);
  }
}

DimSymbols::DimSymbols(Block &block, NodeTypes &types) {
  if (!block.empty())
    if (auto yield = dyn_cast<YieldOp>(block.back()))
      // Size names of outputs are not read: exporters often guess them.
      for (StringRef list : {attr::valueInfo, attr::inputs})
        describe(yield->getAttrOfType<ArrayAttr>(list));
  for (BlockArgument argument : block.getArguments())
    add(argument, {});
  for (Operation &op : block)
    if (isNode(&op))
      visit(&op, types);
}

void DimSymbols::visit(Operation *node, NodeTypes &types) {
  SmallVector<ArrayRef<unsigned>> operands;
  for (Value operand : node->getOperands()) {
    auto it = symbols.find(operand);
    operands.push_back(it == symbols.end() ? ArrayRef<unsigned>()
                                           : ArrayRef<unsigned>(it->second));
  }
  // Read the names of all operands before adding any of a result.
  NodeTypes::Symbols inferred = types.inferSymbols(node, operands);
  for (auto [result, names] : llvm::zip(node->getResults(), inferred))
    add(result, names);
}

void DimSymbols::forget(Operation *node) {
  for (Value result : node->getResults())
    symbols.erase(result);
}

void DimSymbols::copy(Value value, Value like) {
  if (auto it = symbols.find(like); it != symbols.end()) {
    SmallVector<unsigned> names = it->second;
    symbols[value] = names;
  }
}

StringRef DimSymbols::getName(Value value, int64_t axis) const {
  auto it = symbols.find(value);
  if (it == symbols.end() || axis >= int64_t(it->second.size()))
    return "";
  for (const auto &entry : numbers)
    if (entry.getValue() == it->second[axis])
      return entry.getKey();
  return "";
}

bool DimSymbols::areSame(Value a, int64_t axisOfA, Value b,
                         int64_t axisOfB) const {
  auto first = symbols.find(a), second = symbols.find(b);
  return first != symbols.end() && second != symbols.end() &&
         axisOfA < int64_t(first->second.size()) &&
         axisOfB < int64_t(second->second.size()) && first->second[axisOfA] &&
         first->second[axisOfA] == second->second[axisOfB];
}

} // namespace mp
