//===- NodeLowering.h - One node on its way to loops ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface for lowering rules. Integers that shapes are made of are known
// as sizes where possible (`ShapeValue`): constants, sizes of tensors and
// values computed from them need no memory, and shapes made of them are static.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_NODELOWERING_H
#define MPOPT_LIB_CONVERSION_NODELOWERING_H

#include "Emitter.h"

#include "mp-opt/Operators/NodeView.h"

namespace mp {

class GraphLowering;

/// Tensors with more elements than this are not treated as shapes.
constexpr int64_t maxShapeElements = 64;

/// The elements of a small integer or boolean tensor in row-major order, or, as
/// float attributes, the constants of a float tensor that sizes are computed
/// with.
struct ShapeValue {
  Sizes values;
  llvm::SmallVector<int64_t> shape;
};

/// The elements of a sequence, or of an optional value (none or one); an
/// optional sequence has the elements of the sequence.
struct KnownList {
  llvm::SmallVector<TensorValue> elements;
  /// False for an optional value that holds nothing.
  bool hasValue = true;
};

/// The representation of a value of the model in the code: one of these.
struct LoweredValue {
  TensorValue tensor;
  std::optional<ShapeValue> ints;
  std::optional<KnownList> list;

  explicit operator bool() const { return tensor || ints || list; }
};

class NodeLowering : public NodeView {
public:
  NodeLowering(GraphLowering &graph, Emitter &emitter, mlir::Operation *node)
      : NodeView(node), e(emitter), s(emitter.s), graph(graph) {}

  Emitter &e;
  Scalars &s;

  /// Operand `index`, which must be present and a tensor of numbers.
  TensorValue in(unsigned index);
  /// All operands.
  llvm::SmallVector<TensorValue> operands();
  /// ONNX's element type of an operand, or fp32 if its rounding is dropped;
  /// null if it is absent.
  mlir::Type inElement(unsigned index) const;
  mlir::Type outElement(unsigned index = 0) const;
  bool wants(unsigned result = 0) const {
    return hasResult(node, result) && !node->getResult(result).use_empty();
  }

  /// The integers of an operand (a scalar or vector), if their number is
  /// known: constants, computed sizes, or loaded from the tensor.
  std::optional<Sizes> ints(unsigned index);
  /// The same, if all are constants.
  std::optional<llvm::SmallVector<int64_t>> constantInts(unsigned index);
  /// The elements of an operand, if they are known without loading it; else
  /// null.
  const ShapeValue *getKnown(unsigned index) const;

  /// The integers of an attribute, or of an operand in newer opsets. Empty if
  /// they are not given; a failure if they are not constant.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  constantList(llvm::StringRef attribute, unsigned operand);

  void set(unsigned result, TensorValue value);
  void set(TensorValue value) { set(0, value); }
  void setKnown(unsigned result, ShapeValue ints);
  /// Result 0 is operand `index`.
  void forward(unsigned index);
  /// Makes result `index` the same value as `same`, of any kind.
  void alias(unsigned index, mlir::Value same);

  /// The elements of a sequence or optional value; null if they are not known.
  const KnownList *getList(unsigned operand) const;
  void setList(unsigned result, KnownList list);

  /// Records that the node writes over operand `index`, an input of the graph:
  /// its next value becomes an output of the model.
  mlir::LogicalResult update(unsigned index, TensorValue value);

  using NodeView::axis;
  /// The attribute `axis` in [0, rank), or an error.
  mlir::FailureOr<int64_t> axis(int64_t rank) {
    return normalizeAxis(axis(), rank);
  }
  /// Maps `axis` to [0, rank), or reports an error.
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank);
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  /// Emits a subgraph's nodes here; returns the values that it yields.
  /// Arguments that are null were bound before.
  mlir::FailureOr<llvm::SmallVector<TensorValue>>
  inlineBody(mlir::Region &body, llvm::ArrayRef<TensorValue> arguments);
  /// The region in the attribute `name`, or null.
  mlir::Region *getRegion(llvm::StringRef name) const;
  /// Like inlineBody, for values of any kind. Loops with a known number of
  /// iterations emit their body once per iteration with it.
  mlir::FailureOr<llvm::SmallVector<LoweredValue>>
  repeatBody(mlir::Region &body, llvm::ArrayRef<LoweredValue> arguments);
  LoweredValue read(unsigned operand) const;
  void bind(unsigned result, const LoweredValue &value);
  void bindKnown(mlir::Value value, ShapeValue ints);
  const ShapeValue *getKnownValue(mlir::Value value) const;
  /// Null if the value is not a tensor of numbers.
  TensorValue getTensor(mlir::Value value);
  /// Discards code that turned out not to be needed. It is deleted with the
  /// lowering only: no other value may get the address of a value in it.
  void discard(std::unique_ptr<mlir::Region> code);
  /// The number of bodies around the node.
  unsigned getDepth() const;

private:
  GraphLowering &graph;
};

struct LoweringRule {
  /// Qualified: "Relu", "com.microsoft.ReluGrad".
  llvm::StringLiteral op;
  mlir::LogicalResult (*lower)(NodeLowering &);
};

/// Computes the node on known integers, if all operands that it needs are known
/// and its operator occurs in computations of shapes.
bool foldShape(NodeLowering &node);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_NODELOWERING_H
