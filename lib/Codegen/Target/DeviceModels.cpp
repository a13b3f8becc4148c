//===- DeviceModels.cpp - Peak rates of GPUs ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Peak rates are from NVIDIA's data sheets of the products and, for GeForce,
// from the appendices of its white papers of architectures (Ampere GA102, Ada,
// Blackwell); rates with sparsity are halved. Gigabytes there are 10^9 bytes,
// and rates of links count both directions. Numbers and limits of
// multiprocessors, caches and clocks are from the white papers (Ampere, Hopper,
// Ada), from what drivers report (B200), and from "Technical Specifications per
// Compute Capability" of the CUDA C++ Programming Guide.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Target/DeviceModels.h"

#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <optional>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static ArrayRef<DeviceModel> getDeviceModels() {
  constexpr uint64_t gigabytes = 1'000'000'000;
  constexpr double giga = 1e9, tera = 1e12;
  constexpr unsigned kilobyte = 1024, megabyte = 1024 * kilobyte;
  // PCIe of generation 4 and 5, with 16 lanes.
  constexpr double fourth = 32 * giga, fifth = 64 * giga;
  static const DeviceModel models[] = {
      {"a10", "A10", 24 * gigabytes, 600 * giga, fourth, 125 * tera,
       31.2 * tera, 0.49 * tera, "sm_86", 72, 6 * megabyte, 1.695 * giga, 1536,
       16, 100 * kilobyte},
      {"a100", "A100 80GB SXM", 80 * gigabytes, 2039 * giga, fourth, 312 * tera,
       19.5 * tera, 9.7 * tera, "sm_80", 108, 40 * megabyte, 1.41 * giga, 2048,
       32, 164 * kilobyte},
      {"b200", "B200 SXM", 180 * gigabytes, 8000 * giga, fifth, 2250 * tera,
       75 * tera, 37 * tera, "sm_100", 148, 126 * megabyte, 1.965 * giga, 2048,
       32, 228 * kilobyte},
      {"h100", "H100 SXM", 80 * gigabytes, 3350 * giga, fifth, 989 * tera,
       67 * tera, 34 * tera, "sm_90a", 132, 50 * megabyte, 1.98 * giga, 2048,
       32, 228 * kilobyte},
      {"h200", "H200 SXM", 141 * gigabytes, 4800 * giga, fifth, 989 * tera,
       67 * tera, 34 * tera, "sm_90a", 132, 50 * megabyte, 1.98 * giga, 2048,
       32, 228 * kilobyte},
      {"l4", "L4", 24 * gigabytes, 300 * giga, fourth, 121 * tera, 30.3 * tera,
       0.47 * tera, "sm_89", 58, 48 * megabyte, 2.04 * giga, 1536, 24,
       100 * kilobyte},
      {"l40s", "L40S", 48 * gigabytes, 864 * giga, fourth, 362 * tera,
       91.6 * tera, 1.4 * tera, "sm_89", 142, 96 * megabyte, 2.52 * giga, 1536,
       24, 100 * kilobyte},
      {"rtx3090", "GeForce RTX 3090", 24 * gigabytes, 936 * giga, fourth,
       71 * tera, 35.6 * tera, 0.56 * tera, "sm_86", 82, 6 * megabyte,
       1.695 * giga, 1536, 16, 100 * kilobyte},
      {"rtx4090", "GeForce RTX 4090", 24 * gigabytes, 1008 * giga, fourth,
       165 * tera, 82.6 * tera, 1.3 * tera, "sm_89", 128, 72 * megabyte,
       2.52 * giga, 1536, 24, 100 * kilobyte},
      {"rtx5090", "GeForce RTX 5090", 32 * gigabytes, 1792 * giga, fifth,
       209 * tera, 104.8 * tera, 1.64 * tera, "sm_120", 170, 96 * megabyte,
       2.41 * giga, 1536, 24, 100 * kilobyte},
  };
  return models;
}

/// 86 for sm_86, 90 for sm_90a; absent for other texts.
static std::optional<unsigned> parseChip(StringRef text) {
  if (!text.consume_front("sm_"))
    return std::nullopt;
  if (!text.empty() && (text.back() == 'a' || text.back() == 'f'))
    text = text.drop_back();
  unsigned number = 0;
  bool isChip = (text.size() == 2 || text.size() == 3) &&
                !text.getAsInteger(10, number) && number >= 10;
  return isChip ? std::optional(number) : std::nullopt;
}

unsigned DeviceModel::getCapability() const {
  return parseChip(chip).value_or(0);
}

const DeviceModel *findDeviceModel(StringRef name) {
  for (const DeviceModel &model : getDeviceModels())
    if (model.name == name)
      return &model;
  return nullptr;
}

std::string listDeviceModels() {
  std::string text;
  ArrayRef<DeviceModel> models = getDeviceModels();
  for (const DeviceModel &model : models) {
    bool isLast = &model == &models.back();
    text += (text.empty() ? "" : isLast ? " or " : ", ") + model.name;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Names of other devices
//===----------------------------------------------------------------------===//

namespace {
/// A product's name: "rtx", 4080, "super".
struct ProductName {
  std::string prefix, suffix;
  unsigned number = 0;
};

/// Products whose numbers are in a range have one compute capability.
struct ProductFamily {
  StringLiteral prefix;
  unsigned first, last, capability;
};
} // namespace

/// Lower case, without maker, brand and separators.
static ProductName parseProduct(StringRef text) {
  std::string letters;
  for (char letter : text.lower())
    if (isAlnum(letter))
      letters += letter;
  StringRef rest = letters;
  for (StringRef word : {"nvidia", "geforce", "tesla", "quadro"})
    rest.consume_front(word);
  ProductName name;
  name.prefix = rest.take_until([](char c) { return isDigit(c); }).str();
  rest = rest.drop_front(name.prefix.size());
  StringRef digits = rest.take_while([](char c) { return isDigit(c); });
  name.suffix = rest.drop_front(digits.size()).str();
  if (digits.getAsInteger(10, name.number))
    name.number = 0;
  return name;
}

/// Absent if the name says no generation.
static std::optional<unsigned> findCapability(const ProductName &name) {
  // The first row that fits holds.
  static constexpr ProductFamily families[] = {
      {"a", 30, 30, 80},        {"a", 100, 100, 80},
      {"a", 800, 800, 80},      {"a", 2, 6000, 86},
      {"rtxa", 400, 6000, 86},  {"h", 20, 999, 90},
      {"gh", 200, 200, 90},     {"l", 2, 99, 89},
      {"b", 300, 300, 103},     {"gb", 300, 300, 103},
      {"b", 100, 999, 100},     {"gb", 100, 999, 100},
      {"rtx", 3050, 3099, 86},  {"rtx", 4050, 4099, 89},
      {"rtx", 5050, 5099, 120}, {"rtxpro", 2000, 6000, 120},
      {"rtx", 2050, 2099, 75},  {"t", 4, 4, 75},
      {"gtx", 1650, 1660, 75},  {"gtx", 900, 1099, 61},
      {"v", 100, 100, 70},      {"p", 4, 100, 60},
      {"k", 10, 80, 37},
  };
  if (name.prefix == "rtx" && StringRef(name.suffix).starts_with("ada"))
    return 89;
  for (const ProductFamily &family : families)
    if (family.prefix == name.prefix && name.number >= family.first &&
        name.number <= family.last)
      return family.capability;
  return std::nullopt;
}

static unsigned getDistance(unsigned one, unsigned other) {
  return std::max(one, other) - std::min(one, other);
}

/// The nearest device of the same major version: by the minor one, by the
/// family of the name, by its number. Null if there is none.
static const DeviceModel *findNearestModel(unsigned capability,
                                           const ProductName &name) {
  const DeviceModel *nearest = nullptr;
  std::array<unsigned, 3> least;
  for (const DeviceModel &model : getDeviceModels()) {
    if (model.getCapability() / 10 != capability / 10)
      continue;
    ProductName own = parseProduct(model.name);
    std::array<unsigned, 3> distance = {
        getDistance(model.getCapability(), capability),
        unsigned(own.prefix != name.prefix),
        getDistance(own.number, name.number)};
    if (nearest && distance >= least)
      continue;
    nearest = &model;
    least = distance;
  }
  return nearest;
}

static std::string formatCapability(unsigned capability) {
  return utostr(capability / 10) + "." + utostr(capability % 10);
}

static Error refuseName(StringRef name, const Twine &why) {
  SmallVector<StringRef> known;
  for (const DeviceModel &model : getDeviceModels())
    known.push_back(model.name);
  return createStringError("expected " + listDeviceModels() +
                           ", or a chip such as sm_86, got '" + name + "'" +
                           (why.isTriviallyEmpty() ? suggestNearest(name, known)
                                                   : (": " + why).str()));
}

/// Compute capability 8.0 is the first with the copies and products that
/// kernels use.
static Error refuseCapability(StringRef name, unsigned capability) {
  std::string text =
      "its compute capability is " + formatCapability(capability) + ", and ";
  constexpr unsigned least = 80;
  if (capability < least)
    return refuseName(name, text + "kernels need 8.0 or newer");
  return refuseName(name, text + "no device of that generation is known");
}

Expected<DeviceModel> chooseDeviceModel(StringRef name) {
  if (const DeviceModel *known = findDeviceModel(name))
    return *known;
  std::optional<unsigned> chip = parseChip(name.lower());
  ProductName product = chip ? ProductName() : parseProduct(name);
  // Drivers and users write names of the table in other ways.
  if (const DeviceModel *known = findDeviceModel(
          product.prefix + (product.number ? utostr(product.number) : "") +
          product.suffix))
    return *known;
  std::optional<unsigned> capability = chip ? chip : findCapability(product);
  if (!capability)
    return refuseName(name, "");
  const DeviceModel *nearest = findNearestModel(*capability, product);
  if (!nearest)
    return refuseCapability(name, *capability);
  DeviceModel model = *nearest;
  std::string generation = "compute capability " + utostr(*capability / 10);
  model.note = "no numbers of '" + name.str() + "' are known: those of " +
               model.title + " (" + model.name + "), the nearest with " +
               generation + ".x, are used";
  if (chip && *chip == model.getCapability()) {
    model.note = "'" + name.str() + "' is a chip: numbers of " + model.title +
                 " (" + model.name + "), which has it, are used";
    for (const DeviceModel &other : getDeviceModels())
      if (other.getCapability() == *chip && other.name != model.name)
        model.note += "; so has " + other.name;
  }
  return model;
}

//===----------------------------------------------------------------------===//
// Devices that are present
//===----------------------------------------------------------------------===//

Expected<DeviceModel> describeDevice(const PresentDevice &present) {
  const DeviceModel *nearest =
      findNearestModel(present.capability, parseProduct(present.title));
  if (!nearest)
    return refuseCapability(present.title, present.capability);
  DeviceModel model = *nearest;
  auto take = [](auto &value, auto given) {
    if (given)
      value = given;
  };
  double before = model.numProcessors * model.clock;
  take(model.numProcessors, present.numProcessors);
  take(model.clock, present.clock);
  double ratio = model.numProcessors * model.clock / before;
  for (double *rate : {&model.tensorRate, &model.floatRate, &model.doubleRate})
    *rate *= ratio;
  take(model.memoryBytes, present.memoryBytes);
  take(model.bandwidth, present.bandwidth);
  take(model.cacheBytes, present.cacheBytes);
  take(model.maxThreads, present.maxThreads);
  take(model.maxBlocks, present.maxBlocks);
  take(model.sharedBytes, present.sharedBytes);
  model.title = present.title;
  model.note = "numbers of '" + present.title + "' are what its driver says (" +
               utostr(model.numProcessors) +
               " multiprocessors, compute "
               "capability " +
               formatCapability(present.capability) +
               "); rates of arithmetic are those of " + nearest->title + " (" +
               nearest->name + "), in proportion to multiprocessors and clocks";
  return model;
}

} // namespace mp
