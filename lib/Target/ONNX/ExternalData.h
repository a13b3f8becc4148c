//===- ExternalData.h - Weights in separate files ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model names the files of its weights, and may come from an untrusted
// source. Therefore files are opened beneath the model's folder and checked
// after opening: they must be regular, have one name, and be long enough. They
// are read only through that descriptor. Truncation of a file by another
// process while it is mapped cannot be prevented.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_EXTERNALDATA_H
#define MPOPT_LIB_TARGET_ONNX_EXTERNALDATA_H

#include "mp-opt/Support/Directory.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace onnx {
class TensorProto;
}

namespace mp {

/// The external data files of one model.
class ExternalData {
public:
  /// `folder` is the model's folder. Links are followed only if there are
  /// `roots`, and only to files below one of these or below the model's folder.
  ExternalData(std::string folder, std::vector<std::string> roots)
      : folderPath(std::move(folder)), roots(std::move(roots)) {}

  /// The bytes of an external tensor. Errors name the tensor's fault.
  llvm::Expected<llvm::StringRef> get(const ::onnx::TensorProto &tensor);
  /// Opens the whole file `name`.
  llvm::Expected<std::shared_ptr<llvm::MemoryBuffer>>
  getFile(llvm::StringRef name);
  /// The names of the files opened so far, in alphabetical order.
  std::vector<std::string> getNames() const;

private:
  llvm::Error fail(llvm::StringRef name, const llvm::Twine &why) const;
  llvm::Expected<Descriptor> open(llvm::StringRef name);
  llvm::Expected<Descriptor> openLinked(llvm::StringRef name,
                                        const llvm::Twine &what);

  std::string folderPath;
  std::vector<std::string> roots;
  std::optional<Directory> folder;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
};

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_EXTERNALDATA_H
