//===- JitLink.cpp - Machine code of PTX by nvJitLink ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitLink.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/DynamicLibrary.h"

#include <cstdlib>

using llvm::StringRef;

namespace mp {

llvm::Error JitLink::open(const std::string &path) {
  std::string error;
  auto library = llvm::sys::DynamicLibrary::getLibrary(path.c_str(), &error);
  if (!library.isValid())
    return llvm::createStringError(error);
  std::string missing;
  auto get = [&](auto &function, const std::string &name) {
    // Before CUDA 12.3, names only exist with a version suffix.
    void *address = library.getAddressOfSymbol(name.c_str());
    if (!address)
      address = library.getAddressOfSymbol(("__" + name + "_12_0").c_str());
    if (!address && missing.empty())
      missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
  get(create, "nvJitLinkCreate");
  get(addData, "nvJitLinkAddData");
  get(complete, "nvJitLinkComplete");
  get(getCubinSize, "nvJitLinkGetLinkedCubinSize");
  get(getCubin, "nvJitLinkGetLinkedCubin");
  get(getLogSize, "nvJitLinkGetErrorLogSize");
  get(getLog, "nvJitLinkGetErrorLog");
  get(destroy, "nvJitLinkDestroy");
  if (missing.empty())
    return llvm::Error::success();
  return llvm::createStringError("expected the function " + missing + " in '" +
                                 path + "', found none");
}

/// The library that the loader has found; `error` is empty if it is usable.
struct FoundJitLink {
  JitLink library;
  bool isThere = false;
  std::string error;

  FoundJitLink() {
    if (const char *path = std::getenv("MPOPT_NVJITLINK"); path && *path) {
      isThere = true;
      if (llvm::Error failed = library.open(path))
        error = "nvJitLink where MPOPT_NVJITLINK says: " +
                llvm::toString(std::move(failed));
      return;
    }
    for (const char *path : {"libnvJitLink.so.13", "libnvJitLink.so.12"}) {
      llvm::Error failed = library.open(path);
      isThere = !failed;
      llvm::consumeError(std::move(failed));
      if (isThere)
        return;
    }
  }
};

llvm::Expected<const JitLink *> JitLink::find() {
  static const FoundJitLink found;
  if (!found.error.empty())
    return llvm::createStringError(found.error);
  return found.isThere ? &found.library : nullptr;
}

llvm::Error JitLink::describe(Handle handle, StringRef chip, int code) const {
  std::string log;
  size_t size = 0;
  if (handle && getLogSize(handle, &size) == 0 && size > 0) {
    log.resize(size + 1);
    if (getLog(handle, log.data()) != 0)
      log.clear();
  }
  std::string text = StringRef(log.c_str()).trim().str();
  if (text.empty())
    text = "error " + std::to_string(code);
  return llvm::createStringError("nvJitLink failed for " + chip + ": " + text);
}

llvm::Expected<std::string> JitLink::assemble(StringRef ptx,
                                              StringRef chip) const {
  constexpr int isPTX = 2;
  std::string architecture = ("-arch=" + chip).str(), text = ptx.str();
  const char *options[] = {architecture.c_str(), "-O3"};
  Handle handle = nullptr;
  auto release = llvm::scope_exit([&] {
    if (handle)
      destroy(&handle);
  });
  size_t size = 0;
  int code = create(&handle, std::size(options), options);
  // PTX includes its terminating zero.
  if (code == 0)
    code = addData(handle, isPTX, text.c_str(), text.size() + 1, "kernels");
  if (code == 0)
    code = complete(handle);
  if (code == 0)
    code = getCubinSize(handle, &size);
  std::string cubin(size, '\0');
  if (code == 0)
    code = getCubin(handle, cubin.data());
  if (code != 0)
    return describe(handle, chip, code);
  return cubin;
}

} // namespace mp
