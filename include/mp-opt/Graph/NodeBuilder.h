//===- NodeBuilder.h - Builder for ONNX nodes -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the nodes of gradients, losses, optimizers and decompositions. Nodes
// get unique names and inferred types; domains that they need are imported.
// Operators have the opset of the model, which is at least `minOpset` where the
// methods below say that it matters.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_NODEBUILDER_H
#define MPOPT_GRAPH_NODEBUILDER_H

#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Graph/DimSymbols.h"
#include "mp-opt/Target/ONNX/NodeTypes.h"

#include "mlir/IR/Builders.h"

namespace mp {

class NodeBuilder {
public:
  explicit NodeBuilder(mlir::ModuleOp module);

  mlir::MLIRContext *getContext() const { return builder.getContext(); }
  mlir::OpBuilder &getBuilder() { return builder; }
  UniqueNames &getNames() { return names; }
  NodeTypes &getTypes() { return types; }
  /// Names of unknown sizes, for `sumTo`; null if they are not available.
  DimSymbols *&getSymbols() { return symbols; }

  /// Sets the place of the next nodes.
  void setInsertionPoint(mlir::Operation *before);
  void setInsertionPointAfter(mlir::Operation *op);
  void setInsertionPointToEnd(mlir::Block *block);
  /// Sets the prefix of the names of new nodes and values: `<base>/<OpType>`.
  void setBase(const llvm::Twine &text) { base = text.str(); }
  llvm::StringRef getBase() const { return base; }

  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attr(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::StringRef value);
  mlir::NamedAttribute floatAttr(llvm::StringRef name, double value);

  /// Creates a node of the operator `op`, qualified as in
  /// "com.microsoft.ReluGrad", with one result. A null operand is absent. The
  /// type is inferred if none is given, or refined by inference if it is
  /// incomplete.
  mlir::Value create(llvm::StringRef op, llvm::ArrayRef<mlir::Value> operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                     mlir::Type type = {});
  /// The same with several results: null types are inferred, results of
  /// `NoneType` are absent. `subgraphs` are the names of subgraphs, which are
  /// created empty: GraphEditor gives them inputs and outputs.
  mlir::Operation *
  createNode(llvm::StringRef op, llvm::ArrayRef<mlir::Value> operands,
             llvm::ArrayRef<mlir::Type> types,
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
             llvm::ArrayRef<llvm::StringRef> subgraphs = {});
  /// Replaces `node` by a node with more results, which takes over its uses and
  /// subgraphs. The caller must erase `node`.
  mlir::Operation *extend(mlir::Operation *node,
                          llvm::ArrayRef<mlir::Type> types);
  /// Erases the block's unused nodes.
  void eraseUnused(mlir::Block &block);

  /// Result `index` of `node`, added with the type `type` if it does not exist.
  /// A node with fewer results is followed by one with more, which takes over
  /// its uses; the caller must erase the former.
  mlir::Value addResult(mlir::Operation *node, unsigned index, mlir::Type type);

  /// Renames a value that a node defines; other values keep their names.
  void rename(mlir::Value value, const llvm::Twine &name);

  //===--------------------------------------------------------------------===//
  // Constants, created once per block
  //===--------------------------------------------------------------------===//

  mlir::Value constant(mlir::ElementsAttr value);
  /// A vector of int64, and a scalar.
  mlir::Value ints(llvm::ArrayRef<int64_t> values);
  mlir::Value intScalar(int64_t value);
  mlir::Value boolScalar(bool value);
  /// A scalar of a float or integer type.
  mlir::Value scalar(double value, mlir::Type elementType);
  /// A scalar of the element type of `like`.
  mlir::Value scalarLike(double value, mlir::Value like) {
    return scalar(value, onnxir::getTensorElementType(like.getType()));
  }

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  mlir::Value add(mlir::Value a, mlir::Value b) {
    return create("Add", {a, b});
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return create("Sub", {a, b});
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return create("Mul", {a, b});
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return create("Div", {a, b});
  }
  mlir::Value neg(mlir::Value a) { return create("Neg", {a}); }
  /// `a` times a number, and `a` plus a number.
  mlir::Value scale(mlir::Value a, double factor);
  mlir::Value addScalar(mlir::Value a, double summand);
  mlir::Value castTo(mlir::Value value, mlir::Type elementType);
  mlir::Value castLike(mlir::Value value, mlir::Value like) {
    return castTo(value, onnxir::getTensorElementType(like.getType()));
  }
  /// Elements of `a` where `condition` holds, else of `b`.
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create("Where", {condition, a, b});
  }
  mlir::Value matmul(mlir::Value a, mlir::Value b) {
    return create("MatMul", {a, b});
  }

  //===--------------------------------------------------------------------===//
  // Shapes. All of these need only opset 13.
  //===--------------------------------------------------------------------===//

  /// The sizes of `value` as an int64 vector: a constant if they are known.
  mlir::Value shapeOf(mlir::Value value);
  /// One of the sizes, as a vector of one element; `axis` may be negative.
  mlir::Value dimOf(mlir::Value value, int64_t axis);
  /// The rank of `value`; absent if it is unknown.
  static std::optional<int64_t> getRank(mlir::Value value);
  /// The sizes if all are known.
  static std::optional<llvm::SmallVector<int64_t>> getShape(mlir::Value value);

  mlir::Value reshape(mlir::Value value, mlir::Value shape);
  /// A size of 0 keeps that of the operand; -1 follows from the others.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Reshapes `value` to the shape of `like`, which has as many elements.
  mlir::Value reshapeLike(mlir::Value value, mlir::Value like);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Swaps the last two axes; the rank must be known.
  mlir::Value transposeLast(mlir::Value value);
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  mlir::Value squeeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  mlir::Value expand(mlir::Value value, mlir::Value shape) {
    return create("Expand", {value, shape});
  }
  mlir::Value expandLike(mlir::Value value, mlir::Value like);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t axis);
  mlir::Value gather(mlir::Value data, mlir::Value indices, int64_t axis) {
    return create("Gather", {data, indices}, attr("axis", axis));
  }
  /// The elements from `start` to `end` (exclusive) along `axis`.
  mlir::Value slice(mlir::Value value, int64_t axis, int64_t start,
                    int64_t end);
  /// A tensor of equal elements with the shape and element type of `like`.
  mlir::Value fullLike(double value, mlir::Value like);
  mlir::Value zerosLike(mlir::Value like) { return fullLike(0, like); }

  /// Sums over `axes`; an empty list means all axes.
  mlir::Value reduceSum(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                        bool keepDims);
  /// The mean, as a sum and a division: ReduceMean only takes axes as inputs
  /// from opset 18 on.
  mlir::Value reduceMean(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                         bool keepDims);
  /// Sums `value` over the axes along which `like` was broadcast to its shape;
  /// the result has the shape of `like`. `other` is the operand that it was
  /// combined with, if any: where that has size 1, `like` was not broadcast.
  mlir::Value sumTo(mlir::Value value, mlir::Value like,
                    mlir::Value other = {});

private:
  std::optional<bool> isBroadcast(mlir::Value like, mlir::Value other,
                                  mlir::Value value, int64_t axis) const;
  mlir::Value getAbsent();
  void importDomain(llvm::StringRef domain);

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  UniqueNames names;
  NodeTypes types;
  DimSymbols *symbols = nullptr;
  std::string base;
  llvm::DenseMap<std::pair<mlir::Block *, mlir::Attribute>, mlir::Value>
      constants;
};

/// Erases unused Constant nodes: runtimes warn of each of them.
void eraseUnusedConstants(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_GRAPH_NODEBUILDER_H
