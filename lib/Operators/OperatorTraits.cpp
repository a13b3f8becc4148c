//===- OperatorTraits.cpp - Facts about operators -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/OperatorTraits.h"

#include "OperatorTable.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static bool hasBit(uint32_t bits, unsigned index) {
  return bits >> std::min(index, 31u) & 1;
}

bool OperatorTraits::hasRole(OperandRole role, unsigned index) const {
  return hasBit(roles[unsigned(role)], index);
}

bool OperatorTraits::keepsType(unsigned index) const {
  return hasBit(getKeptTypes(), index);
}

static constexpr OperatorTraits opaque;

static const OperatorDomain *findDomain(StringRef name) {
  if (name.empty())
    return &getStandardOperators();
  for (const OperatorDomain &domain : getExtensionOperators())
    if (domain.name == name)
      return &domain;
  return nullptr;
}

const OperatorTraits &getOperatorTraits(StringRef domain, StringRef opType) {
  const OperatorDomain *found = findDomain(domain);
  if (!found)
    return opaque;
  const OperatorRow *row = llvm::lower_bound(
      found->rows, opType, [](const OperatorRow &entry, StringRef name) {
        return StringRef(entry.name) < name;
      });
  return row != found->rows.end() && row->name == opType ? row->traits : opaque;
}

void forEachOperator(
    llvm::function_ref<void(StringRef, StringRef, const OperatorTraits &)>
        visit) {
  auto visitDomain = [&](const OperatorDomain &domain) {
    for (const OperatorRow &row : domain.rows)
      visit(domain.name, row.name, row.traits);
  };
  visitDomain(getStandardOperators());
  llvm::for_each(getExtensionOperators(), visitDomain);
}

const OperatorTraits &getOperatorTraits(Operation *op) {
  if (!isNode(op) || isa<CustomOp>(op))
    return opaque;
  return getOperatorTraits(getDomain(op), getOpType(op));
}

} // namespace mp
