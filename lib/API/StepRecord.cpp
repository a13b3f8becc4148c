//===- StepRecord.cpp - What training steps give --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/StepRecord.h"

#include "mp-opt/API/TensorText.h"

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
  });
}

void TrainingResult::print(raw_ostream &os) const {
  os << "steps " << last.step << "  loss " << formatShort(last.loss) << "  "
     << format("%.3g", seconds) << " s  "
     << format("%.3g", double(made) / std::max(seconds, 1e-9)) << " steps/s\n";
}

void TrainingResult::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("steps", last.step);
    json.attribute("steps_of_this_run", made);
    json.attribute("loss", toJSON(last.loss));
    json.attribute("seconds", seconds);
    if (last.scale)
      json.attribute("scale", toJSON(*last.scale));
    if (last.skipped)
      json.attribute("skipped", toJSON(*last.skipped));
  });
  os << "\n";
}

} // namespace mp
