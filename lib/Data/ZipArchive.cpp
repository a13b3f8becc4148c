//===- ZipArchive.cpp - Zip files, as .npz uses them ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is described in PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and
// 4.5.3.
//
//===----------------------------------------------------------------------===//

#include "ZipArchive.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"

#include <cstring>
#include <zlib.h>

using namespace llvm;

namespace mp {

static constexpr uint32_t localMagic = 0x04034b50, centralMagic = 0x02014b50,
                          endMagic = 0x06054b50, end64Magic = 0x06064b50,
                          locator64Magic = 0x07064b50;
static constexpr uint64_t localSize = 30, centralSize = 46, endSize = 22,
                          end64Size = 56, locator64Size = 20;
static constexpr uint16_t stored = 0, deflated = 8;
/// The values of 16-bit and 32-bit fields that refer to zip64's fields.
static constexpr uint16_t in64Short = 0xffff;
static constexpr uint32_t in64 = 0xffffffff;

static uint16_t get16(StringRef text, uint64_t at) {
  return support::endian::read16le(text.data() + at);
}
static uint32_t get32(StringRef text, uint64_t at) {
  return support::endian::read32le(text.data() + at);
}
static uint64_t get64(StringRef text, uint64_t at) {
  return support::endian::read64le(text.data() + at);
}

static bool fits(StringRef text, uint64_t begin, uint64_t size) {
  return begin <= text.size() && size <= text.size() - begin;
}

static Error corrupt(const Twine &what) {
  return createStringError("corrupt zip archive: " + what);
}

//===----------------------------------------------------------------------===//
// The directory
//===----------------------------------------------------------------------===//

Error ZipArchive::readZip64(uint64_t locator) {
  StringRef text = file.getText();
  uint64_t end = get64(text, locator + 8);
  if (!fits(text, end, end64Size) || get32(text, end) != end64Magic)
    return corrupt("the end of its directory is not where it should be");
  count = get64(text, end + 32);
  directorySize = get64(text, end + 40);
  directory = get64(text, end + 48);
  return Error::success();
}

Error ZipArchive::findDirectory() {
  StringRef text = file.getText();
  // A comment of at most 65535 bytes may follow.
  size_t from = text.size() - std::min<size_t>(text.size(), endSize + 65535);
  size_t end = StringRef::npos;
  for (size_t at = text.rfind(StringRef("PK\5\6", 4)); at != StringRef::npos;
       at = at ? text.take_front(at + 3).rfind(StringRef("PK\5\6", 4))
               : StringRef::npos) {
    if (at < from)
      break;
    if (fits(text, at, endSize) &&
        at + endSize + get16(text, at + 20) == text.size()) {
      end = at;
      break;
    }
  }
  if (end == StringRef::npos)
    return corrupt("it has no directory; the file may be cut short");
  count = get16(text, end + 10);
  directorySize = get32(text, end + 12);
  directory = get32(text, end + 16);
  bool isZip64 =
      count == in64Short || directorySize == in64 || directory == in64;
  if (isZip64 && end >= locator64Size &&
      get32(text, end - locator64Size) == locator64Magic)
    if (Error failed = readZip64(end - locator64Size))
      return failed;
  if (!fits(text.take_front(end), directory, directorySize) ||
      count > directorySize / centralSize)
    return corrupt("its directory is not where it should be");
  return Error::success();
}

/// Reads sizes and offset from the extra field of zip64, in that order. A field
/// is present only if the 32-bit one refers to it.
static Error readExtra(StringRef extra, ZipArchive::Entry &entry) {
  while (extra.size() >= 4) {
    uint16_t id = get16(extra, 0);
    uint64_t size = get16(extra, 2);
    extra = extra.drop_front(4);
    if (size > extra.size())
      return corrupt("the extra field of entry '" + entry.name +
                     "' is too long");
    StringRef field = extra.take_front(size);
    extra = extra.drop_front(size);
    if (id != 1)
      continue;
    for (uint64_t *value : {&entry.size, &entry.packedSize, &entry.header}) {
      if (*value != in64)
        continue;
      if (field.size() < 8)
        return corrupt("the sizes of entry '" + entry.name + "' are missing");
      *value = get64(field, 0);
      field = field.drop_front(8);
    }
  }
  return Error::success();
}

Expected<ZipArchive::Entry> ZipArchive::readEntry(uint64_t &position) const {
  StringRef text = file.getText().take_front(directory + directorySize);
  if (!fits(text, position, centralSize) ||
      get32(text, position) != centralMagic)
    return corrupt("its directory ends early");
  Entry entry;
  uint16_t flags = get16(text, position + 8);
  entry.method = get16(text, position + 10);
  entry.checksum = get32(text, position + 16);
  entry.packedSize = get32(text, position + 20);
  entry.size = get32(text, position + 24);
  uint64_t nameSize = get16(text, position + 28);
  uint64_t extraSize = get16(text, position + 30);
  uint64_t commentSize = get16(text, position + 32);
  entry.header = get32(text, position + 42);
  uint64_t names = position + centralSize;
  if (!fits(text, names, nameSize + extraSize + commentSize))
    return corrupt("its directory ends early");
  entry.name = text.substr(names, nameSize).str();
  position = names + nameSize + extraSize + commentSize;
  if (Error failed = readExtra(text.substr(names + nameSize, extraSize), entry))
    return failed;
  if (flags & 1)
    return createStringError("entry '" + entry.name + "' is encrypted");
  if (entry.method != stored && entry.method != deflated)
    return createStringError("entry '" + entry.name +
                             "' is compressed by method " +
                             Twine(entry.method) + ", which is not supported");
  return entry;
}

Error ZipArchive::checkHeader(Entry &entry) const {
  StringRef text = file.getText().take_front(directory);
  auto fail = [&](const Twine &why) {
    return corrupt("entry '" + entry.name + "' " + why);
  };
  if (!fits(text, entry.header, localSize) ||
      get32(text, entry.header) != localMagic)
    return fail("is not where the directory says");
  uint64_t nameSize = get16(text, entry.header + 26);
  entry.begin =
      entry.header + localSize + nameSize + get16(text, entry.header + 28);
  if (!fits(text, entry.header + localSize, nameSize) ||
      text.substr(entry.header + localSize, nameSize) != entry.name)
    return fail("has another name in the directory");
  if (!fits(text, entry.begin, entry.packedSize))
    return fail("is longer than the file");
  // Deflate's longest match is 258 bytes in 2 bits.
  constexpr uint64_t maxRatio = 1032;
  if (entry.method == stored ? entry.size != entry.packedSize
                             : entry.size / maxRatio > entry.packedSize)
    return fail("cannot have " + Twine(entry.size) + " bytes in " +
                Twine(entry.packedSize));
  return Error::success();
}

Error ZipArchive::checkOverlaps() const {
  std::vector<const Entry *> sorted;
  for (const Entry &entry : entries)
    sorted.push_back(&entry);
  llvm::sort(sorted, [](const Entry *a, const Entry *b) {
    return a->header < b->header;
  });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1]->begin + sorted[i - 1]->packedSize > sorted[i]->header)
      return corrupt("entries '" + sorted[i - 1]->name + "' and '" +
                     sorted[i]->name + "' overlap");
  return Error::success();
}

Error ZipArchive::readDirectory() {
  StringSet<> names;
  uint64_t position = directory;
  for (uint64_t i = 0; i < count; ++i) {
    Expected<Entry> entry = readEntry(position);
    if (!entry)
      return entry.takeError();
    if (Error failed = checkHeader(*entry))
      return failed;
    if (!names.insert(entry->name).second)
      return corrupt("it has entry '" + entry->name + "' twice");
    entries.push_back(std::move(*entry));
  }
  return checkOverlaps();
}

Expected<ZipArchive> ZipArchive::parse(const DataBuffer &file) {
  ZipArchive archive(file);
  if (Error failed = archive.findDirectory())
    return failed;
  if (Error failed = archive.readDirectory())
    return failed;
  return archive;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static uint32_t addToChecksum(uint32_t checksum, StringRef bytes) {
  return crc32_z(checksum, reinterpret_cast<const Bytef *>(bytes.data()),
                 bytes.size());
}

Expected<DataBuffer> ZipArchive::inflate(const Entry &entry) const {
  // Unpacked data are 64-byte aligned, and so are the elements: the header has
  // 64 or 128 bytes in all files that NumPy writes.
  auto memory = Tensor::create(ElementKind::UInt8, {int64_t(entry.size)});
  if (!memory)
    return memory.takeError();
  auto owner = std::make_shared<Tensor>(*memory);
  MutableArrayRef<char> to(static_cast<char *>(owner->getData()), entry.size);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return createStringError("no memory to unpack entry '" + entry.name + "'");
  scope_exit end([&] { inflateEnd(&stream); });
  uint64_t read = 0, written = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    // zlib uses 32-bit counts.
    constexpr uint64_t step = 1 << 30;
    uint64_t in = std::min(entry.packedSize - read, step);
    uint64_t out = std::min(entry.size - written, step);
    char nothing;
    stream.next_in =
        reinterpret_cast<Bytef *>(file.bytes.data() + entry.begin + read);
    stream.avail_in = uInt(in);
    // A stream that ends together with the entry may still have its end marker
    // to be read.
    stream.next_out =
        reinterpret_cast<Bytef *>(out ? to.data() + written : &nothing);
    stream.avail_out = uInt(out ? out : 1);
    state = ::inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += (out ? out : 1) - stream.avail_out;
    if (written > entry.size)
      break;
  }
  if (state != Z_STREAM_END || written != entry.size ||
      read != entry.packedSize)
    return corrupt("entry '" + entry.name + "' does not unpack to its " +
                   Twine(entry.size) + " bytes");
  return DataBuffer{to, owner};
}

Expected<DataBuffer> ZipArchive::read(const Entry &entry) const {
  Expected<DataBuffer> content = file.slice(entry.begin, entry.packedSize);
  if (entry.method == deflated)
    content = inflate(entry);
  if (content && addToChecksum(0, content->getText()) != entry.checksum)
    return corrupt("entry '" + entry.name + "' has a wrong checksum");
  return content;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

template <typename T> static void append(std::string &to, T value) {
  char bytes[sizeof(T)];
  support::endian::write<T>(bytes, value, llvm::endianness::little);
  to.append(bytes, sizeof(T));
}

/// The fields shared by both headers of an entry, from the version on. Sizes
/// are always in zip64's field, to have a single form.
static void appendCommon(std::string &to, StringRef name, uint32_t checksum,
                         uint16_t extraSize) {
  append<uint16_t>(to, 45);     // version: zip64
  append<uint16_t>(to, 0x0800); // the name is UTF-8
  append<uint16_t>(to, stored);
  append<uint16_t>(to, 0);      // midnight,
  append<uint16_t>(to, 0x0021); // 1980-01-01: the same bytes every time
  append<uint32_t>(to, checksum);
  append<uint32_t>(to, in64);
  append<uint32_t>(to, in64);
  append<uint16_t>(to, uint16_t(name.size()));
  append<uint16_t>(to, extraSize);
}

void ZipWriter::add(StringRef name, ArrayRef<StringRef> pieces) {
  uint64_t header = os.tell() - start, size = 0;
  uint32_t checksum = 0;
  for (StringRef piece : pieces) {
    checksum = addToChecksum(checksum, piece);
    size += piece.size();
  }
  // Padding makes the data begin at a multiple of 64, so that they can be
  // mapped; its identifier is that of Android's zipalign.
  constexpr uint16_t sizesExtra = 4 + 16, padId = 0xd935;
  uint64_t begin = header + localSize + name.size() + sizesExtra + 4;
  uint64_t padding = (64 - begin % 64) % 64;
  std::string local;
  append<uint32_t>(local, localMagic);
  appendCommon(local, name, checksum, uint16_t(sizesExtra + 4 + padding));
  local += name;
  append<uint16_t>(local, 1);
  append<uint16_t>(local, 16);
  append<uint64_t>(local, size);
  append<uint64_t>(local, size);
  append<uint16_t>(local, padId);
  append<uint16_t>(local, uint16_t(padding));
  local.append(padding, '\0');
  os << local;
  for (StringRef piece : pieces)
    os << piece;

  append<uint32_t>(directory, centralMagic);
  append<uint16_t>(directory, 3 << 8 | 45); // made on Unix
  appendCommon(directory, name, checksum, 4 + 24);
  append<uint16_t>(directory, 0);              // no comment
  append<uint16_t>(directory, 0);              // one disk
  append<uint16_t>(directory, 0);              // internal attributes
  append<uint32_t>(directory, 0100644u << 16); // permissions
  append<uint32_t>(directory, in64);
  directory += name;
  append<uint16_t>(directory, 1);
  append<uint16_t>(directory, 24);
  append<uint64_t>(directory, size);
  append<uint64_t>(directory, size);
  append<uint64_t>(directory, header);
  ++count;
}

void ZipWriter::finish() {
  uint64_t begin = os.tell() - start, end = begin + directory.size();
  std::string tail;
  append<uint32_t>(tail, end64Magic);
  append<uint64_t>(tail, end64Size - 12);
  append<uint16_t>(tail, 3 << 8 | 45);
  append<uint16_t>(tail, 45);
  append<uint32_t>(tail, 0);
  append<uint32_t>(tail, 0);
  append<uint64_t>(tail, count);
  append<uint64_t>(tail, count);
  append<uint64_t>(tail, directory.size());
  append<uint64_t>(tail, begin);
  append<uint32_t>(tail, locator64Magic);
  append<uint32_t>(tail, 0);
  append<uint64_t>(tail, end);
  append<uint32_t>(tail, 1);
  append<uint32_t>(tail, endMagic);
  append<uint32_t>(tail, 0);
  append<uint16_t>(tail, in64Short);
  append<uint16_t>(tail, in64Short);
  append<uint32_t>(tail, in64);
  append<uint32_t>(tail, in64);
  append<uint16_t>(tail, 0);
  os << directory << tail;
}

} // namespace mp
