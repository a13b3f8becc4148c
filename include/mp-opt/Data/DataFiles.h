//===- DataFiles.h - Files that hold tensors --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's .npy and .npz, .safetensors, and raw elements. Files are not
// trusted: every length is checked against the file before anything is
// allocated, checksums are compared, and errors name the file and the tensor.
// Where a file has the elements as memory needs them they are mapped, not
// copied; writing to such a tensor leaves the file as it is.
//
// bfloat16 is what ml_dtypes makes of it in .npy files: `<V2`. No other type
// of that size has elements that NumPy cannot name.
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

/// The content of a file; tensors may share it.
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

/// What a file holds besides tensors: text by names.
using DataAttributes = std::map<std::string, std::string>;

/// Bytes as a tensor; copied where their address does not suit `kind`. Fails
/// unless `buffer` has the size that `kind` and `sizes` ask for. Booleans
/// other than 0 and 1 are refused.
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

/// As the name says, else as the content looks; absent if neither tells.
std::optional<DataFormat> getDataFormat(llvm::StringRef path,
                                        llvm::StringRef content);

/// Reads a file of any of these formats; the tensor of an .npy has no name.
/// Errors begin with the path.
llvm::Expected<std::vector<NamedTensor>> readDataFile(llvm::StringRef path);

/// These write to `os` what the readers above read. Kinds that a format lacks
/// are errors that name the tensor.
llvm::Error writeNpy(const Tensor &tensor, llvm::raw_ostream &os);
llvm::Error writeNpz(llvm::ArrayRef<NamedTensor> tensors,
                     llvm::raw_ostream &os);
llvm::Error writeSafetensors(llvm::ArrayRef<NamedTensor> tensors,
                             const DataAttributes &attributes,
                             llvm::raw_ostream &os);

/// Fails if the name has a suffix that is none of the formats, which
/// `writeDataFile` refuses. To tensors that have names, .npy is not offered.
llvm::Error checkDataFileName(llvm::StringRef path, bool haveNames = false);

/// Writes a file of the format that its name says (.npz without one), whole
/// or not at all.
llvm::Error writeDataFile(llvm::StringRef path,
                          llvm::ArrayRef<NamedTensor> tensors);

/// An error that begins with `what`.
llvm::Error prefixError(const llvm::Twine &what, llvm::Error error);

} // namespace mp

#endif // MPOPT_DATA_DATAFILES_H
