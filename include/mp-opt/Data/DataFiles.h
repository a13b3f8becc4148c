//===- DataFiles.h - Files that hold tensors --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes NumPy's .npy and .npz, .safetensors, and raw elements. Files
// are not trusted: every length is checked against the file before anything is
// allocated, checksums are compared, and errors name the file and the tensor.
// If a file contains elements in the form used in memory, they are mapped and
// not copied; writing to such a tensor does not change the file.
//
// In .npy files, bfloat16 has the type `<V2`, as written by ml_dtypes. It is
// the only type of that size that NumPy cannot name.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DATA_DATAFILES_H
#define MPOPT_DATA_DATAFILES_H

#include "mp-opt/Data/Tensor.h"
#include "mp-opt/Support/AtomicFile.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mp {

/// The content of a file, which tensors may share.
struct DataBuffer {
  llvm::MutableArrayRef<char> bytes;
  std::shared_ptr<void> owner;

  llvm::StringRef getText() const { return {bytes.data(), bytes.size()}; }
  DataBuffer slice(size_t begin, size_t size) const {
    return {bytes.slice(begin, size), owner};
  }

  /// Maps a file, or reads a small one.
  static llvm::Expected<DataBuffer> open(llvm::StringRef path);
  static DataBuffer copy(llvm::StringRef bytes);
};

/// Attributes of a file: texts by name.
using DataAttributes = std::map<std::string, std::string>;

/// Makes a tensor of bytes, which are copied only if they are not aligned for
/// `kind`. Fails unless `buffer` has the size given by `kind` and `sizes`, or
/// if booleans are neither 0 nor 1.
llvm::Expected<Tensor> makeTensor(ElementKind kind,
                                  llvm::ArrayRef<int64_t> sizes,
                                  const DataBuffer &buffer);

llvm::Expected<Tensor> parseNpy(const DataBuffer &file);
/// Entries in the order of the archive, without `.npy`.
llvm::Expected<std::vector<NamedTensor>> parseNpz(const DataBuffer &file);
/// Entries in the order of their data.
llvm::Expected<std::vector<NamedTensor>>
parseSafetensors(const DataBuffer &file, DataAttributes *attributes = nullptr);
/// Elements of one tensor in the machine's order; one of `sizes` may be -1.
llvm::Expected<Tensor> parseRaw(const DataBuffer &file, ElementKind kind,
                                llvm::ArrayRef<int64_t> sizes);

enum class DataFormat { Npy, Npz, Safetensors };

/// The format given by the name, else recognized from the content; absent if
/// both are unknown.
std::optional<DataFormat> getDataFormat(llvm::StringRef path,
                                        llvm::StringRef content);

/// Reads a file of any of these formats; the tensor of an .npy has no name.
/// Errors begin with the path.
llvm::Expected<std::vector<NamedTensor>> readDataFile(llvm::StringRef path);

/// Writers for the formats of the readers above. They fail, naming the tensor,
/// for kinds that the format does not support.
llvm::Error writeNpy(const Tensor &tensor, llvm::raw_ostream &os);
llvm::Error writeNpz(llvm::ArrayRef<NamedTensor> tensors,
                     llvm::raw_ostream &os);
llvm::Error writeSafetensors(llvm::ArrayRef<NamedTensor> tensors,
                             const DataAttributes &attributes,
                             llvm::raw_ostream &os);

/// Fails if the suffix of the name is not that of a format that `writeDataFile`
/// supports. Tensors with names cannot be written as .npy.
llvm::Error checkDataFileName(llvm::StringRef path, bool haveNames = false);

/// Writes a file atomically in the format given by its name (.npz by default).
llvm::Error writeDataFile(llvm::StringRef path,
                          llvm::ArrayRef<NamedTensor> tensors);

/// Prefixes an error with `what`.
llvm::Error prefixError(const llvm::Twine &what, llvm::Error error);

} // namespace mp

#endif // MPOPT_DATA_DATAFILES_H
