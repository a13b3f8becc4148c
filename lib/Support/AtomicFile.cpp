//===- AtomicFile.cpp - Output files that are whole or not there ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/AtomicFile.h"

#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

Error AtomicFile::fail(std::error_code error) const {
  return createStringError("cannot write '" + path + "': " + error.message());
}

Expected<std::unique_ptr<AtomicFile>> AtomicFile::create(StringRef path) {
  std::unique_ptr<AtomicFile> file(new AtomicFile());
  file->path = path.str();
  // A link keeps pointing where it did; its target is replaced.
  SmallString<256> real;
  if (!sys::fs::real_path(path, real))
    file->path = real.str().str();
  if (sys::fs::is_directory(file->path))
    return file->fail(std::make_error_code(std::errc::is_a_directory));
  // A device or a pipe is written to, never replaced.
  if (sys::fs::exists(file->path) && !sys::fs::is_regular_file(file->path)) {
    if (std::error_code error = sys::fs::openFileForWrite(
            file->path, file->descriptor, sys::fs::CD_OpenExisting))
      return file->fail(error);
    file->stream = std::make_unique<raw_fd_ostream>(file->descriptor,
                                                    /*shouldClose=*/false);
    return file;
  }
  SmallString<256> temporary;
  if (std::error_code error = sys::fs::createUniqueFile(
          file->path + ".tmp-%%%%%%%%", file->descriptor, temporary,
          sys::fs::OF_None, sys::fs::all_read | sys::fs::all_write))
    return file->fail(error);
  file->temporary = temporary.str().str();
  sys::RemoveFileOnSignal(temporary);
  file->stream = std::make_unique<raw_fd_ostream>(file->descriptor,
                                                  /*shouldClose=*/false);
  file->stream->SetBufferSize(1 << 16);
  return file;
}

AtomicFile::~AtomicFile() {
  if (stream) {
    stream->clear_error();
    stream.reset();
  }
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty()) {
    sys::fs::remove(temporary);
    sys::DontRemoveFileOnSignal(temporary);
  }
}

Error AtomicFile::finish() {
  stream->flush();
  if (stream->has_error()) {
    std::error_code error = stream->error();
    stream->clear_error();
    return fail(error);
  }
  if (!temporary.empty() && ::fsync(descriptor))
    return fail(errnoAsErrorCode());
  return Error::success();
}

Error AtomicFile::commit() {
  if (temporary.empty())
    return Error::success();
  if (std::error_code error = sys::fs::rename(temporary, path))
    return fail(error);
  sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  // The rename itself is durable once the folder is.
  StringRef folder = sys::path::parent_path(path);
  int folderDescriptor =
      ::open(folder.empty() ? "." : folder.str().c_str(), O_RDONLY);
  if (folderDescriptor >= 0) {
    ::fsync(folderDescriptor);
    ::close(folderDescriptor);
  }
  return Error::success();
}

llvm::Error flushStandardOutput() {
  llvm::raw_fd_ostream &os = llvm::outs();
  os.flush();
  if (!os.has_error())
    return llvm::Error::success();
  std::string why = os.error().message();
  os.clear_error();
  return llvm::createStringError("cannot write to standard output: " + why);
}

} // namespace mp
