//===- Directory.h - Files below a folder, and nowhere else -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names that come from a model are not to be trusted. Checks of strings have
// failed four times in this field, so the kernel resolves them: beneath a
// descriptor of the folder, and through no link.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_DIRECTORY_H
#define MPOPT_SUPPORT_DIRECTORY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

struct stat;

namespace mp {

/// A file descriptor that is closed with its owner.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor &&other) : number(other.release()) {}
  Descriptor &operator=(Descriptor &&other);
  ~Descriptor() { close(); }

  int get() const { return number; }
  bool isOpen() const { return number >= 0; }
  void close();

private:
  int release();
  int number = -1;
};

/// Identifies a file independently of its path.
struct FileIdentity {
  uint64_t device = 0, inode = 0;

  explicit FileIdentity(const struct stat &status);
  bool operator==(const FileIdentity &other) const {
    return device == other.device && inode == other.inode;
  }
};

/// True if `name` is relative, not empty, and has neither ".." nor NUL in it.
bool isBelow(llvm::StringRef name);

/// Shortens a file's name to at most `room` bytes of whole characters.
llvm::StringRef shortenName(llvm::StringRef name, size_t room);

/// An open folder, which stays the same if its path changes.
class Directory {
public:
  /// Opens the folder at `path`, which is the user's: links in it are
  /// followed. The empty path is the current folder.
  static llvm::ErrorOr<Directory> open(llvm::StringRef path);

  /// Opens the file `name` below for reading, never through a link: those end
  /// with too_many_symbolic_link_levels. It may be of any type; a pipe without
  /// a writer does not block.
  llvm::ErrorOr<Descriptor> openFile(llvm::StringRef name) const;
  /// Opens the subfolder `name` in the same way; the empty name is this folder.
  /// With `made`, missing folders are created and appended to it.
  llvm::ErrorOr<Directory>
  openDirectory(llvm::StringRef name,
                std::vector<std::string> *made = nullptr) const;

  /// The names in the folder.
  llvm::ErrorOr<std::vector<std::string>> list() const;
  /// Makes names that came and went durable.
  std::error_code sync() const;
  FileIdentity getIdentity() const;

  int get() const { return descriptor->get(); }
  /// The path of a file in messages.
  std::string getPath(llvm::StringRef name) const;

private:
  Directory(Descriptor descriptor, std::string path)
      : descriptor(std::make_shared<Descriptor>(std::move(descriptor))),
        path(std::move(path)) {}

  std::shared_ptr<Descriptor> descriptor;
  std::string path;
};

/// The content of an open regular file, which is mapped if it is big.
llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>
mapFile(const Descriptor &file, const struct stat &status,
        llvm::StringRef name);

} // namespace mp

#endif // MPOPT_SUPPORT_DIRECTORY_H
