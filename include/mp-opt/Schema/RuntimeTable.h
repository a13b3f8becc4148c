//===- RuntimeTable.h - Operators and types of a runtime --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of a runtime that loads ONNX models (TensorRT, onnxruntime's
// providers, OpenVINO, mp-run), as plain data. lib/Schema/Runtimes has a file
// per runtime, of lines with cells that tabs separate:
//
//   runtime   NAME
//   release   VERSION  FIRST-OPSET  LAST-OPSET
//   rule      one-type | casts-fp16 | storage | functions |
//             static-shapes | fallback-16bit | own-scales |
//             requantized-biases
//   fallback  NAME[:VERSION]
//   kernel    OPERATOR  VERSIONS  VARIABLE  TYPES  CONDITION  RELEASES
//
// VERSIONS are those of the operator's schema: 13, 7-12, or * for all. VARIABLE
// is a type variable of the schema, or * for all that have no row. TYPES are
// f32, f16, bf16, f64 and other. CONDITION is - or a list such as
// `mode != cubic; input.1.constant == 1` (Policy/NodeOverrides.h). RELEASES are
// -, 10.15+, 10.1-10.15 or 11.0.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SCHEMA_RUNTIMETABLE_H
#define MPOPT_SCHEMA_RUNTIMETABLE_H

#include "mp-opt/Schema/Schema.h"

#include "llvm/ADT/StringMap.h"

namespace mp {

/// MAJOR.MINOR.
struct RuntimeRelease {
  unsigned major = 0, minor = 0;

  /// Reads "MAJOR" or "MAJOR.MINOR"; without a minor number it is `minor`.
  static std::optional<RuntimeRelease> parse(llvm::StringRef text,
                                             unsigned minor = 0);
  std::string str() const;
  friend bool operator<(const RuntimeRelease &a, const RuntimeRelease &b) {
    return std::pair(a.major, a.minor) < std::pair(b.major, b.minor);
  }
};

/// A row: the types that one type variable of an operator admits.
struct RuntimeKernel {
  /// Qualified as by getQualifiedName.
  std::string op;
  /// Versions of the schema, including both ends; `until` is the greatest
  /// number for all later ones.
  int since = 1, until = 1;
  /// "*" for all variables without a row of their own.
  std::string variable;
  /// A bit per ElementKind of a float.
  uint32_t floats = 0;
  bool takesOther = false;
  struct Condition {
    std::string subject, comparison, value;
  };
  std::vector<Condition> conditions;
  RuntimeRelease first, last = {~0u, ~0u};
};

enum class RuntimeRule : uint8_t {
  /// All float operands of a node have one type.
  OneType = 1,
  /// If an fp16 kernel is missing, the runtime converts to fp32 and back.
  CastsFP16 = 2,
  /// Types in the file are storage: computing in 16 bit gains nothing.
  Storage = 4,
  /// An operator without a kernel runs as the function by which ONNX defines
  /// it.
  InlinesFunctions = 8,
  /// All dimensions are known.
  StaticShapes = 16,
  /// The fallback runs next to it in 16 bit, too.
  Fallback16Bit = 32,
  /// It computes QuantizeLinear and DequantizeLinear with fp32 scales and
  /// 16-bit
  /// floats (from opset 23 on).
  OwnScales = 64,
  /// It quantizes constant biases of products between them, with the product of
  /// both scales in their type.
  RequantizedBiases = 128,
};

class RuntimeTable {
public:
  struct Release {
    RuntimeRelease number;
    int firstOpset = 1, lastOpset = 1;
  };

  /// Fails, naming `file` and the line, on anything malformed.
  static llvm::Expected<RuntimeTable> parse(llvm::StringRef text,
                                            llvm::StringRef file);
  /// Adds a line `kernel ...`. Fails as `parse`.
  llvm::Error addRow(llvm::StringRef line, llvm::StringRef file);
  /// The built-in table of a name, parsed on first use; null if there is none.
  static const RuntimeTable *lookup(llvm::StringRef name);
  /// The names of the built-in tables, without "any".
  static llvm::ArrayRef<llvm::StringRef> getNames();
  /// The file's text, for users to read.
  static llvm::StringRef getText(llvm::StringRef name);

  llvm::StringRef getName() const { return name; }
  llvm::ArrayRef<Release> getReleases() const { return releases; }
  bool has(RuntimeRule rule) const { return rules & unsigned(rule); }
  /// "NAME[:VERSION]" of the runtime that runs what this one does not; empty if
  /// there is none.
  llvm::StringRef getFallback() const { return fallback; }
  /// The rows of an operator, of all releases.
  llvm::ArrayRef<RuntimeKernel> getKernels(llvm::StringRef op) const;

private:
  class Parser;

  std::string name, fallback;
  std::vector<Release> releases;
  unsigned rules = 0;
  llvm::StringMap<std::vector<RuntimeKernel>> kernels;
};

/// A table at one release.
class RuntimeProfile {
public:
  /// `request` is "NAME" or "NAME:MAJOR[.MINOR]". Fails for an unknown name or
  /// version, with the nearest names or the known versions.
  static llvm::Expected<RuntimeProfile> create(llvm::StringRef request);

  const RuntimeTable &getTable() const { return *table; }
  /// For example "tensorrt 10.15".
  std::string str() const;
  bool has(RuntimeRule rule) const { return table->has(rule); }
  int getFirstOpset() const { return release.firstOpset; }
  int getLastOpset() const { return release.lastOpset; }
  /// True if the version that was asked for is newer than the table's last.
  bool isOlderThanAsked() const { return isOlder; }

  /// The rows for a version of an operator at this release, and those of
  /// `more` unless it is null.
  llvm::SmallVector<const RuntimeKernel *>
  getKernels(llvm::StringRef op, int since, const RuntimeTable *more) const;

private:
  const RuntimeTable *table = nullptr;
  RuntimeTable::Release release;
  bool isOlder = false;
};

} // namespace mp

#endif // MPOPT_SCHEMA_RUNTIMETABLE_H
