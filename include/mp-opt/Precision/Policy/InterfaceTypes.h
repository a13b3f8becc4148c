//===- InterfaceTypes.h - Types of graph inputs and outputs -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The user's rules for the types of the main graph's inputs and outputs (--io),
// and the types that follow from them. mp-set-io-types decides them and marks
// the module; the passes after it read the marks. Names of inputs and outputs
// never change.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_INTERFACETYPES_H
#define MPOPT_PRECISION_POLICY_INTERFACETYPES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Policy/PolicyOptions.h"

namespace mp {

struct InterfaceRule {
  /// A regular expression for whole names; empty for all inputs and outputs.
  std::string pattern;
  /// Float, Float16 or BFloat16.
  ElementKind kind;
  PolicyEntry entry;

  bool isForAll() const { return pattern.empty(); }
  /// For example "'past.*=fp16' in --io".
  std::string describe() const;

  /// Reads "TYPE" or "PATTERN=TYPE".
  static llvm::Expected<InterfaceRule> parse(const PolicyEntry &entry);
};

/// Splits rules that are separated by commas. A comma within a pattern is part
/// of the pattern. Fails if a rule is not valid.
llvm::Error addInterfaceRules(llvm::StringRef text, llvm::StringRef place,
                              std::vector<PolicyEntry> &to);

/// "fp32", "fp16" or "bf16" of a kind that a rule can ask for.
llvm::StringRef getInterfaceWord(ElementKind kind);

/// One input or output of the main graph, and the rule that applies to it.
struct InterfaceWish {
  mlir::Value value;
  llvm::StringRef name;
  bool isInput;
  /// Among the inputs or the outputs.
  unsigned index;
  /// Null if no rule applies.
  const InterfaceRule *rule = nullptr;

  /// "input 'x'", "output 'y'".
  std::string describe() const;
  mlir::Type getElementType() const;
};

/// Applies the rules to the inputs, then to the outputs. A pattern beats a rule
/// for all. Rules for all leave out float64, and everything that is not a
/// float tensor or has a default. Fails with a diagnostic if two rules of one
/// rank contradict each other, if a pattern matches nothing, or nothing whose
/// type can change.
mlir::FailureOr<std::vector<InterfaceWish>>
findInterfaceWishes(mlir::ModuleOp module, llvm::ArrayRef<InterfaceRule> rules);

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

/// The element types that inputs and outputs of the main graph shall have; null
/// for one that keeps its type.
class InterfaceTypes {
public:
  /// Reads the marks of the module; empty if it has none.
  explicit InterfaceTypes(mlir::ModuleOp module);

  bool empty() const { return !inputs && !outputs; }
  mlir::Type getInput(unsigned index) const;
  mlir::Type getOutput(unsigned index) const;
  /// All types that are wanted, each once.
  llvm::SmallVector<mlir::Type> getTypes() const;

  /// The fp32 inputs and outputs that become `low`. The outputs are operands of
  /// the graph's end.
  llvm::SmallVector<mlir::BlockArgument> getInputsIn(mlir::Type low) const;
  llvm::SmallVector<mlir::OpOperand *> getOutputsIn(mlir::Type low) const;

  /// Marks the module; `wishes` are those that are granted.
  static void write(mlir::ModuleOp module,
                    llvm::ArrayRef<InterfaceWish> wishes);

private:
  onnxir::GraphOp graph;
  mlir::ArrayAttr inputs, outputs;
};

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_INTERFACETYPES_H
