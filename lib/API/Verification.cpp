//===- Verification.cpp - Running what is about to be written -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Verification.h"

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
static Bounds getBounds(const VerificationOptions &options) {
  Bounds bounds = options.isHalf ? Bounds{1e-3, 1e-4} : Bounds{1.6e-2, 1e-3};
  if (options.tolerance)
    bounds.relative = *options.tolerance;
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

llvm::Expected<std::vector<OutsideOutput>>
verifyResult(ModuleOp input, ModuleOp result,
             const VerificationOptions &options, StringRef name,
             TimingScope &timing, raw_ostream &table) {
  ReferenceComparisonOptions comparing;
  DataSet data;
  if (options.data.empty()) {
    comparing.seed = 0;
  } else {
    auto read = readDataSet(options.data);
    if (!read)
      return read.takeError();
    data = std::move(*read);
  }
  CodeCache cache(options.cache, options.title);
  comparing.compile.cache = &cache;
  comparing.compile.title = options.title;
  comparing.compile.timing = &timing;
  if (llvm::Error failed =
          parseDimensions(options.dims, comparing.compile.dims))
    return std::move(failed);
  ReferenceComparison comparison(comparing, makeModel("the input", input, name),
                                 std::move(data));
  comparison.add(makeModel("the result", result, name));
  if (llvm::Error failed = comparison.run())
    return std::move(failed);
  comparison.print(table);
  Bounds bounds = getBounds(options);
  std::vector<OutsideOutput> outside;
  for (const OutputDifference &output :
       comparison.getModels().front().differences)
    if (isOutside(output, bounds))
      outside.push_back({output.name, bounds.relative * output.numbers.rms,
                         1 - bounds.cosine});
  return outside;
}

std::string OutsideOutput::describe() const {
  std::string text;
  llvm::raw_string_ostream(text)
      << "output '" << name
      << "' is not what the input computes in float64: expected a root mean "
         "square error of at most "
      << rootMeanSquareError << " and a cosine of at least " << cosine;
  return text;
}

} // namespace mp
