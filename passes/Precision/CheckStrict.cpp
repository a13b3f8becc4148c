//===- CheckStrict.cpp - 16 bit where the user asked for it ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/PolicyOptions.h"

namespace mp {
#define GEN_PASS_DEF_CHECKSTRICT
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct CheckStrict : public mp::impl::CheckStrictBase<CheckStrict> {
  using CheckStrictBase::CheckStrictBase;

  void runOnOperation() override;

private:
  bool isStrict();
};

} // namespace

bool CheckStrict::isStrict() {
  auto options = getOperation()->getAttrOfType<DictionaryAttr>(mark::options);
  auto strict = options ? options.getAs<BoolAttr>("strict") : BoolAttr();
  return strict && strict.getValue();
}

/// What stands against the user's wish for 16 bit; null if nothing does, or
/// nobody wished.
static StringAttr getRefusal(Operation *node) {
  if (auto refused = node->getAttrOfType<StringAttr>(mark::refused))
    return refused;
  auto opClass = node->getAttrOfType<StringAttr>(mark::opClass);
  auto type = node->getAttrOfType<TypeAttr>(mark::precision);
  if (!opClass || opClass.getValue() != stringifyOpClass(OpClass::Allow) ||
      !type || !type.getValue().isF32() || !node->hasAttr(mark::asked))
    return {};
  return node->getAttrOfType<StringAttr>(mark::because);
}

void CheckStrict::runOnOperation() {
  ModuleOp module = getOperation();
  if (!isStrict())
    return;
  SmallVector<std::pair<Operation *, StringAttr>> refusals;
  for (Operation *scope : getScopes(module))
    scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (StringAttr reason = getRefusal(op))
        refusals.emplace_back(op, reason);
    });
  if (refusals.empty())
    return;
  auto low = module->getAttrOfType<TypeAttr>(mark::low);
  InFlightDiagnostic diag =
      module.emitError() << refusals.size()
                         << (refusals.size() == 1 ? " node" : " nodes")
                         << " cannot run in "
                         << (low ? getPrecisionName(low.getValue()) : "16 bit")
                         << " as asked";
  for (auto [node, reason] : refusals) {
    auto place = node->getAttrOfType<StringAttr>(mark::asked);
    diag.attachNote(node->getLoc())
        << describe(node) << ": " << reason.getValue() << "; asked "
        << describePlace(place ? place.getValue() : StringRef("--allow"));
  }
  signalPassFailure();
}
