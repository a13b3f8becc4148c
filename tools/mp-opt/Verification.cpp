//===- Verification.cpp - Running what is about to be written -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "Comparer.h"

#include "mp-opt/Data/Convert.h"
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

static Candidate makeCandidate(StringRef title, ModuleOp module,
                               StringRef name) {
  Candidate candidate;
  candidate.title = title.str();
  candidate.load = [module, name](std::unique_ptr<Model> &model) {
    model = std::make_unique<Model>(module, name);
    return int(exitOk);
  };
  return candidate;
}

int verifyResult(ModuleOp input, ModuleOp result, const Options &options,
                 StringRef name, TimingScope &timing) {
  auto fail = [&](llvm::Error error) {
    llvm::errs() << name << ": error: --verify: " << toString(std::move(error))
                 << "\n";
    return exitBadInput;
  };
  DataFlags flags;
  if (options.verifyData.empty())
    flags.random = "0";
  llvm::Expected<DataSet> data = flags.read(options.verifyData);
  if (!data)
    return fail(data.takeError());
  CodeCache cache(options.cache, "mp-opt");
  Comparer::Options comparing;
  comparing.compile.cache = &cache;
  comparing.compile.title = "mp-opt";
  comparing.compile.timing = &timing;
  if (llvm::Error failed =
          parseDimensions(options.verifyDims, comparing.compile.dims))
    return fail(std::move(failed));
  Comparer comparer(comparing, makeCandidate("the input", input, name),
                    std::move(*data), flags);
  comparer.add(makeCandidate("the result", result, name));
  if (int code = comparer.run())
    return code;
  comparer.print(llvm::errs());
  Bounds bounds = getBounds(options);
  bool isOk = true;
  for (const OutputDifference &output :
       comparer.getCandidates().front().differences)
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
