//===- AssemblePTX.cpp - Machine code of PTX ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssemblePTX.h"

#include "JitLink.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

namespace mp {

namespace {
/// A file that is removed with this object.
class TemporaryFile {
public:
  llvm::Error open(StringRef suffix) {
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("mp-opt", suffix, path))
      return llvm::createStringError("no file for ptxas: " + error.message());
    remover.setFile(path);
    return llvm::Error::success();
  }
  StringRef getPath() const { return path; }
  llvm::Expected<std::string> read() const {
    auto content = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                               /*RequiresNullTerminator=*/false,
                                               /*IsVolatile=*/true);
    if (!content)
      return llvm::createStringError("ptxas: what it has written: " +
                                     content.getError().message());
    return (*content)->getBuffer().str();
  }

private:
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
};
} // namespace

static llvm::Expected<std::string> assembleByLibrary(StringRef ptx,
                                                     StringRef chip) {
  auto library = JitLink::find();
  if (library && *library)
    return (*library)->assemble(ptx, chip);
  std::string why = library ? "its library nvJitLink in the loader's path as "
                              "libnvJitLink.so.13 or .12, or where "
                              "MPOPT_NVJITLINK says"
                            : llvm::toString(library.takeError());
  return llvm::createStringError(
      "the program 'ptxas' of CUDA, which makes machine code for " + chip +
      ", was not found in PATH, nor " + why + "; PTX needs none");
}

bool hasAssembler() {
  if (llvm::sys::findProgramByName("ptxas"))
    return true;
  auto library = JitLink::find();
  if (!library)
    llvm::consumeError(library.takeError());
  return library && *library;
}

llvm::Expected<std::string> assemblePTX(StringRef ptx, StringRef chip) {
  auto program = llvm::sys::findProgramByName("ptxas");
  if (!program)
    return assembleByLibrary(ptx, chip);
  TemporaryFile source, made, messages;
  if (llvm::Error failed = llvm::joinErrors(
          llvm::joinErrors(source.open("ptx"), made.open("cubin")),
          messages.open("txt")))
    return failed;
  if (llvm::Error failed =
          llvm::writeToOutput(source.getPath(), [&](llvm::raw_ostream &os) {
            os << ptx;
            return llvm::Error::success();
          }))
    return failed;
  std::string architecture = ("-arch=" + chip).str();
  StringRef arguments[] = {*program,         architecture, "-O3",
                           source.getPath(), "-o",         made.getPath()};
  std::optional<StringRef> streams[] = {StringRef(), messages.getPath(),
                                        messages.getPath()};
  std::string error;
  if (llvm::sys::ExecuteAndWait(*program, arguments, std::nullopt, streams, 0,
                                0, &error)) {
    llvm::Expected<std::string> text = messages.read();
    if (error.empty() && text)
      error = StringRef(*text).rtrim().str();
    if (!text)
      llvm::consumeError(text.takeError());
    return llvm::createStringError("ptxas failed for " + chip + ": " + error);
  }
  return made.read();
}

} // namespace mp
