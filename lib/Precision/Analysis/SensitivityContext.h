//===- SensitivityContext.h - Searches for sensitive values -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ANALYSIS_SENSITIVITYCONTEXT_H
#define MPOPT_LIB_PRECISION_ANALYSIS_SENSITIVITYCONTEXT_H

#include "mp-opt/Graph/ValueFlow.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Precision/Analysis/ProductDepth.h"
#include "mp-opt/Precision/Analysis/SensitiveValues.h"

namespace mp {

/// Values that are already 16 bit are followed, too: a model that has been
/// converted before has the same readers.
inline bool isNarrowFloat(mlir::Type type) {
  return onnxir::isF32Tensor(type) || onnxir::is16BitTensor(type);
}

/// Finds values whose elements are all whole numbers for any input, in one
/// forward pass; loop-carried values are unknown.
class WholeNumbers {
public:
  WholeNumbers(const ValueFlow &flow, OperatorTraitsCache &kinds);
  bool contains(mlir::Value value) const { return values.contains(value); }
  /// True for a constant of different whole numbers: a table of positions.
  bool isTable(mlir::Value value) const;

private:
  bool isWhole(mlir::Operation *node, OperatorTraitsCache &kinds);
  bool isWholeOperand(mlir::Value value);

  llvm::DenseSet<mlir::Value> values;
};

/// State that the searches share.
struct SensitivityContext {
  SensitivityContext(mlir::ModuleOp module, RangeAnalysis &ranges,
                     ElementKind low);

  const OperatorTraits &getTraits(mlir::Operation *op) {
    return kinds.lookup(op);
  }
  OperatorMath getMath(mlir::Operation *op) {
    return op ? kinds.lookup(op).math : OperatorMath::Other;
  }
  /// True for nodes that compute elementwise, or only move elements.
  bool isFollowed(mlir::Operation *op);
  /// The operands that make up the elements of the node's results.
  llvm::SmallVector<mlir::Value, 4> getData(mlir::Operation *op);
  /// True for values made of constants and parameters, sizes or truth values
  /// alone.
  bool isConstantValue(mlir::Value value) const {
    return depths.lookup(value) == ProductDepth::Constant;
  }
  /// The greatest magnitude of the value's elements; for a parameter, that of
  /// its initial value. Infinite if it is unknown.
  double getMagnitude(mlir::Value value);
  const ValueSizes &getSizes();
  /// The multiply-adds of a node; 0 if they are unknown.
  uint64_t countProducts(mlir::Operation *op);

  ValueFlow flow;
  OperatorTraitsCache kinds;
  ProductDepths depths;
  RangeAnalysis &ranges;
  const LowLimits limits;
  SensitiveValues found;

private:
  std::optional<ValueSizes> sizes;
  /// Initializers of parameters, by the inputs that hold these.
  llvm::DenseMap<mlir::Value, mlir::Operation *> defaults;
};

/// Kinds of readers of a value.
enum class SensitiveReader : uint8_t {
  Angle,
  /// Integers, whole parts of numbers, and coordinates.
  Position,
  Choice,
  Difference,
};

/// The backward search from readers. Nodes on a path are hazards with the
/// reason of the first reader that reaches them.
class SensitiveWalk {
public:
  explicit SensitiveWalk(SensitivityContext &context,
                         const WholeNumbers &wholeNumbers)
      : context(context), wholeNumbers(wholeNumbers) {}

  /// Products are kept fp32 only if `takesProducts`.
  void add(mlir::Value value, SensitiveReader reader, std::string reason,
           bool takesProducts = true);
  /// Follows all values that have been added.
  void run();

private:
  /// The path back from the reader so far: it has passed nothing, a sum of
  /// products, or a node that ends the search for products.
  enum Passed : uint8_t { Nothing, Sum, Product };
  struct Step {
    mlir::Value value;
    SensitiveReader reader;
    Passed passed;
    /// Index of the reason.
    unsigned reason;
  };
  enum class Take : uint8_t { No, Yes, IfCheap };

  void push(mlir::Value value, const Step &from, Passed passed);
  void visit(const Step &step);
  Passed pass(mlir::Operation *op, const Step &step);
  void visitProduct(mlir::Operation *op, const Step &step);
  Take takesProduct(mlir::Operation *op, const Step &step);
  bool isPositionArithmetic(mlir::Operation *op);
  void mark(mlir::Operation *op, const Step &step);
  void settleCostly();

  SensitivityContext &context;
  const WholeNumbers &wholeNumbers;
  std::vector<std::string> reasons;
  std::vector<Step> worklist;
  llvm::DenseSet<std::pair<mlir::Value, unsigned>> seen;
  /// Deep products, and nodes that read deep values for angles and differences,
  /// in order of discovery, with their reasons.
  std::vector<std::pair<mlir::Operation *, unsigned>> deep, dependent;
};

/// Finds readers: angles, integers, whole parts, coordinates, choices.
void findSensitiveReaders(SensitivityContext &context, SensitiveWalk &walk);
/// Finds differences that may be near zero and are divided by, or rooted.
void findNearZeroDifferences(SensitivityContext &context, SensitiveWalk &walk);
/// Finds constants that certainly cost digits.
void findCancellingConstants(SensitivityContext &context, SensitiveWalk &walk);
/// Finds squared distances.
void findDistances(SensitivityContext &context, SensitiveWalk &walk);
/// Finds chains of factors near one.
void findUnrolledRecurrences(SensitivityContext &context);
/// Finds products of integers of unknown range, for fp16.
void findLargeIntegers(SensitivityContext &context);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ANALYSIS_SENSITIVITYCONTEXT_H
