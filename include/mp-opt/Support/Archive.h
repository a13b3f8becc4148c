//===- Archive.h - Structures as bytes, in both directions ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per structure lists its fields, for the writer and the reader:
//
//   template <typename Archive> void visit(Archive &archive, Point &point) {
//     archive.number(point.x);
//     archive.text(point.name);
//   }
//
// Numbers are LEB128, negative ones as their two's complement of 64 bits. Texts
// and lists start with their length.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ARCHIVE_H
#define MPOPT_SUPPORT_ARCHIVE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace mp {

class ArchiveWriter {
public:
  explicit ArchiveWriter(std::string &bytes) : os(bytes) {}

  template <typename T> void number(const T &value) {
    llvm::encodeULEB128(static_cast<uint64_t>(value), os);
  }
  void text(llvm::StringRef text) {
    number(text.size());
    os << text;
  }
  /// Calls `visit` for each item.
  template <typename List, typename Function>
  void list(List &items, Function visit) {
    number(items.size());
    for (auto &item : items)
      visit(item);
  }
  template <typename T, typename Function>
  void optional(std::optional<T> &value, Function visit) {
    number(value.has_value());
    if (value)
      visit(*value);
  }

private:
  llvm::raw_string_ostream os;
};

/// Reads untrusted bytes, which must outlive texts that are read as StringRef.
/// Bytes that end early, and numbers out of the range of their type, make
/// `isGood` false; everything that is read after that is zero or empty.
class ArchiveReader {
public:
  explicit ArchiveReader(llvm::StringRef bytes) : rest(bytes) {}

  template <typename T> void number(T &value) {
    uint64_t number = getNumber();
    value = static_cast<T>(number);
    require(static_cast<uint64_t>(value) == number);
    if (!isGood())
      value = T();
  }
  void text(llvm::StringRef &text) {
    uint64_t size = getNumber();
    require(size <= rest.size());
    text = isGood() ? rest.take_front(size) : "";
    rest = rest.drop_front(text.size());
  }
  void text(std::string &result) {
    llvm::StringRef read;
    text(read);
    result = read.str();
  }
  template <typename List, typename Function>
  void list(List &items, Function visit) {
    // Items take memory as they are read: the length may be wrong.
    for (uint64_t size = getNumber(); size > 0 && isGood(); --size)
      visit(items.emplace_back());
  }
  template <typename T, typename Function>
  void optional(std::optional<T> &value, Function visit) {
    bool isThere = false;
    number(isThere);
    if (isThere)
      visit(value.emplace());
  }

  void require(bool condition) { good &= condition; }
  bool isGood() const { return good; }
  bool isAtEnd() const { return rest.empty(); }

private:
  uint64_t getNumber() {
    const char *error = nullptr;
    unsigned size = 0;
    uint64_t number = llvm::decodeULEB128(rest.bytes_begin(), &size,
                                          rest.bytes_end(), &error);
    require(!error);
    if (!isGood())
      return 0;
    rest = rest.drop_front(size);
    return number;
  }

  llvm::StringRef rest;
  bool good = true;
};

} // namespace mp

#endif // MPOPT_SUPPORT_ARCHIVE_H
