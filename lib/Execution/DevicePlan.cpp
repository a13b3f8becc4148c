//===- DevicePlan.cpp - The work of a device in one call ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/DevicePlan.h"

#include "mp-opt/Runtime/Device.h"
#include "mp-opt/Runtime/Plan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;

namespace mp {

using Space = DevicePlan::Space;
using RecordKind = DevicePlan::RecordKind;
using ImageKind = DevicePlan::ImageKind;

DevicePlan::Work DevicePlan::Work::get(device::WorkAttr attribute) {
  return {attribute.getKind(),   attribute.getRead(), attribute.getWritten(),
          attribute.getTensor(), attribute.getFma(),  attribute.getOperations(),
          attribute.getDoubles()};
}

std::vector<uint64_t> DevicePlan::getNextInputs() const {
  std::vector<bool> isState(inputs.size());
  bool isStep = false;
  for (const Buffer &output : outputs)
    if (output.state >= 0)
      isStep = isState[size_t(output.state)] = true;
  std::vector<uint64_t> sizes;
  for (auto [index, input] : llvm::enumerate(inputs))
    if (isStep && !isState[index] && input.bytes > MP_MAX_DIRECT_BYTES)
      sizes.push_back(input.bytes);
  return sizes;
}

static_assert(llvm::sys::IsLittleEndianHost, "plans are little-endian");

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

namespace {
class Packer {
public:
  explicit Packer(const DevicePlan &plan) : plan(plan) { addText(""); }

  std::string pack();

private:
  uint64_t addText(StringRef text);
  std::vector<mp_plan_buffer> makeBuffers(ArrayRef<DevicePlan::Buffer> buffers);
  void addImages();
  void addKernels();
  void addRecords();

  /// Appends a table after the existing bytes.
  template <typename T>
  void add(mp_plan_table &table, const std::vector<T> &entries) {
    bytes.resize(llvm::alignTo(bytes.size(), 8));
    table = {bytes.size(), entries.size()};
    bytes.append(reinterpret_cast<const char *>(entries.data()),
                 entries.size() * sizeof(T));
  }

  const DevicePlan &plan;
  mp_plan head = {};
  std::string bytes;
  llvm::StringMap<uint64_t> known;
  std::vector<char> texts, contents;
};
} // namespace

uint64_t Packer::addText(StringRef text) {
  // Texts in the plan end at their first zero.
  text = text.take_until([](char letter) { return letter == 0; });
  auto [entry, isNew] = known.try_emplace(text, texts.size());
  if (isNew) {
    texts.insert(texts.end(), text.begin(), text.end());
    texts.push_back(0);
  }
  return entry->second;
}

std::vector<mp_plan_buffer>
Packer::makeBuffers(ArrayRef<DevicePlan::Buffer> buffers) {
  std::vector<mp_plan_buffer> result;
  for (const DevicePlan::Buffer &buffer : buffers)
    result.push_back({buffer.bytes, addText(buffer.name), buffer.state});
  return result;
}

void Packer::addImages() {
  std::vector<mp_plan_image> images;
  for (const DevicePlan::Image &image : plan.images) {
    mp_plan_image packed = {};
    packed.kind = uint32_t(image.kind);
    packed.architecture = image.architecture;
    packed.is_specific = image.isSpecific;
    packed.ptx_version = image.ptxVersion;
    packed.instead_of = image.insteadOf;
    packed.offset = contents.size();
    contents.insert(contents.end(), image.content.begin(), image.content.end());
    if (image.kind == ImageKind::PTX)
      contents.push_back(0);
    packed.bytes = contents.size() - packed.offset;
    // Machine code is read in place, so it is aligned.
    contents.resize(llvm::alignTo(contents.size(), 64));
    images.push_back(packed);
  }
  add(head.images, images);
}

void Packer::addKernels() {
  std::vector<mp_plan_kernel> kernels;
  for (const DevicePlan::Kernel &kernel : plan.kernels)
    kernels.push_back({addText(kernel.name), kernel.image, kernel.threads,
                       kernel.shared, kernel.parameters});
  add(head.kernels, kernels);
}

static mp_plan_place packPlace(const DevicePlan::Place &place) {
  return {uint32_t(place.space), place.index, place.offset, place.bytes};
}

void Packer::addRecords() {
  std::vector<mp_plan_record> records;
  std::vector<mp_plan_place> places;
  for (const DevicePlan::Record &record : plan.records) {
    mp_plan_record packed = {};
    packed.kind = uint32_t(record.kind);
    packed.kernel = record.kernel;
    llvm::copy(record.grid, packed.grid);
    llvm::copy(record.block, packed.block);
    packed.shared = record.shared;
    packed.value_bytes = record.valueBytes;
    packed.value = record.value;
    packed.num_places = uint32_t(record.places.size());
    packed.when_set = record.whenSet;
    packed.first_place = places.size();
    packed.node = addText(record.node);
    records.push_back(packed);
    for (const DevicePlan::Place &place : record.places)
      places.push_back(packPlace(place));
  }
  std::vector<mp_plan_reduction> reductions;
  for (const DevicePlan::Reduction &one : plan.reductions) {
    mp_plan_reduction packed = {};
    packed.bucket = one.bucket;
    packed.operation = one.operation;
    packed.type = one.type;
    packed.num_members = uint32_t(one.members.size());
    packed.first_member = places.size();
    for (const DevicePlan::Place &member : one.members)
      places.push_back(packPlace(member));
    packed.condition = -1;
    if (one.condition) {
      packed.condition = int64_t(places.size());
      places.push_back(packPlace(*one.condition));
    }
    reductions.push_back(packed);
  }
  add(head.records, records);
  add(head.places, places);
  add(head.reductions, reductions);
}

std::string Packer::pack() {
  head.magic = MP_PLAN_MAGIC;
  head.version = MP_PLAN_VERSION;
  head.arena_bytes = plan.arenaBytes;
  bytes.resize(sizeof(mp_plan));
  add(head.inputs, makeBuffers(plan.inputs));
  add(head.outputs, makeBuffers(plan.outputs));
  add(head.constants, makeBuffers(plan.constants));
  addImages();
  addKernels();
  addRecords();
  std::vector<uint64_t> errors;
  for (const std::string &text : plan.errors)
    errors.push_back(addText(text));
  add(head.errors, errors);
  bytes.resize(llvm::alignTo(bytes.size(), 64));
  add(head.contents, contents);
  add(head.texts, texts);
  bytes.resize(llvm::alignTo(bytes.size(), 8));
  head.bytes = bytes.size();
  std::memcpy(bytes.data(), &head, sizeof(head));
  return std::move(bytes);
}

std::string DevicePlan::pack() const { return Packer(*this).pack(); }

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void print(llvm::raw_ostream &os, StringRef what,
                  ArrayRef<DevicePlan::Buffer> buffers) {
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    os << what << " " << index;
    if (!buffer.name.empty())
      os << " '" << buffer.name << "'";
    os << ": " << buffer.bytes << " bytes";
    if (buffer.state >= 0)
      os << ", written over input " << buffer.state;
    os << "\n";
  }
}

static void print(llvm::raw_ostream &os, const DevicePlan::Place &place) {
  static constexpr StringLiteral names[] = {"arena", "input", "output",
                                            "constant", "control"};
  os << names[unsigned(place.space)];
  if (place.space != Space::Arena && place.space != Space::Control)
    os << " " << place.index;
  os << "[" << place.offset << ", " << place.bytes << " bytes]";
}

static void print(llvm::raw_ostream &os, const DevicePlan::Image &image) {
  if (image.kind == ImageKind::Emulated) {
    os << "emulated\n";
    return;
  }
  if (image.kind == ImageKind::PTX)
    os << "PTX " << image.ptxVersion / 10 << "." << image.ptxVersion % 10
       << " for sm_";
  else
    os << "cubin for sm_";
  os << image.architecture << (image.isSpecific ? "a" : "") << ", "
     << image.content.size() << " bytes";
  if (image.insteadOf >= 0)
    os << ", instead of image " << image.insteadOf;
  os << "\n";
}

static void print(llvm::raw_ostream &os, const DevicePlan::Work &work) {
  os << "; " << device::stringifyWorkKind(work.kind) << ": reads "
     << work.readBytes << " bytes, writes " << work.writtenBytes;
  std::pair<StringRef, uint64_t> counts[] = {
      {" multiply-adds by tensor cores", work.tensor},
      {" multiply-adds", work.fma},
      {" operations", work.operations},
      {" operations on f64", work.doubles}};
  for (auto [what, count] : counts)
    if (count)
      os << ", " << count << what;
}

static void print(llvm::raw_ostream &os, unsigned number,
                  const DevicePlan::Reduction &reduction) {
  static constexpr StringLiteral names[] = {"mean", "sum", "scatter", "gather",
                                            "gather_bf16"};
  os << "reduction " << number << ", bucket " << reduction.bucket << ": "
     << names[reduction.operation] << " of ";
  llvm::interleaveComma(
      reduction.members, os,
      [&](const DevicePlan::Place &member) { print(os, member); });
  if (reduction.condition)
    print(os << " if ", *reduction.condition);
}

static void print(llvm::raw_ostream &os, const DevicePlan &plan,
                  const DevicePlan::Record &record) {
  switch (record.kind) {
  case RecordKind::Launch:
    os << "launch " << plan.kernels[record.kernel].name << " grid ";
    llvm::interleave(record.grid, os, "x");
    os << " block ";
    llvm::interleave(record.block, os, "x");
    if (record.shared)
      os << " shared " << record.shared;
    if (record.whenSet)
      os << " when states are set";
    break;
  case RecordKind::Copy:
    os << "copy";
    break;
  case RecordKind::Fill:
    os << "fill 0x" << llvm::utohexstr(record.value, /*LowerCase=*/true) << ":"
       << record.valueBytes;
    break;
  case RecordKind::ReduceStart:
    print(os << "start ", record.kernel, plan.reductions[record.kernel]);
    break;
  case RecordKind::ReduceWait:
    os << "wait for reduction " << record.kernel;
    break;
  }
  if (!record.places.empty()) {
    os << " (";
    llvm::interleaveComma(
        record.places, os,
        [&](const DevicePlan::Place &place) { print(os, place); });
    os << ")";
  }
  if (!record.node.empty())
    os << " of " << record.node;
  // For other records the places show it.
  if (record.kind == RecordKind::Launch)
    for (const DevicePlan::Work &work : record.work)
      mp::print(os, work);
  os << "\n";
}

void DevicePlan::print(llvm::raw_ostream &os) const {
  mp::print(os, "input", inputs);
  mp::print(os, "output", outputs);
  mp::print(os, "constant", constants);
  for (auto [index, text] : llvm::enumerate(errors))
    os << "error " << index << ": " << text << "\n";
  for (auto [index, image] : llvm::enumerate(images)) {
    os << "image " << index << ": ";
    mp::print(os, image);
  }
  for (const Kernel &kernel : kernels) {
    os << "kernel " << kernel.name << " in image " << kernel.image << ": "
       << kernel.parameters << " parameters, " << kernel.threads << " threads";
    if (kernel.shared)
      os << ", " << kernel.shared << " bytes of shared memory";
    os << "\n";
  }
  unsigned counts[5] = {};
  for (const Record &record : records) {
    mp::print(os, *this, record);
    ++counts[unsigned(record.kind)];
  }
  os << "total: " << counts[0] << " launches of " << kernels.size()
     << " kernels, " << counts[1] << " copies, " << counts[2] << " fills, ";
  if (!reductions.empty())
    os << reductions.size() << " reductions, ";
  os << arenaBytes << " bytes of arena\n";
}

} // namespace mp
