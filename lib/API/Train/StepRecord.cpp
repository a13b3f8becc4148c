//===- StepRecord.cpp - Results of training steps -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/StepRecord.h"

#include "mp-opt/API/Model/TensorText.h"

#include "llvm/Support/Format.h"

using namespace llvm;

namespace mp {

void StepRecord::printJSON(json::OStream &json) const {
  json.object([&] {
    json.attribute("step", step);
    json.attribute("epoch", epoch);
    json.attribute("loss", toJSON(loss));
    if (!parts.empty())
      json.attributeObject("losses", [&] {
        for (const auto &[name, part] : parts)
          json.attribute(name, toJSON(part));
      });
    if (rate)
      json.attribute("lr", toJSON(*rate));
    if (scale)
      json.attribute("scale", toJSON(*scale));
    if (skipped)
      json.attribute("skipped", toJSON(*skipped));
    if (validation)
      json.attribute("validation_loss", toJSON(*validation));
  });
}

double TrainingResult::getStepsPerSecond() const {
  return double(made) / std::max(stepSeconds, 1e-9);
}

std::string describeSpeed(double stepsPerSecond, uint64_t rows) {
  double number = stepsPerSecond * double(std::max<uint64_t>(rows, 1));
  std::string text;
  raw_string_ostream os(text);
  os << format(number < 100 ? "%.3g" : "%.0f", number)
     << (rows ? " examples/s" : " steps/s");
  return text;
}

void TrainingResult::print(raw_ostream &os) const {
  os << "steps " << last.step << "  epochs " << last.epoch + 1 << "  loss "
     << formatShort(last.epochLoss);
  if (validation)
    os << "  validation " << formatShort(*validation);
  os << "  " << format("%.3g", seconds) << " s  "
     << describeSpeed(getStepsPerSecond(), rows) << "\n";
}

void TrainingResult::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("steps", last.step);
    json.attribute("steps_of_this_run", made);
    json.attribute("epoch", last.epoch);
    json.attribute("loss", toJSON(last.loss));
    json.attribute("epoch_loss", toJSON(last.epochLoss));
    if (validation)
      json.attribute("validation_loss", toJSON(*validation));
    json.attribute("seconds", seconds);
    json.attribute("step_seconds", stepSeconds);
    json.attribute("steps_per_second", toJSON(getStepsPerSecond()));
    if (rows)
      json.attribute("examples_per_second",
                     toJSON(getStepsPerSecond() * double(rows)));
    if (last.scale)
      json.attribute("scale", toJSON(*last.scale));
    if (last.skipped)
      json.attribute("skipped", toJSON(*last.skipped));
    if (ranks > 1) {
      json.attribute("ranks", ranks);
      json.attribute("sent_bytes", sentBytes);
      json.attribute("send_seconds", sendSeconds);
      json.attribute("exposed_seconds", exposedSeconds);
    }
  });
  os << "\n";
}

} // namespace mp
