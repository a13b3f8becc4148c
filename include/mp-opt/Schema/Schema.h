//===- Schema.h - Operator schemas of ONNX and other domains ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The signature of every operator at every opset, as plain data: formal
// operands and results with their type variables, the element types that each
// variable admits, attributes with defaults. The standard domains come from
// ONNX's own registry, com.microsoft from a JSON file with the same content.
// The build packs both into a table, from which a process unpacks only the
// operators that it needs. Further domains come from files in that JSON form.
// This header does not depend on ONNX's headers; the rest of mp-opt uses these
// classes.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SCHEMA_SCHEMA_H
#define MPOPT_SCHEMA_SCHEMA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm::json {
class Value;
} // namespace llvm::json

namespace mp {

/// Element types by their number in TensorProto.DataType.
enum class ElementKind : uint8_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};

/// The spelling inside `tensor(...)`, e.g. "float", "bfloat16"; empty if
/// unknown.
llvm::StringRef getElementKindName(ElementKind kind);

/// The structure around an element type.
enum class TypeShape : uint8_t {
  Tensor,
  Sequence,
  Optional,
  OptionalSequence,
  SparseTensor,
};

/// The set of types that a type variable admits.
class TypeSet {
public:
  bool contains(TypeShape shape, ElementKind kind) const {
    return bits[unsigned(shape)] >> unsigned(kind) & 1;
  }
  bool containsTensor(ElementKind kind) const {
    return contains(TypeShape::Tensor, kind);
  }
  /// True if types outside the lattice above (map, opaque, nested sequences)
  /// are admitted; such types are not checked.
  bool admitsOther() const { return other; }
  /// True if every type of `rhs` is in this set.
  bool includes(const TypeSet &rhs) const;

  /// Adds a type in ONNX's spelling, e.g. "seq(tensor(float))".
  void insert(llvm::StringRef type);

private:
  template <typename Archive> friend void visit(Archive &archive, TypeSet &set);

  uint32_t bits[5] = {};
  bool other = false;
};

struct TypeVariable {
  /// "T", or a concrete type such as "tensor(int64)".
  std::string name;
  TypeSet types;
};

struct FormalParameter {
  enum Option : uint8_t { Single, Optional, Variadic };
  std::string name;
  /// Index into OpSchema::typeVariables.
  unsigned typeVariable = 0;
  Option option = Single;
  /// Variadic only: all actual parameters have one type.
  bool homogeneous = true;
  /// Variadic only.
  unsigned minArity = 1;
};

struct AttributeSchema {
  std::string name;
  /// The name in AttributeProto.AttributeType: "INT", "FLOATS", ...
  std::string kind;
  bool required = false;
  /// The default in its printed form; absent if there is none.
  std::optional<std::string> defaultValue;

  /// True for sizes, counts and steps, by which implementations divide or which
  /// determine memory sizes: their values are at least 1 and less than 2^31.
  /// ONNX only says this in prose.
  bool isSize() const;
};

/// One operator at one version.
struct OpSchema {
  std::string domain;
  std::string name;
  int since = 1;
  bool deprecated = false;
  /// True if equal inputs give equal outputs (false for random generators).
  bool deterministic = true;
  /// True if the list of attributes is complete, so that others are errors.
  bool checkedAttributes = true;
  std::vector<FormalParameter> inputs;
  std::vector<FormalParameter> outputs;
  std::vector<AttributeSchema> attributes;
  std::vector<TypeVariable> typeVariables;
  /// The number of this schema among those of ONNX, from 1; 0 for other
  /// domains.
  unsigned onnxNumber = 0;

  bool isONNX() const { return onnxNumber; }
  /// ONNX's own schema, an onnx::OpSchema for type inference, created on first
  /// use; null for other domains.
  const void *getONNXSchema() const;

  /// The formal parameter for an operand's index (the last variadic one
  /// repeats); null if there are too many operands.
  const FormalParameter *getInput(unsigned index) const;
  const FormalParameter *getOutput(unsigned index) const;
  const AttributeSchema *getAttribute(llvm::StringRef name) const;
  const TypeSet &typesOf(const FormalParameter &parameter) const {
    return typeVariables[parameter.typeVariable].types;
  }
  /// For example "Conv-11", after the domain unless that is the default one.
  std::string getDisplayName() const;
};

/// All versions of one operator.
class OpFamily {
public:
  using Versions = std::vector<std::unique_ptr<OpSchema>>;

  std::string domain;
  std::string name;
  /// True if every version is ONNX's, deterministic and without subgraphs.
  bool isPure = true;

  /// The versions, at least one, oldest first; unpacked on first use.
  const Versions &getVersions() const {
    return isUnpacked.load(std::memory_order_acquire) ? versions : unpack();
  }
  /// The version in force at `opset`, or null if the op was added later.
  const OpSchema *at(int opset) const;
  /// The first version whose version number is above `since`, or null.
  const OpSchema *after(int since) const;

private:
  friend class SchemaRegistry;
  const Versions &unpack() const;
  /// Adds a version unless there is one with its number.
  void add(std::unique_ptr<OpSchema> version);

  mutable std::atomic<bool> isUnpacked = true;
  mutable Versions versions;
  llvm::StringRef packed;
};

class RuntimeTable;

/// The set of known operators.
class SchemaRegistry {
public:
  /// The standard domains and com.microsoft; made once per process.
  static const SchemaRegistry &builtin();
  /// The same as a separate registry, to which further domains can be added.
  static std::unique_ptr<SchemaRegistry> createBuiltin();

  /// The schemas of ONNX's library and of `json`, for the build, which packs
  /// them.
  static llvm::Expected<std::unique_ptr<SchemaRegistry>>
  createFromSources(llvm::StringRef json, llvm::StringRef file);
  std::string pack() const;

  /// Adds the operators of a JSON text in the form of com.microsoft.json, and
  /// the rows of runtimes under its key "runtimes": an object of lists of
  /// `kernel` lines (RuntimeTable.h) by the names of runtimes. Fails, naming
  /// `file` and the place, on anything malformed.
  llvm::Error addJSON(llvm::StringRef text, llvm::StringRef file);

  /// Null if the domain or the op is unknown. "" and "ai.onnx" are one domain.
  const OpFamily *lookup(llvm::StringRef domain, llvm::StringRef name) const;

  /// Families in alphabetical order of domain and name.
  llvm::ArrayRef<const OpFamily *> getFamilies() const { return order; }

  /// The newest opset of a standard domain; 0 for others.
  int getNewestOpset(llvm::StringRef domain) const;

  /// Rows that files have added to the table of a runtime; null if there are
  /// none.
  const RuntimeTable *getRuntimeRows(llvm::StringRef runtime) const;

private:
  SchemaRegistry() = default;
  void addONNX();
  llvm::Error addRuntimes(const llvm::json::Value &value, llvm::StringRef file);
  /// `packed` must live as long as the registry.
  void addPacked(llvm::StringRef packed);
  OpFamily &getOrCreate(llvm::StringRef domain, llvm::StringRef name);
  void finish();

  std::map<std::string, std::shared_ptr<RuntimeTable>, std::less<>> runtimes;
  llvm::StringMap<std::unique_ptr<OpFamily>> families;
  std::vector<const OpFamily *> order;
  llvm::StringMap<int> newest;
};

/// "ai.onnx" and "" name the same domain; the result is the latter.
inline llvm::StringRef normalizeDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? llvm::StringRef() : domain;
}

/// The family's name with its domain: "Conv", "com.microsoft.ConvGrad".
std::string getQualifiedName(llvm::StringRef domain, llvm::StringRef name);

} // namespace mp

#endif // MPOPT_SCHEMA_SCHEMA_H
