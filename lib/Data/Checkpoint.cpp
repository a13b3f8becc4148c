//===- Checkpoint.cpp - Training runs that can be taken up again ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Data/Checkpoint.h"

#include "Npy.h"

#include "mp-opt/Support/Directory.h"
#include "mp-opt/Support/FlatJSON.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace llvm;
namespace fs = llvm::sys::fs;

namespace mp {

static constexpr StringLiteral statesFile = "states.safetensors";
static constexpr StringLiteral manifestFile = "manifest.json";
static constexpr int64_t formatVersion = 1;
/// A manifest has about 200 bytes for each state.
static constexpr uint64_t maxManifest = 256 << 20;

std::string getContentName(StringRef bytes) {
  return toHex(BLAKE3::hash(arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

std::string CheckpointFolder::getFolder(uint64_t step) const {
  std::string folder;
  raw_string_ostream os(folder);
  os << path << "/step-" << format("%010llu", (unsigned long long)(step));
  return folder;
}

std::vector<uint64_t> CheckpointFolder::getSteps() const {
  std::vector<uint64_t> steps;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    StringRef name = sys::path::filename(entry->path());
    uint64_t step;
    if (name.consume_front("step-") && !name.getAsInteger(10, step) &&
        getFolder(step) == path + "/step-" + name.str() &&
        fs::exists(entry->path() + "/" + manifestFile))
      steps.push_back(step);
  }
  llvm::sort(steps, std::greater<>());
  return steps;
}

//===----------------------------------------------------------------------===//
// Manifest
//===----------------------------------------------------------------------===//

/// Prints entries of an object in alphabetical order, so that equal objects
/// have equal texts.
static std::string print(const json::Object &object, bool isPretty) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream(os, isPretty ? 1 : 0).value(json::Object(object));
  return text;
}

static json::Object makeManifest(const Checkpoint &checkpoint) {
  json::Object settings, tensors;
  for (const auto &[key, text] : checkpoint.settings)
    settings[json::fixUTF8(key)] = json::fixUTF8(text);
  for (const auto &[name, tensor] : checkpoint.states)
    tensors[json::fixUTF8(name)] = json::Object{
        {"type", describeType(tensor.getKind(), tensor.getSizes())},
        {"blake3", getContentName(getBytes(tensor))}};
  json::Object manifest{
      {"format", formatVersion},          {"step", checkpoint.step},
      {"epoch", checkpoint.epoch},        {"position", checkpoint.position},
      {"model_blake3", checkpoint.model}, {"settings", std::move(settings)},
      {"tensors", std::move(tensors)}};
  json::Object data;
  for (const auto &[name, hash] : checkpoint.data)
    data[json::fixUTF8(name)] = hash;
  if (!data.empty())
    manifest["data_blake3"] = std::move(data);
  if (!checkpoint.dataVersion.empty())
    manifest["data_version"] = checkpoint.dataVersion;
  if (checkpoint.loss)
    manifest["loss"] = *checkpoint.loss;
  if (checkpoint.validation)
    manifest["validation_loss"] = *checkpoint.validation;
  manifest["checksum"] = getContentName(print(manifest, /*isPretty=*/false));
  return manifest;
}

static Error corrupt(const Twine &file, const Twine &why) {
  return createStringError(file + ": corrupt checkpoint: " + why);
}

static Expected<json::Object> readManifest(const std::string &file) {
  uint64_t size;
  if (std::error_code error = fs::file_size(file, size))
    return createStringError(file + ": cannot read it: " + error.message());
  if (size > maxManifest)
    return corrupt(file, "it has " + Twine(size) + " bytes");
  auto content = MemoryBuffer::getFile(file);
  if (!content)
    return createStringError(
        file + ": cannot read it: " + content.getError().message());
  // Itself, its tensors, and one of these.
  Expected<json::Value> value =
      parseFlatJSON((*content)->getBuffer(), /*maxDepth=*/3);
  if (!value)
    return prefixError(file + ": corrupt checkpoint", value.takeError());
  json::Object *object = value->getAsObject();
  if (!object)
    return corrupt(file, "it is not a manifest");
  json::Object manifest = std::move(*object);
  std::string checksum = manifest.getString("checksum").value_or("").str();
  manifest.erase("checksum");
  if (manifest.getInteger("format") != formatVersion)
    return corrupt(file, "it has a format that is not supported");
  if (getContentName(print(manifest, /*isPretty=*/false)) != checksum)
    return corrupt(file, "its checksum is wrong");
  return manifest;
}

/// Fails unless the states are those of the manifest.
static Error checkStates(ArrayRef<NamedTensor> states,
                         const json::Object &tensors, const std::string &file) {
  for (const auto &[name, tensor] : states) {
    const json::Object *known = tensors.getObject(json::fixUTF8(name));
    if (!known || known->getString("type") !=
                      describeType(tensor.getKind(), tensor.getSizes()))
      return corrupt(file,
                     "the manifest knows no tensor '" + name + "' of type " +
                         describeType(tensor.getKind(), tensor.getSizes()));
    if (known->getString("blake3") != getContentName(getBytes(tensor)))
      return corrupt(file, "the elements of tensor '" + name +
                               "' are not those that were written");
  }
  if (states.size() != tensors.size())
    return corrupt(file, "it has " + Twine(states.size()) + " tensors, the " +
                             "manifest " + Twine(tensors.size()));
  return Error::success();
}

Expected<Checkpoint> CheckpointFolder::read(uint64_t step) const {
  std::string folder = getFolder(step);
  std::string file = folder + "/" + manifestFile.str();
  Expected<json::Object> manifest = readManifest(file);
  if (!manifest)
    return manifest.takeError();
  auto getCount = [&](StringRef key) {
    return uint64_t(manifest->getInteger(key).value_or(0));
  };
  const json::Object *settings = manifest->getObject("settings");
  const json::Object *tensors = manifest->getObject("tensors");
  if (!settings || !tensors || getCount("step") != step)
    return corrupt(file, "it is not a manifest of this checkpoint");
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.epoch = getCount("epoch");
  checkpoint.position = getCount("position");
  checkpoint.model = manifest->getString("model_blake3").value_or("").str();
  for (const auto &[key, text] : *settings)
    checkpoint.settings[key.str()] = text.getAsString().value_or("").str();
  if (const json::Object *data = manifest->getObject("data_blake3"))
    for (const auto &[name, hash] : *data)
      checkpoint.data[name.str()] = hash.getAsString().value_or("").str();
  checkpoint.dataVersion =
      manifest->getString("data_version").value_or("").str();
  checkpoint.loss = manifest->getNumber("loss");
  checkpoint.validation = manifest->getNumber("validation_loss");
  std::string statesPath = folder + "/" + statesFile.str();
  auto states = readDataFile(statesPath);
  if (!states)
    return states.takeError();
  if (Error failed = checkStates(*states, *tensors, statesPath))
    return failed;
  checkpoint.states = std::move(*states);
  return checkpoint;
}

Expected<Checkpoint> CheckpointFolder::readNewest(WarnFn warn) const {
  std::optional<std::string> first;
  for (uint64_t step : getSteps()) {
    Expected<Checkpoint> checkpoint = read(step);
    if (checkpoint) {
      if (first)
        warn(*first + "; using step " + Twine(step) + " instead");
      return checkpoint;
    }
    std::string why = toString(checkpoint.takeError());
    if (!first)
      first = why;
  }
  return createStringError(first ? *first
                                 : path + ": found no checkpoint in it");
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Error CheckpointFolder::checkWritable() const {
  std::vector<std::string> missing;
  for (StringRef place = path; !place.empty() && !fs::exists(place);
       place = sys::path::parent_path(place))
    missing.push_back(place.str());
  std::error_code error = fs::create_directories(path, true, fs::all_all);
  Error failed = error ? createStringError("cannot make the folder '" + path +
                                           "': " + error.message())
                       : AtomicFile::check(path + "/" + manifestFile.str());
  for (const std::string &made : missing)
    fs::remove(made);
  return failed;
}

/// Removes the manifest first: the remaining files are not a checkpoint without
/// it.
void CheckpointFolder::remove(uint64_t step) const {
  std::string folder = getFolder(step);
  fs::remove(folder + "/" + manifestFile);
  fs::remove(folder + "/" + statesFile);
  fs::remove(folder);
}

static Error writeFile(const std::string &path,
                       function_ref<Error(raw_ostream &)> print) {
  auto file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  if (Error failed = print((*file)->os()))
    return prefixError(path, std::move(failed));
  if (Error failed = (*file)->finish())
    return failed;
  return (*file)->commit();
}

Error CheckpointFolder::writeFiles(const Checkpoint &checkpoint) const {
  std::string folder = getFolder(checkpoint.step);
  // Permissions as for mkdir: the process's umask applies.
  if (std::error_code error =
          fs::create_directories(folder, /*IgnoreExisting=*/true, fs::all_all))
    return createStringError("cannot make the folder " + folder + ": " +
                             error.message());
  if (Error failed =
          writeFile(folder + "/" + statesFile.str(), [&](raw_ostream &os) {
            return writeSafetensors(checkpoint.states, {}, os);
          }))
    return failed;
  return writeFile(folder + "/" + manifestFile.str(), [&](raw_ostream &os) {
    os << print(makeManifest(checkpoint), /*isPretty=*/true) << "\n";
    return Error::success();
  });
}

Error CheckpointFolder::write(const Checkpoint &checkpoint,
                              unsigned keep) const {
  std::vector<uint64_t> old = getSteps();
  if (Error failed = writeFiles(checkpoint)) {
    // Make room for other files on a full disk.
    if (!llvm::is_contained(old, checkpoint.step))
      remove(checkpoint.step);
    return failed;
  }
  // The new folder's name must be synced like its files before others are
  // removed.
  ErrorOr<Directory> folder = Directory::open(path);
  std::error_code error = folder ? folder->sync() : folder.getError();
  if (error)
    return createStringError("cannot write " + path + ": " + error.message());
  unsigned kept = 0;
  for (uint64_t step : getSteps())
    if (step != checkpoint.step && ++kept >= keep)
      remove(step);
  return Error::success();
}

} // namespace mp
