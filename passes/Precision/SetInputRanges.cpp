//===- SetInputRanges.cpp - Store ranges that the user states -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Support/Nearest.h"

#include <cmath>

namespace mp {
#define GEN_PASS_DEF_SETINPUTRANGES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct SetInputRanges : public mp::impl::SetInputRangesBase<SetInputRanges> {
  using SetInputRangesBase::SetInputRangesBase;

  void runOnOperation() override;

private:
  FailureOr<NamedAttribute> parse(StringRef text, GraphOp graph);
};

} // namespace

static bool parseBound(StringRef text, double &to) {
  return !text.trim().getAsDouble(to) && std::isfinite(to);
}

FailureOr<NamedAttribute> SetInputRanges::parse(StringRef text, GraphOp graph) {
  InFlightDiagnostic error = getOperation().emitError();
  error << "--input-range=" << text << ": ";
  auto [name, bounds] = text.rsplit(':');
  auto [low, high] = bounds.split("..");
  double least = 0, greatest = 0;
  if (name.empty() || !parseBound(low, least) || !parseBound(high, greatest))
    return error << "expected NAME:LOW..HIGH with two numbers, such as "
                    "image:0..255";
  if (least > greatest)
    return error << "expected the smaller number first, found " << low << ".."
                 << high;
  SmallVector<StringRef> names;
  BlockArgument input;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    names.push_back(getValueName(argument));
    if (names.back() == name)
      input = argument;
  }
  if (!input)
    return error << "the model has no input '" << name << "'"
                 << suggestNearest(name, names);
  Type element = getTensorElementType(input.getType());
  if (!element || !isa<FloatType>(element))
    return error << "expected a float input, '" << name << "' is "
                 << input.getType();
  error.abandon();
  Builder builder(&getContext());
  return builder.getNamedAttr(name,
                              builder.getDenseF64ArrayAttr({least, greatest}));
}

void SetInputRanges::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  NamedAttrList stated;
  for (StringRef text : ranges) {
    // Braces protect commas in pipelines that are printed.
    if (text.starts_with("{") && text.ends_with("}"))
      text = text.drop_front().drop_back();
    FailureOr<NamedAttribute> entry = parse(text, graph);
    if (failed(entry))
      return signalPassFailure();
    if (stated.get(entry->getName())) {
      getOperation().emitError()
          << "--input-range=" << text << ": the input has a range already";
      return signalPassFailure();
    }
    stated.push_back(*entry);
  }
  graph->setAttr(mark::inputRanges, stated.getDictionary(&getContext()));
}
