//===- Policy.h - What the user and the field want in 16 bit ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy gives every operator a class: a built-in profile per 16-bit type,
// over it the user's lists of operators, over these the user's patterns of
// node names. It is a value; it knows nothing of graphs.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_POLICY_H
#define MPOPT_PRECISION_POLICY_H

#include "mp-opt/Schema/Schema.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Regex.h"

namespace mp {

enum class OpClass : uint8_t {
  /// Runs in 16 bit, accumulating in fp32.
  Allow,
  /// Runs in fp32 and yields fp32.
  Deny,
  /// Runs in the widest type among its float operands.
  Promote,
  /// Runs in the type of its first float operand.
  Follow,
};

llvm::StringRef stringifyOpClass(OpClass opClass);
std::optional<OpClass> symbolizeOpClass(llvm::StringRef name);

/// The class that the built-in profile for `low` (BFloat16 or Float16) gives
/// an operator; absent if it is on no list.
std::optional<OpClass> getProfileClass(ElementKind low, llvm::StringRef domain,
                                       llvm::StringRef opType);

/// True if rounding an fp32 operand to 16 bit moves the result of the op by no
/// more than rounding itself does. False for ops that nobody knows, and where
/// small differences decide or grow (comparisons, Floor, TopK, Exp, Pow).
bool isSafeToNarrow(llvm::StringRef domain, llvm::StringRef opType);

/// What a user can say, as plain lists. Operators are "Conv" (in any domain),
/// "ai.onnx.Conv" or "com.microsoft.FusedMatMul"; nodes are regular
/// expressions that match a whole node name.
struct PolicyOptions {
  /// "bf16" or "fp16".
  std::string precision = "bf16";
  std::vector<std::string> allow, deny, promote;
  std::vector<std::string> allowNodes, denyNodes;
};

class PrecisionPolicy {
public:
  using EmitErrorFn = llvm::function_ref<mlir::InFlightDiagnostic()>;

  /// Fails with a diagnostic for an unknown precision, an operator on two
  /// lists, and a pattern that is no regular expression.
  static mlir::FailureOr<PrecisionPolicy> create(const PolicyOptions &options,
                                                 EmitErrorFn emitError);

  /// A class and where it comes from.
  struct Verdict {
    OpClass opClass;
    llvm::StringRef reason;
    /// From the built-in lists, or on none.
    bool isBuiltin = false;
  };

  ElementKind getLowKind() const { return lowKind; }

  /// The class of an operator, by the user's lists or the built-in ones.
  Verdict classifyOp(llvm::StringRef domain, llvm::StringRef opType) const;

  /// The class that a node override gives; absent if there is none. Fails if
  /// patterns of both kinds match. Remembers which patterns have matched.
  mlir::FailureOr<std::optional<Verdict>> classifyNode(llvm::StringRef nodeName,
                                                       EmitErrorFn emitError);

  bool hasNodePatterns() const { return !patterns.empty(); }

  /// Fails if an operator on a list is neither known to `schemas` nor the
  /// type of a custom op in `module`, naming the nearest known one.
  mlir::LogicalResult checkOperators(mlir::ModuleOp module,
                                     const SchemaRegistry &schemas) const;

  /// Fails if a pattern has matched no node so far.
  mlir::LogicalResult checkPatterns(mlir::ModuleOp module) const;

private:
  struct NodePattern {
    std::string text;
    OpClass opClass;
    llvm::Regex regex;
    bool matched = false;
  };

  mlir::LogicalResult addOperators(llvm::ArrayRef<std::string> names,
                                   OpClass opClass, EmitErrorFn emitError);
  mlir::LogicalResult addPatterns(llvm::ArrayRef<std::string> texts,
                                  OpClass opClass, EmitErrorFn emitError);

  ElementKind lowKind = ElementKind::BFloat16;
  /// By the name the user wrote.
  llvm::StringMap<OpClass> operators;
  /// The same names in the user's order, for messages.
  std::vector<std::pair<std::string, OpClass>> operatorOrder;
  std::vector<NodePattern> patterns;
};

} // namespace mp

#endif // MPOPT_PRECISION_POLICY_H
