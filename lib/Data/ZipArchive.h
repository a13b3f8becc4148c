//===- ZipArchive.h - Zip files, as .npz uses them --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads entries that are stored or deflated, with zip64's sizes. The central
// directory is checked against the headers of entries and the file. Entries
// with overlapping bytes, by which small files unpack to big ones, are refused.
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
    /// The offsets of its header and of its data.
    uint64_t header = 0, begin = 0;
  };

  static llvm::Expected<ZipArchive> parse(const DataBuffer &file);

  llvm::ArrayRef<Entry> getEntries() const { return entries; }
  /// Unpacks an entry, or shares the file's bytes. Its checksum is verified.
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

  /// Adds an entry whose content is the concatenation of the pieces.
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
