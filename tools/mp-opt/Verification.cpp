//===- Verification.cpp - Running what is about to be written -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "mp-opt/API/ReferenceComparison.h"
#include "mp-opt/Graph/ValueSizes.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace mp {

namespace {
/// What a mixed model may differ by from float64.
struct Bounds {
  /// Of the root mean square error, relative to the values' own, and of the
  /// cosine's distance from 1.
  double relative, cosine;
};
} // namespace

/// What torch allows its tests, and the cosines of whole models that training
/// has been seen to stand.
static Bounds getBounds(const Options &options) {
  bool isHalf =
      options.mixed && options.mixed->policy.get().precision == "fp16";
  Bounds bounds = isHalf ? Bounds{1e-3, 1e-4} : Bounds{1.6e-2, 1e-3};
  if (options.verifyTolerance)
    bounds.relative = *options.verifyTolerance;
  return bounds;
}

static bool isOutside(const OutputDifference &output, const Bounds &bounds) {
  const Difference &numbers = output.numbers;
  // Where all is zero there is nothing to be relative to.
  double allowed = bounds.relative * numbers.rms + 1e-30;
  return numbers.specials || !(numbers.rmse <= allowed) ||
         !(1 - numbers.cosine <= bounds.cosine);
}

static ComparedModel makeModel(StringRef title, ModuleOp module,
                               StringRef name) {
  return {title.str(), [module, name] { return Model::copy(module, name); }};
}

int verifyResult(ModuleOp input, ModuleOp result, const Options &options,
                 StringRef name, TimingScope &timing) {
  auto fail = [&](llvm::Error error) {
    llvm::errs() << name << ": error: --verify: " << toString(std::move(error))
                 << "\n";
    return exitBadInput;
  };
  ReferenceComparisonOptions comparing;
  DataSet data;
  if (options.verifyData.empty()) {
    comparing.seed = 0;
  } else {
    auto read = readDataSet(options.verifyData);
    if (!read)
      return fail(read.takeError());
    data = std::move(*read);
  }
  CodeCache cache(options.cache, "mp-opt");
  comparing.compile.cache = &cache;
  comparing.compile.title = "mp-opt";
  comparing.compile.timing = &timing;
  if (llvm::Error failed =
          parseDimensions(options.verifyDims, comparing.compile.dims))
    return fail(std::move(failed));
  ReferenceComparison comparison(comparing, makeModel("the input", input, name),
                                 std::move(data));
  comparison.add(makeModel("the result", result, name));
  if (llvm::Error failed = comparison.run())
    return reportError("", std::move(failed));
  comparison.print(llvm::errs());
  Bounds bounds = getBounds(options);
  bool isOk = true;
  for (const OutputDifference &output :
       comparison.getModels().front().differences)
    if (isOutside(output, bounds)) {
      llvm::errs() << name << ": error: output '" << output.name
                   << "' is not what the input computes in float64: expected a "
                      "root mean square error of at most "
                   << bounds.relative * output.numbers.rms
                   << " and a cosine of at least " << 1 - bounds.cosine << "\n";
      isOk = false;
    }
  return isOk ? exitOk : exitOutside;
}

} // namespace mp
