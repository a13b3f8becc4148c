//===- JitLink.h - Machine code of PTX by nvJitLink -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nvJitLink is the library of CUDA that links device code; it has the assembler
// of ptxas in it, and is there where programs of CUDA are not: Python packages
// of GPU frameworks bring it. It is opened when it is needed.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_JITLINK_H
#define MPOPT_LIB_EXECUTION_JITLINK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mp {

class JitLink {
public:
  /// libnvJitLink.so.13 or .12 in the loader's path, or the file that
  /// MPOPT_NVJITLINK names. Null where the loader finds none; errors say why
  /// what was found cannot be used. The library is opened once, and stays.
  static llvm::Expected<const JitLink *> find();

  /// A cubin of `ptx` for `chip`. Errors are the library's.
  llvm::Expected<std::string> assemble(llvm::StringRef ptx,
                                       llvm::StringRef chip) const;

private:
  /// As nvJitLink.h declares them: results are zero for success, a handle is a
  /// pointer.
  using Handle = void *;
  int (*create)(Handle *, uint32_t numOptions, const char **options) = nullptr;
  int (*addData)(Handle, int kind, const void *data, size_t size,
                 const char *name) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*getCubinSize)(Handle, size_t *) = nullptr;
  int (*getCubin)(Handle, void *) = nullptr;
  int (*getLogSize)(Handle, size_t *) = nullptr;
  int (*getLog)(Handle, char *) = nullptr;
  int (*destroy)(Handle *) = nullptr;

  /// An error if the file at `path` is none of the library.
  llvm::Error open(const std::string &path);
  llvm::Error describe(Handle handle, llvm::StringRef chip, int code) const;

  friend struct FoundJitLink;
};

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_JITLINK_H
