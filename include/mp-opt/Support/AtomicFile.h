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

/// A file that replaces the target only when it is complete and synced; until
/// then an older target stays unchanged. While it is written it has no name if
/// the file system supports that (O_TMPFILE), else one next to its target:
///
///     .<target>.mp-opt-XXXXXXXX.tmp
///
/// A temporary file is removed with this object, or by a signal that ends the
/// process. Files of killed processes are removed by the next process that
/// writes the same target; files in use are locked. Targets that are not
/// regular files are written to directly.
class AtomicFile {
public:
  /// Called for each file that a killed process has left.
  using LeftoverFn = llvm::function_ref<void(llvm::StringRef content)>;

  /// Creates a file that will become `path`. If that is a link, the link stays
  /// and its target is replaced. The permissions of an existing file stay.
  static llvm::Expected<std::unique_ptr<AtomicFile>>
  create(llvm::StringRef path, LeftoverFn onLeftover = nullptr);

  /// Fails as `create` would if `path` could not be written, and leaves
  /// nothing: for runs that write at their end. Pipes and devices are not
  /// opened.
  static llvm::Error check(llvm::StringRef path);

  /// Creates a file in `folder` whose name may be set later. Links are not
  /// followed. It gets its permissions and the form of its temporary names from
  /// `main`. Messages call it `shown`.
  static llvm::Expected<std::unique_ptr<AtomicFile>>
  createPart(const Directory &folder, const AtomicFile &main,
             const llvm::Twine &shown);

  ~AtomicFile();

  llvm::raw_ostream &os() { return *stream; }

  /// Sets the length, reserves disk space, and returns the descriptor, for
  /// writing at offsets instead of through os().
  llvm::Expected<int> setLength(uint64_t length);

  /// Writes buffered data and syncs; the target is still unchanged.
  llvm::Error finish();
  /// Makes a finished file the target.
  llvm::Error commit();

  /// True if a finished file has this content.
  bool hasContent(llvm::StringRef content) const;

  void setName(llvm::StringRef newName) { name = newName.str(); }
  /// Gives a finished part its name, replacing an existing link or file. If
  /// none existed, this object or a signal removes the part again, unless
  /// `commitTogether` has committed it.
  llvm::Error place();

  /// Makes an error that names the file.
  llvm::Error fail(std::error_code error) const;

  /// True if it writes to a device, a pipe, ...
  bool isDirect() const { return direct; }
  /// The target's folder, and its name in that folder.
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

  /// The name used in messages.
  std::string shown;
  std::optional<Directory> folder;
  std::string name;
  /// The target's name from which temporary names are derived.
  std::string base;
  std::string temporary;
  Descriptor descriptor;
  std::optional<unsigned> mode;
  bool direct = false;
  /// True if the file has its final name.
  bool placed = false;
  /// True if it has its final name, but must still be removed unless committed.
  bool provisional = false;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

/// Makes finished files visible: first the parts that are not placed yet, then
/// `main`. If it fails before `main` is placed, the parts are removed. At the
/// end, files of `obsoleteFolder` that only the old main file needed are
/// removed.
///
/// If the process is killed in between, the file left under a temporary name
/// (first the new main file, then the old one) names the parts to be removed.
llvm::Error commitTogether(llvm::ArrayRef<AtomicFile *> parts, AtomicFile &main,
                           llvm::ArrayRef<std::string> obsolete = {},
                           const Directory *obsoleteFolder = nullptr);

/// Flushes standard output; fails if any output was lost.
llvm::Error flushStandardOutput();

} // namespace mp

#endif // MPOPT_SUPPORT_ATOMICFILE_H
