//===- InputFlags.cpp - Flags that say how a model is read ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Options/InputFlags.h"

#include "mp-opt/API/Model/ModelInput.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace mp {

llvm::Error addSchemas(StringRef path, DialectRegistry &registry) {
  if (path.empty())
    return llvm::Error::success();
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError("--schemas: cannot read '" + path +
                                   "': " + file.getError().message());
  return registerSchemas((*file)->getBuffer(), path, registry);
}

llvm::Error checkRoots(ArrayRef<std::string> roots) {
  for (const std::string &root : roots)
    if (!llvm::sys::fs::is_directory(root))
      return llvm::createStringError(
          "--external-data-root: expected a folder, got '" + root + "'");
  return llvm::Error::success();
}

void addCheck(FlagTable &flags, StringRef name, CheckLevel &to) {
  flags.addChoice(name, "harmless violations of ONNX's rules",
                  {"lenient", "strict"},
                  [&to](size_t place) { to = CheckLevel(place); });
}

} // namespace mp
