//===- ExternalData.cpp - Weights in separate files -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExternalData.h"

#include "onnx/onnx_pb.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <sys/stat.h>

using namespace llvm;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace mp {

Error ExternalData::fail(StringRef name, const Twine &why) const {
  return createStringError("external data file '" + name + "': " + why);
}

/// The path of `file` relative to `folder`, both canonical; absent if it is not
/// below.
static std::optional<StringRef> getRelative(StringRef file, StringRef folder) {
  if (!file.consume_front(folder) ||
      !(file.consume_front("/") || folder.ends_with("/")))
    return std::nullopt;
  return file;
}

/// Opens a file that only links lead to, or that has several names. Where the
/// links end is opened without any: if something has moved since they were
/// followed, that fails.
Expected<Descriptor> ExternalData::openLinked(StringRef name,
                                              const Twine &what) {
  SmallString<256> joined(folderPath), real, top;
  path::append(joined, name);
  if (std::error_code error = fs::real_path(joined, real))
    return fail(name, error.message());
  std::vector<std::string> tops = {folderPath.empty() ? "." : folderPath};
  tops.insert(tops.end(), roots.begin(), roots.end());
  for (const std::string &root : tops) {
    if (std::error_code error = fs::real_path(root, top))
      return fail(name, "'" + root + "': " + error.message());
    std::optional<StringRef> rest = getRelative(real, top);
    if (!rest)
      continue;
    if (roots.empty())
      return fail(name,
                  what + "; --external-data-root=DIR allows such files below "
                         "DIR");
    auto opened = Directory::open(top);
    if (!opened)
      return fail(name, opened.getError().message());
    auto file = opened->openFile(*rest);
    if (!file)
      return fail(name, file.getError().message());
    // Any user can create a hard link to another user's file in their own
    // folder. Such files are only accepted below a root.
    struct stat status;
    bool isRoot = &root != &tops.front();
    if (!isRoot && !::fstat(file->get(), &status) && status.st_nlink > 1)
      continue;
    return std::move(*file);
  }
  return fail(name, roots.empty()
                        ? "lies outside the model's folder; "
                          "--external-data-root=DIR allows links to files "
                          "below DIR"
                        : "'" + real +
                              "' lies outside the model's folder and those "
                              "of --external-data-root");
}

Expected<Descriptor> ExternalData::open(StringRef name) {
  if (name.empty() || name.contains('\0') || path::is_absolute(name))
    return fail(name, "expected a path relative to the model");
  if (!isBelow(name))
    return fail(name, "expected a path below the model's folder");
  if (!folder) {
    ErrorOr<Directory> opened = Directory::open(folderPath);
    if (!opened)
      return fail(name, opened.getError().message());
    folder = *opened;
  }
  ErrorOr<Descriptor> file = folder->openFile(name);
  if (!file && file.getError() == std::errc::too_many_symbolic_link_levels)
    return openLinked(name, "is reached by a symbolic link");
  if (!file)
    return fail(name, file.getError().message());
  struct stat status;
  if (!::fstat(file->get(), &status) && S_ISREG(status.st_mode) &&
      status.st_nlink != 1)
    return openLinked(name, "has several names (hard links)");
  return std::move(*file);
}

Expected<std::shared_ptr<MemoryBuffer>> ExternalData::getFile(StringRef name) {
  std::shared_ptr<MemoryBuffer> &known = files[name];
  if (known)
    return known;
  Expected<Descriptor> file = open(name);
  if (!file)
    return file.takeError();
  struct stat status;
  if (::fstat(file->get(), &status))
    return fail(name, "cannot be examined");
  if (!S_ISREG(status.st_mode))
    return fail(name, "is not a regular file");
  auto content = mapFile(*file, status, name);
  if (!content)
    return fail(name, content.getError().message());
  known = std::move(*content);
  return known;
}

namespace {
/// The location of a tensor's data, as stated by the tensor.
struct Place {
  StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
} // namespace

static Expected<Place> getPlace(const ::onnx::TensorProto &tensor) {
  Place place;
  StringSet<> seen;
  for (const auto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (!seen.insert(key).second)
      return createStringError("external data: '" + key + "' is given twice");
    if (key == "location")
      place.location = value;
    if (key == "length")
      place.length.emplace();
    if ((key == "offset" && value.getAsInteger(10, place.offset)) ||
        (key == "length" && value.getAsInteger(10, *place.length)))
      return createStringError("external data: " + key + " '" + value +
                               "' is not a size in bytes");
  }
  return place;
}

Expected<StringRef> ExternalData::get(const ::onnx::TensorProto &tensor) {
  Expected<Place> place = getPlace(tensor);
  if (!place)
    return place.takeError();
  auto file = getFile(place->location);
  if (!file)
    return file.takeError();
  uint64_t size = (*file)->getBufferSize(), offset = place->offset;
  if (offset > size || (place->length && *place->length > size - offset))
    return fail(place->location,
                "bytes " + Twine(offset) + " to " +
                    (!place->length ? "its end"
                     : *place->length > UINT64_MAX - offset
                         ? Twine("2^64 and more").str()
                         : std::to_string(offset + *place->length)) +
                    " are beyond its end at " + Twine(size));
  return (*file)->getBuffer().substr(offset,
                                     place->length.value_or(size - offset));
}

std::vector<std::string> ExternalData::getNames() const {
  std::vector<std::string> names;
  for (const auto &file : files)
    if (file.second)
      names.push_back(file.first().str());
  llvm::sort(names);
  return names;
}

} // namespace mp
