//===- Accuracy.cpp - Counts correctly classified labels ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Accuracy.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace llvm;

namespace mp {

void Accuracy::print(raw_ostream &os) const {
  os << "accuracy " << format("%.4f", get()) << " (" << correct << " of "
     << count << ") of '" << escapeText(output) << "'\n";
}

void Accuracy::printJSON(json::OStream &json) const {
  json.object([&] {
    json.attribute("output", json::fixUTF8(output));
    json.attribute("accuracy", toJSON(get()));
    json.attribute("correct", correct);
    json.attribute("count", count);
  });
}

/// The axis that scores have and labels have not.
static std::optional<unsigned> findClassAxis(const Tensor &scores,
                                             const Tensor &labels) {
  ArrayRef<int64_t> sizes = scores.getSizes();
  if (isInteger(scores.getKind()) || scores.getKind() == ElementKind::Bool ||
      labels.getRank() + 1 != scores.getRank())
    return std::nullopt;
  auto fits = [&](unsigned axis) {
    SmallVector<int64_t> others(sizes);
    others.erase(others.begin() + axis);
    return ArrayRef<int64_t>(others) == labels.getSizes();
  };
  for (unsigned axis : {1u, unsigned(sizes.size() - 1)})
    if (axis < sizes.size() && fits(axis))
      return axis;
  return std::nullopt;
}

/// The place of the greatest of `count` scores; absent if one is NaN.
static std::optional<int64_t> findGreatest(const double *scores, int64_t count,
                                           int64_t stride) {
  int64_t best = 0;
  for (int64_t place = 0; place < count; ++place) {
    double score = scores[place * stride];
    if (std::isnan(score))
      return std::nullopt;
    if (score > scores[best * stride])
      best = place;
  }
  return best;
}

static Error count(const Tensor &scores, const NamedTensor &labels,
                   Accuracy &accuracy) {
  ArrayRef<int64_t> sizes = scores.getSizes();
  int64_t classes = sizes[accuracy.axis], stride = 1;
  for (int64_t size : sizes.drop_front(accuracy.axis + 1))
    stride *= size;
  std::vector<double> values = scores.toDoubles(),
                      wanted = labels.tensor.toDoubles();
  for (auto [place, label] : llvm::enumerate(wanted)) {
    if (label < 0)
      continue;
    if (label >= double(classes))
      return createStringError("'" + labels.name + "': label " +
                               formatShort(label) + " is none of the " +
                               Twine(classes) + " classes of '" +
                               accuracy.output + "'");
    int64_t outer = int64_t(place) / stride, inner = int64_t(place) % stride;
    const double *first = values.data() + outer * classes * stride + inner;
    std::optional<int64_t> found = findGreatest(first, classes, stride);
    accuracy.correct += found && double(*found) == label;
    ++accuracy.count;
  }
  if (!accuracy.count)
    return createStringError("'" + labels.name + "' has no label from 0 on");
  return Error::success();
}

Expected<Accuracy> computeAccuracy(ArrayRef<NamedTensor> outputs,
                                   const NamedTensor &labels) {
  const Tensor &wanted = labels.tensor;
  std::string type = describeType(wanted.getKind(), wanted.getSizes());
  if (!isInteger(wanted.getKind()))
    return createStringError("'" + labels.name +
                             "': expected labels of an integer type, found " +
                             type);
  for (const auto &[name, tensor] : outputs)
    if (auto axis = findClassAxis(tensor, wanted)) {
      Accuracy accuracy{name, *axis};
      if (Error failed = count(tensor, labels, accuracy))
        return failed;
      return accuracy;
    }
  return createStringError("no output has scores for the labels '" +
                           labels.name + "', " + type +
                           ": expected their sizes and an axis of classes");
}

} // namespace mp
