//===- ZipArchive.h - Zip files, as .npz uses them --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entries that are stored or deflated, with zip64's sizes. What the central
// directory says of an entry is checked against the entry's own header and
// against the file; entries that share bytes, by which small files unpack to
// big ones, are refused.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_DATA_ZIPARCHIVE_H
#define MPOPT_LIB_DATA_ZIPARCHIVE_H

#include "mp-opt/Data/DataFiles.h"

namespace mp {

class ZipArchive {
public:
  struct Entry {
    std::string name;
    uint16_t method = 0;
    uint32_t checksum = 0;
    uint64_t packedSize = 0, size = 0;
    /// Where its header begins, and its data.
    uint64_t header = 0, begin = 0;
  };

  static llvm::Expected<ZipArchive> parse(const DataBuffer &file);

  llvm::ArrayRef<Entry> getEntries() const { return entries; }
  /// Unpacks an entry, or shares the file's bytes; its checksum is right.
  llvm::Expected<DataBuffer> read(const Entry &entry) const;

private:
  explicit ZipArchive(const DataBuffer &file) : file(file) {}
  llvm::Error findDirectory();
  llvm::Error readZip64(uint64_t locator);
  llvm::Error readDirectory();
  llvm::Expected<Entry> readEntry(uint64_t &position) const;
  llvm::Error checkHeader(Entry &entry) const;
  llvm::Error checkOverlaps() const;
  llvm::Expected<DataBuffer> inflate(const Entry &entry) const;

  DataBuffer file;
  uint64_t count = 0, directory = 0, directorySize = 0;
  std::vector<Entry> entries;
};

/// Writes an archive of stored entries, one after the other.
class ZipWriter {
public:
  explicit ZipWriter(llvm::raw_ostream &os) : os(os), start(os.tell()) {}

  /// The pieces make up the entry's content.
  void add(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> pieces);
  void finish();

private:
  llvm::raw_ostream &os;
  uint64_t start;
  std::string directory;
  uint64_t count = 0;
};

} // namespace mp

#endif // MPOPT_LIB_DATA_ZIPARCHIVE_H
