//===- NodeLowering.h - One node on its way to loops ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lowering rules see. Integers that shapes are made of are known as sizes
// where possible (`ShapeValue`): constants, sizes of tensors and what is
// computed from them need no memory, and shapes made of them are static.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_NODELOWERING_H
#define MPOPT_LIB_CONVERSION_NODELOWERING_H

#include "Emitter.h"

#include "mp-opt/Operators/NodeView.h"

namespace mp {

class GraphLowering;

/// Tensors of more elements than this are not looked at as shapes.
constexpr int64_t maxShapeElements = 64;

/// The elements of a small integer or boolean tensor, row-major; or constants
/// of a float tensor that sizes are computed with, as float attributes.
struct ShapeValue {
  Sizes values;
  llvm::SmallVector<int64_t> shape;
};

/// The elements of a sequence, or of an optional value (none or one); a
/// sequence that is optional has its own.
struct KnownList {
  llvm::SmallVector<TensorValue> elements;
  /// Of an optional value: whether there is one.
  bool hasValue = true;
};

/// What a value of the model is in the code: one of these.
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

  /// Operand `index`, which must be there and be a tensor of numbers.
  TensorValue in(unsigned index);
  /// All operands.
  llvm::SmallVector<TensorValue> operands();
  /// ONNX's element type of an operand; null if it is absent.
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
  /// What is known of an operand without loading it.
  const ShapeValue *getKnown(unsigned index) const;

  /// An attribute or, since it became one, operand with a list of integers;
  /// empty if it is not given; a failure if they are not constant.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  constantList(llvm::StringRef attribute, unsigned operand);

  void set(unsigned result, TensorValue value);
  void set(TensorValue value) { set(0, value); }
  void setKnown(unsigned result, ShapeValue ints);
  /// Result 0 is operand `index`.
  void forward(unsigned index);
  /// Result `index` is the value `same`, whatever it is.
  void alias(unsigned index, mlir::Value same);

  /// Of sequences and optional values; null if it is not known.
  const KnownList *getList(unsigned operand) const;
  void setList(unsigned result, KnownList list);

  /// Operand `index`, an input of the graph, is written over by the node: its
  /// next value is an output of the model.
  mlir::LogicalResult update(unsigned index, TensorValue value);

  using NodeView::axis;
  /// The attribute `axis` in [0, rank), an error if it is not.
  mlir::FailureOr<int64_t> axis(int64_t rank) {
    return normalizeAxis(axis(), rank);
  }
  /// `axis` in [0, rank), an error if it is not.
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank);
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  /// Emits a subgraph's nodes here; the values that it yields. Arguments that
  /// are null were bound before.
  mlir::FailureOr<llvm::SmallVector<TensorValue>>
  inlineBody(mlir::Region &body, llvm::ArrayRef<TensorValue> arguments);
  /// The region that the attribute `name` holds; null if there is none.
  mlir::Region *getRegion(llvm::StringRef name) const;
  /// The same for any values, which bodies of known iterations get one after
  /// the other.
  mlir::FailureOr<llvm::SmallVector<LoweredValue>>
  repeatBody(mlir::Region &body, llvm::ArrayRef<LoweredValue> arguments);
  LoweredValue read(unsigned operand) const;
  void bind(unsigned result, const LoweredValue &value);
  void bindKnown(mlir::Value value, ShapeValue ints);
  const ShapeValue *getKnownValue(mlir::Value value) const;
  /// Null where the value is no tensor of numbers.
  TensorValue getTensor(mlir::Value value);
  /// Code that turned out not to be needed. It lives as long as the lowering:
  /// no other value may get the place of one in it.
  void discard(std::unique_ptr<mlir::Region> code);
  /// In how many bodies the node is.
  unsigned getDepth() const;

private:
  GraphLowering &graph;
};

struct LoweringRule {
  /// Qualified: "Relu", "com.microsoft.ReluGrad".
  llvm::StringLiteral op;
  mlir::LogicalResult (*lower)(NodeLowering &);
};

/// Computes the node on known integers, if all that it needs is known and its
/// operator is one that shapes are computed with.
bool foldShape(NodeLowering &node);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_NODELOWERING_H
