//===- DeviceModels.cpp - GPUs by their data sheets -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The data are from NVIDIA's data sheets of these products and, for the RTX
// 4090, from the appendix of "NVIDIA Ada GPU Architecture"; rates with sparsity
// are halved. Gigabytes there are 10^9 bytes.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/DeviceModels.h"

namespace mp {

static constexpr uint64_t gigabytes = 1'000'000'000;
static constexpr double giga = 1e9, tera = 1e12;

static constexpr DeviceModel models[] = {
    {"a100", "A100 80GB SXM", 80 * gigabytes, 2039 * giga, 312 * tera,
     19.5 * tera, 9.7 * tera},
    {"h100", "H100 SXM", 80 * gigabytes, 3350 * giga, 989 * tera, 67 * tera,
     34 * tera},
    {"h200", "H200 SXM", 141 * gigabytes, 4800 * giga, 989 * tera, 67 * tera,
     34 * tera},
    {"l4", "L4", 24 * gigabytes, 300 * giga, 121 * tera, 30.3 * tera,
     0.47 * tera},
    {"l40s", "L40S", 48 * gigabytes, 864 * giga, 362 * tera, 91.6 * tera,
     1.4 * tera},
    {"rtx4090", "GeForce RTX 4090", 24 * gigabytes, 1008 * giga, 165 * tera,
     82.6 * tera, 1.3 * tera},
};

llvm::ArrayRef<DeviceModel> getDeviceModels() { return models; }

const DeviceModel *findDeviceModel(llvm::StringRef name) {
  for (const DeviceModel &model : models)
    if (model.name == name)
      return &model;
  return nullptr;
}

std::string listDeviceModels() {
  std::string text;
  for (const DeviceModel &model : models) {
    bool isLast = &model == std::end(models) - 1;
    text += (text.empty() ? "" : isLast ? " or " : ", ") + model.name.str();
  }
  return text;
}

} // namespace mp
