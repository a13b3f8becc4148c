//===- AtomicFile.h - Output files that are whole or not there --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ATOMICFILE_H
#define MPOPT_SUPPORT_ATOMICFILE_H

#include "mp-opt/Support/Directory.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <optional>
#include <string>

namespace mp {

/// A file that becomes the target only when it is complete and synced; until
/// then an older target stays as it was. While it is written it has no name
/// where the file system can do that (O_TMPFILE), else one beside its target:
///
///     .<target>.mp-opt-XXXXXXXX.tmp
///
/// A temporary name goes with the file, or with a signal that ends the
/// process. What a killed process leaves is removed by the next one that
/// writes the same target: in use, it is locked. Targets that are no regular
/// files are written to directly.
class AtomicFile {
public:
  /// Learns of each file that a killed process has left.
  using LeftoverFn = llvm::function_ref<void(llvm::StringRef content)>;

  /// A file to become `path`. Where that is a link, it keeps pointing where it
  /// does, and its target is replaced. The permissions of an old file stay.
  static llvm::Expected<std::unique_ptr<AtomicFile>>
  create(llvm::StringRef path, LeftoverFn onLeftover = nullptr);

  /// Fails as `create` would if `path` could not be written, and leaves
  /// nothing: for runs that write at their end. Pipes and devices are not
  /// opened.
  static llvm::Error check(llvm::StringRef path);

  /// A new file of `folder` whose name may be told later. It never goes
  /// through a link. It belongs to `main`: it has its permissions and temporary
  /// names like it. Messages call it `shown`.
  static llvm::Expected<std::unique_ptr<AtomicFile>>
  createPart(const Directory &folder, const AtomicFile &main,
             const llvm::Twine &shown);

  ~AtomicFile();

  llvm::raw_ostream &os() { return *stream; }

  /// For writing at offsets instead of through os(): the descriptor, after
  /// the file has got its length (and its room on the disk).
  llvm::Expected<int> setLength(uint64_t length);

  /// Writes what is buffered and syncs; the target is still untouched.
  llvm::Error finish();
  /// Makes a finished file the target.
  llvm::Error commit();

  /// True if a finished file has this content.
  bool hasContent(llvm::StringRef content) const;

  void setName(llvm::StringRef newName) { name = newName.str(); }
  /// Gives a finished part its name; a link or a file that has it is replaced.
  /// If there was none, the part is removed again with this object, or by a
  /// signal, until `commitTogether` has made it a part of something.
  llvm::Error place();

  /// An error that names the file.
  llvm::Error fail(std::error_code error) const;

  /// It writes to a device, a pipe, ...
  bool isDirect() const { return direct; }
  /// Where the target is, and its name there.
  const Directory &getFolder() const { return *folder; }
  const std::string &getName() const { return name; }

private:
  friend llvm::Error commitTogether(llvm::ArrayRef<AtomicFile *> parts,
                                    AtomicFile &main,
                                    llvm::ArrayRef<std::string> obsolete,
                                    const Directory *obsoleteFolder);
  AtomicFile() = default;
  llvm::Error failNow() const;
  llvm::Error openTemporary();
  llvm::Error openNamed();
  llvm::Error expose();
  llvm::Error placeNew();
  llvm::Error syncData();
  std::string chooseTemporary() const;
  void forgetTemporary();

  /// What messages call it.
  std::string shown;
  std::optional<Directory> folder;
  std::string name;
  /// The target's name where temporary names come from.
  std::string base;
  std::string temporary;
  Descriptor descriptor;
  std::optional<unsigned> mode;
  bool direct = false;
  /// It has its name.
  bool placed = false;
  /// It has, but its removal is still due.
  bool provisional = false;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

/// Makes finished files visible: the parts that are not placed, then `main`.
/// If that fails before `main` is, the parts are gone again. At the end, files
/// of `obsoleteFolder` that only the old main needed are removed.
///
/// Should the process be killed in between, what it leaves under a temporary
/// name - the new main, then the old one - names the parts to be removed.
llvm::Error commitTogether(llvm::ArrayRef<AtomicFile *> parts, AtomicFile &main,
                           llvm::ArrayRef<std::string> obsolete = {},
                           const Directory *obsoleteFolder = nullptr);

/// Flushes standard output; fails if anything written to it got lost.
llvm::Error flushStandardOutput();

} // namespace mp

#endif // MPOPT_SUPPORT_ATOMICFILE_H
