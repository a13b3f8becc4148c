//===- Summary.cpp - The table at the end of a run ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Summary.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/Support/Format.h"

using namespace mlir;

namespace mp {

uint64_t countWeightBytes(ModuleOp module) {
  uint64_t total = 0;
  auto add = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return;
    Type element = tensor.getElementType();
    if (element.isIntOrFloat())
      total +=
          llvm::divideCeil(uint64_t(tensor.getNumElements()) *
                               std::max(8u, element.getIntOrFloatBitWidth()),
                           8);
  };
  module.walk([&](Operation *op) {
    if (auto initializer = dyn_cast<onnxir::InitializerOp>(op))
      add(initializer.getType());
    else if (onnxir::isStandardOp(op, "Constant"))
      add(op->getResult(0).getType());
  });
  return total;
}

std::optional<Summary> takeSummary(ModuleOp module) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(
      module->removeDiscardableAttr("mp.summary"));
  if (!fields)
    return std::nullopt;
  auto number = [&](StringRef key) -> int64_t {
    auto value = fields.getAs<IntegerAttr>(key);
    return value ? value.getInt() : 0;
  };
  Summary summary;
  if (auto precision = fields.getAs<StringAttr>("precision"))
    summary.precision = precision.str();
  summary.low = number("nodes_low");
  summary.f32 = number("nodes_f32");
  summary.other = number("nodes_other");
  summary.castsInserted = number("casts_inserted");
  summary.castsRemoved = number("casts_removed");
  summary.elementsToZero = number("elements_to_zero");
  summary.masksClamped = number("masks_clamped");
  return summary;
}

void Summary::print(raw_ostream &os, uint64_t bytesBefore,
                    uint64_t bytesAfter) const {
  auto row = [&](StringRef name, int64_t value) {
    os << llvm::format("  %-28s %12lld\n", name.str().c_str(),
                       static_cast<long long>(value));
  };
  os << "mixed precision (" << precision << ")\n";
  row(("nodes in " + precision), low);
  row("nodes in fp32", f32);
  row("other nodes", other);
  row("casts inserted", castsInserted);
  row("casts removed again", castsRemoved);
  os << llvm::format("  %-28s %12llu -> %llu\n", "bytes of weights",
                     static_cast<unsigned long long>(bytesBefore),
                     static_cast<unsigned long long>(bytesAfter));
  if (elementsToZero)
    row("weights rounded to zero", elementsToZero);
  if (masksClamped)
    row("mask constants clamped", masksClamped);
}

} // namespace mp
