//===- NodeBuilder.h - Makes nodes ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What gradients, losses, optimizers and decompositions are written in. Nodes
// get unique names and inferred types; domains that they need are imported.
// Operators are at the opset of the model, which is at least `minOpset`
// where the methods below say that it matters.
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
  /// Names of unknown sizes, for `sumTo`; null if there are none.
  DimSymbols *&getSymbols() { return symbols; }

  /// Where the next nodes go.
  void setInsertionPoint(mlir::Operation *before);
  void setInsertionPointAfter(mlir::Operation *op);
  void setInsertionPointToEnd(mlir::Block *block);
  /// What the next nodes and values are called: `<base>/<OpType>`.
  void setBase(const llvm::Twine &text) { base = text.str(); }
  llvm::StringRef getBase() const { return base; }

  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute attr(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::StringRef value);
  mlir::NamedAttribute floatAttr(llvm::StringRef name, double value);

  /// A node of the operator `op`, qualified as in "com.microsoft.ReluGrad",
  /// with one result. A null operand is left out. The type is inferred where
  /// none is given, or refined by inference where it is vague.
  mlir::Value create(llvm::StringRef op, llvm::ArrayRef<mlir::Value> operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                     mlir::Type type = {});
  /// The same with several results: null types are inferred, `NoneType` ones
  /// are outputs left out. `subgraphs` are the names of subgraphs, which are
  /// empty as yet: GraphEditor gives them inputs and outputs.
  mlir::Operation *
  createNode(llvm::StringRef op, llvm::ArrayRef<mlir::Value> operands,
             llvm::ArrayRef<mlir::Type> types,
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
             llvm::ArrayRef<llvm::StringRef> subgraphs = {});
  /// A node like `node` in its place, with more results; takes over its uses
  /// and subgraphs. `node` is left without both, for the caller to erase.
  mlir::Operation *extend(mlir::Operation *node,
                          llvm::ArrayRef<mlir::Type> types);
  /// Erases the block's nodes that nothing uses.
  void eraseUnused(mlir::Block &block);

  /// Result `index` of `node`, whose type is `type` if it is not there yet. A
  /// node with fewer results is followed by one with more, which takes over its
  /// uses; it must be erased in the end.
  mlir::Value addResult(mlir::Operation *node, unsigned index, mlir::Type type);

  /// Renames a value that a node defines; others keep their names.
  void rename(mlir::Value value, const llvm::Twine &name);

  //===--------------------------------------------------------------------===//
  // Constants, made once for each block
  //===--------------------------------------------------------------------===//

  mlir::Value constant(mlir::ElementsAttr value);
  /// A vector, and a scalar, of int64.
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
  /// `a` times, plus a number.
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
  // Shapes. Opset 13 is enough for all of them.
  //===--------------------------------------------------------------------===//

  /// The sizes of `value` as an int64 vector: a constant if they are known.
  mlir::Value shapeOf(mlir::Value value);
  /// One of them, as a vector of one element; `axis` may be negative.
  mlir::Value dimOf(mlir::Value value, int64_t axis);
  /// The rank of `value`; absent if it is unknown.
  static std::optional<int64_t> getRank(mlir::Value value);
  /// The sizes if all are known.
  static std::optional<llvm::SmallVector<int64_t>> getShape(mlir::Value value);

  mlir::Value reshape(mlir::Value value, mlir::Value shape);
  /// 0 keeps a size, -1 is what is left.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// `value` in the shape of `like`, of as many elements.
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
  /// From `start` to `end` (exclusive) along `axis`.
  mlir::Value slice(mlir::Value value, int64_t axis, int64_t start,
                    int64_t end);
  /// A tensor of one value in the shape of `like`, in its element type.
  mlir::Value fullLike(double value, mlir::Value like);
  mlir::Value zerosLike(mlir::Value like) { return fullLike(0, like); }

  /// Sums over `axes`, over all of them if there are none given.
  mlir::Value reduceSum(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                        bool keepDims);
  /// The mean, by a sum and a division: ReduceMean takes axes as inputs from
  /// opset 18 on only.
  mlir::Value reduceMean(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                         bool keepDims);
  /// The sum of `value` over the axes along which `like` was broadcast to its
  /// shape; the result has the shape of `like`. `other` is what it was
  /// combined with, if there was one: where that has size 1, `like` was not
  /// broadcast.
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

/// Erases Constant nodes that nothing uses: runtimes warn of each of them.
void eraseUnusedConstants(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_GRAPH_NODEBUILDER_H
