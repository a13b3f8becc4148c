//===- PolicyOptions.h - Options of a policy --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All settings that a user can make, as a value. Each entry knows its origin: a
// flag ("--allow") or the line of a file ("ops.txt:3").
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_POLICYOPTIONS_H
#define MPOPT_PRECISION_POLICY_POLICYOPTIONS_H

#include "mp-opt/Dialect/MP/Attributes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// A text and its origin.
struct PolicyEntry {
  std::string text;
  std::string place;
};

/// A list of operators for each class. Operators are "Conv" (in any domain),
/// "ai.onnx.Conv", "com.microsoft.FusedMatMul", all of a domain
/// ("ai.onnx.ml.*"), or functions of torch ("addmm").
class OperatorLists {
public:
  std::vector<PolicyEntry> &operator[](OpClass opClass) {
    return lists[unsigned(opClass)];
  }
  llvm::ArrayRef<PolicyEntry> operator[](OpClass opClass) const {
    return lists[unsigned(opClass)];
  }

private:
  std::array<std::vector<PolicyEntry>, 4> lists;
};

/// A condition on an attribute ("group"), or on the shape of an operand or
/// result ("input.0.rank", "output.0.elements", "input.1.dim.0").
struct NodeCondition {
  enum Comparison : uint8_t {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual
  };
  std::string subject;
  Comparison comparison = Equal;
  /// A single value, or the elements of a list.
  std::vector<std::string> values;
  bool isList = false;
  std::string place;
};

/// A rule that gives a class to the nodes that it selects.
struct NodeRule {
  enum Kind : uint8_t {
    /// `text` is the name of a node.
    Name,
    /// `text` is a regular expression for whole names.
    Regex,
    /// All nodes on a path from node or value `text` to `other`.
    Between,
    /// Nodes of operator `text` for which all `conditions` hold.
    Where,
    /// Nodes with `other` under the key `text` of their metadata.
    Metadata,
  };
  Kind kind;
  OpClass opClass;
  std::string text;
  std::string other;
  std::vector<NodeCondition> conditions;
  std::string place;

  /// For example "'head/.*' in --deny-node", "the region from 'a' to 'b' at
  /// p.yaml:4".
  std::string describe() const;
};

struct PolicyOptions {
  /// "bf16", "fp16", or "float32", which changes nothing; bf16 if absent.
  std::optional<PolicyEntry> precision;
  OperatorLists operators;
  /// Replaces the built-in lists; empty lists mean that there are none.
  std::optional<OperatorLists> defaults;
  std::vector<NodeRule> rules;
  /// The key under which nodes request a class in their metadata.
  std::optional<PolicyEntry> nodeMetadata;
  /// The key of the model's metadata that holds more of this policy.
  std::optional<PolicyEntry> modelMetadata;

  /// Settings for later stages: the assignment rule, the percentage of its
  /// bytes that a 16-bit region must save, sizes of symbolic dimensions,
  /// whether the opset may be raised, and whether an unfulfilled request is an
  /// error.
  std::optional<PolicyEntry> assign, minSaving;
  /// "NAME=SIZE".
  std::vector<PolicyEntry> dims;
  /// Rules for types of graph inputs and outputs (InterfaceTypes.h).
  std::vector<PolicyEntry> io;
  std::optional<bool> raiseOpset, strict;

  /// Remarks for the user that need no change.
  std::vector<std::string> warnings;
};

/// For example "in --deny", "at ops.txt:3".
std::string describePlace(llvm::StringRef place);

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_POLICYOPTIONS_H
