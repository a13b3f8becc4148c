//===- ReferenceBounds.cpp - Errors that rounding explains ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceBounds.h"

#include "mp-opt/API/Run/ReferenceComparison.h"

#include <cmath>
#include <random>

using namespace llvm;

namespace mp {

/// The number of runs of the reference on random grids.
static constexpr unsigned numDraws = 8;
/// An error is explained up to `margin` times the mean of the draws plus
/// `deviations` standard deviations. For scalars, whose errors scatter most,
/// about one correct output in 1,000 exceeds this.
static constexpr double margin = 2, deviations = 3;
/// The error of fp32 sums in a different order.
static constexpr double floatNoise = 0x1p-18;
/// The factor by which a path may amplify the errors of its roundings.
static constexpr double bearableGain = 4;
/// The change of an element that falls on the other side of an edge.
static constexpr double stepShare = 0.25;
/// The acceptable error of fp32 for any cause: 10 of its 24 bits are lost.
static constexpr double bearableFloat = 0x1p-14;

/// The root mean square error of several draws that is explained.
static double getExplained(ArrayRef<double> errors) {
  double sum = 0, squares = 0;
  for (double error : errors)
    sum += error;
  double mean = sum / double(errors.size());
  for (double error : errors)
    squares += (error - mean) * (error - mean);
  double deviation =
      errors.size() > 1 ? std::sqrt(squares / double(errors.size() - 1)) : 0;
  return margin * (mean + deviations * deviation) + floatNoise;
}

/// Numbers from 0.5 to 1, others for each draw.
static std::vector<float> drawScales(unsigned count, unsigned draw) {
  std::vector<float> scales(count);
  std::mt19937_64 engine(draw);
  for (float &scale : scales)
    scale = float(0x1p-25 * double((engine() >> 40) + (1 << 24)));
  return scales;
}

//===----------------------------------------------------------------------===//
// Running on grids
//===----------------------------------------------------------------------===//

/// Runs the reference in its own types with these scales.
Expected<std::vector<NamedTensor>>
ReferenceComparison::runOnGrids(ArrayRef<float> scales) {
  Expected<Tensor> tensor =
      Tensor::create(ElementKind::Float, {int64_t(scales.size())});
  if (!tensor)
    return tensor.takeError();
  llvm::copy(scales, tensor->get<float>().begin());
  own.session->getInputs().back() = *tensor;
  // The same call number gives the same random numbers in every run.
  own.session->getProgram().setCallNumber(0);
  return own.session->run();
}

/// Measures the errors that are explained by the roundings of the other model,
/// by outputs and exposed values.
Expected<StringMap<double>> ReferenceComparison::measureRounding() {
  StringMap<SmallVector<double>> errors;
  for (unsigned draw = 0; draw < numDraws; ++draw) {
    auto outputs = runOnGrids(drawScales(own.numScales, draw));
    if (!outputs) {
      // With different rounding, an index may be out of range. Such a run
      // explains nothing.
      consumeError(outputs.takeError());
      continue;
    }
    for (const auto &[name, tensor] : *outputs) {
      Tensor exact = own.inner.lookup(name);
      if (exact.getKind() != tensor.getKind() ||
          exact.getSizes() != tensor.getSizes())
        continue;
      Difference difference = Difference::compute(tensor, exact, {});
      if (difference.compared)
        errors[name].push_back(difference.getError());
    }
  }
  StringMap<double> explained;
  for (auto &entry : errors)
    explained[entry.getKey()] = getExplained(entry.getValue());
  return explained;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// Measures the errors of the reference's own types against float64, by outputs
/// and exposed values. Infinite if an element is NaN or infinite in only one of
/// both; values that are missing or have other sizes in float64 are skipped.
StringMap<double> ReferenceComparison::measureFloats() const {
  StringMap<double> errors;
  for (const auto &entry : own.inner) {
    Tensor wide = reference.inner.lookup(entry.getKey());
    if (wide.getKind() == ElementKind::Undefined ||
        wide.getSizes() != entry.second.getSizes())
      continue;
    Difference difference = Difference::compute(entry.second, wide, {});
    errors[entry.getKey()] = difference.specials
                                 ? std::numeric_limits<double>::infinity()
                             : difference.isEmpty() ? 0
                                                    : difference.getError();
  }
  return errors;
}

/// A node's error is unexplained if it exceeds the explained error by this
/// factor. The factor is above 1 because many nodes are tested.
static constexpr double nodeMargin = 2;

/// Sets the explained error of each node. Returns the first node whose error is
/// not explained.
static std::optional<NodeError>
findUnexplained(ComparedModel &model, const StringMap<Tensor> &expected,
                const StringMap<double> &explained) {
  StringMap<const NodeError *> unexplained;
  for (NodeError &node : model.nodes) {
    auto known = explained.find(node.value);
    if (known == explained.end())
      continue;
    node.explained = known->second;
    if (node.error > nodeMargin * node.explained &&
        !holdsMask(expected.lookup(node.value)))
      unexplained[node.value] = &node;
  }
  for (const InnerValue &value : model.values)
    if (const NodeError *node = unexplained.lookup(value.name))
      return *node;
  return std::nullopt;
}

Error ReferenceComparison::setBounds(ComparedModel &model) {
  StringMap<double> explained, floats = measureFloats();
  bool isTF32 = options.compile.fp32Products == FP32Products::TF32;
  double maxFloatError =
      isTF32 ? std::numeric_limits<double>::infinity() : bearableFloat;
  if (model.roundings.empty()) {
    for (const auto &entry : floats)
      explained[entry.getKey()] =
          std::min(getExplained(entry.second), maxFloatError);
  } else if (own.numScales && !model.isReference) {
    auto measured = measureRounding();
    if (!measured)
      return addContext(model.title + " on other grids", measured.takeError());
    explained = std::move(*measured);
    for (auto &entry : explained)
      entry.second +=
          std::min(margin * floats.lookup(entry.getKey()), maxFloatError);
  }
  if (!model.isReference)
    model.unexplained = findUnexplained(model, reference.inner, explained);
  for (OutputDifference &output : model.differences) {
    ErrorBound &bound = output.bound.emplace();
    if (auto known = explained.find(output.name); known != explained.end())
      bound.explained = known->second;
    RoundingDepth depth = model.depths.lookup(output.name);
    bound.bearable = depth.depth ? bearableGain * depth.getError() + floatNoise
                                 : maxFloatError;
    // Noise moves elements across an edge in proportion to its size, and the
    // root mean square of the effect grows with the square root of that.
    if (model.discrete && depth.depth)
      bound.bearable =
          std::max(bound.bearable, stepShare * std::sqrt(bound.bearable));
    if (double error = floats.lookup(output.name); error > bearableFloat)
      output.ownError = error;
  }
  return Error::success();
}

/// If an output is far from float64 and so are the reference's own types, the
/// output is compared with these instead.
Error ReferenceComparison::compareToOwn(ComparedModel &model) {
  Expected<std::vector<NamedTensor>> exact = widenTensors(own.outputs),
                                     wide = widenTensors(model.outputs);
  if (!exact || !wide)
    return joinErrors(exact.takeError(), wide.takeError());
  (void)takeOtherSizes(*wide, *exact);
  auto compared =
      mp::compareOutputs(*wide, *exact, /*isPositional=*/false, Tolerance());
  if (!compared)
    return compared.takeError();
  for (auto [output, comparison] : llvm::zip(model.differences, *compared)) {
    comparison.bound = output.bound;
    if (model.isReference || !output.ownError || !output.isOutside() ||
        !output.otherSizes.empty() || comparison.numbers.isEmpty() ||
        comparison.isOutside())
      continue;
    output.numbers = comparison.numbers;
    output.isAgainstOwn = true;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The number of nodes that are tried for each node that is shown.
static constexpr uint64_t triesPerNode = 3;

/// The error that the node alone adds to the outputs.
Error ReferenceComparison::measureNode(NodeError &node,
                                       const ComparedModel &model) {
  std::vector<float> scales(own.numScales, 0);
  bool isAny = false;
  // A weight or an input that several nodes read in 16 bit does not belong to a
  // single node.
  for (auto [index, rounding] : llvm::enumerate(model.roundings))
    if (index < scales.size() && llvm::all_equal(rounding.nodes) &&
        llvm::is_contained(rounding.nodes, node.node))
      isAny = scales[index] = 1;
  if (!isAny)
    return Error::success();
  auto outputs = runOnGrids(scales);
  if (!outputs) {
    // The effect of the node is unknown, as in measureRounding.
    consumeError(outputs.takeError());
    return Error::success();
  }
  for (auto [output, exact] : llvm::zip(*outputs, own.outputs)) {
    if (output.tensor.getSizes() != exact.tensor.getSizes())
      continue;
    Difference difference =
        Difference::compute(output.tensor, exact.tensor, {});
    double error = difference.specials ? std::numeric_limits<double>::infinity()
                                       : difference.getError();
    if (!difference.isEmpty())
      node.atOutputs = std::max(node.atOutputs.value_or(0), error);
  }
  return Error::success();
}

/// Sorts nodes by the errors that they add to the outputs. Nodes with errors
/// that rounding does not explain come first, because runs on grids do not show
/// those errors.
Error ReferenceComparison::rankNodes(ComparedModel &model) {
  std::vector<NodeError> &nodes = model.nodes;
  if (own.numScales && !model.isReference) {
    size_t tries = std::min<size_t>(nodes.size(), triesPerNode * options.nodes);
    for (NodeError &node : MutableArrayRef(nodes).take_front(tries))
      if (Error failed = measureNode(node, model))
        return failed;
    auto getRank = [](const NodeError &node) {
      bool isExplained = !(node.error > nodeMargin * node.explained);
      return std::pair(isExplained,
                       isExplained ? -node.atOutputs.value_or(-1) : 0);
    };
    llvm::stable_sort(nodes, [&](const NodeError &a, const NodeError &b) {
      return getRank(a) < getRank(b);
    });
  }
  nodes.resize(std::min<size_t>(nodes.size(), options.nodes));
  return Error::success();
}

} // namespace mp
