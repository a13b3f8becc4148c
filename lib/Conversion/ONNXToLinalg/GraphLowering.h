//===- GraphLowering.h - A graph on its way to a function -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_GRAPHLOWERING_H
#define MPOPT_LIB_CONVERSION_GRAPHLOWERING_H

#include "NodeLowering.h"

#include "mp-opt/Precision/Analysis/ExcessPrecision.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mp {

class GraphLowering {
public:
  /// The values of `excess` are fp32 in the code.
  GraphLowering(Emitter &emitter, mlir::func::FuncOp function,
                const ExcessPrecision &excess)
      : e(emitter), excess(excess), function(function) {}

  /// Emits the block's nodes; returns the yielded values.
  mlir::FailureOr<llvm::SmallVector<TensorValue>>
  lowerBlock(mlir::Block &block);

  /// Replaces the earlier meaning of the value: a body may be emitted again.
  void bind(mlir::Value value, TensorValue tensor) {
    known.erase(value);
    tensors[value] = tensor;
  }
  void bind(mlir::Value value, ShapeValue ints) {
    tensors.erase(value);
    known[value] = std::make_unique<ShapeValue>(std::move(ints));
  }
  void bind(mlir::Value value, KnownList list) {
    lists[value] = std::make_unique<KnownList>(std::move(list));
  }
  void alias(mlir::Value value, mlir::Value same);
  /// Returns and sets the current meaning of `value`: a body that is emitted
  /// again changes the meaning of its values.
  LoweredValue read(mlir::Value value);
  void bind(mlir::Value value, const LoweredValue &same);

  /// The element type of a value in the code: ONNX's, or fp32 if it is not
  /// rounded. Null if it is not a tensor.
  mlir::Type getElement(mlir::Value value) const;

  /// Null if the value is not a tensor of numbers, or was not emitted.
  TensorValue get(mlir::Value value);
  const ShapeValue *getKnown(mlir::Value value) const;
  const KnownList *getList(mlir::Value value) const {
    auto found = lists.find(value);
    return found == lists.end() ? nullptr : found->second.get();
  }

  /// False if the input has a next value.
  bool addUpdate(mlir::BlockArgument input, TensorValue next) {
    return updates.try_emplace(input.getArgNumber(), next).second;
  }
  /// The next values of inputs that nodes write over, by their numbers.
  const llvm::MapVector<unsigned, TensorValue> &getUpdates() const {
    return updates;
  }

  /// Attributes of the arguments that hold constants; these follow the inputs.
  llvm::ArrayRef<mlir::DictionaryAttr> getConstantAttrs() const {
    return constantAttrs;
  }

  void discard(std::unique_ptr<mlir::Region> code) {
    discarded.push_back(std::move(code));
  }
  unsigned getDepth() const { return depth; }
  /// Counts nodes of bodies that are emitted more than once. False if there are
  /// too many.
  bool addRepeated(unsigned nodes);

private:
  mlir::LogicalResult lowerNode(mlir::Operation *node);
  mlir::LogicalResult addConstant(mlir::Value value,
                                  mlir::FailureOr<mlir::Attribute> elements);
  TensorValue materialize(mlir::Attribute elements);

  Emitter &e;
  const ExcessPrecision &excess;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::DictionaryAttr> constantAttrs;
  llvm::DenseMap<mlir::Value, TensorValue> tensors;
  /// The entries have stable addresses: rules hold several at a time.
  llvm::DenseMap<mlir::Value, std::unique_ptr<ShapeValue>> known;
  llvm::DenseMap<mlir::Value, std::unique_ptr<KnownList>> lists;
  llvm::MapVector<unsigned, TensorValue> updates;
  std::vector<std::unique_ptr<mlir::Region>> discarded;
  unsigned depth = 0;
  uint64_t repeated = 0;
  /// Constants that are not yet materialized as tensors.
  llvm::DenseMap<mlir::Value, mlir::Attribute> constants;
};

/// The rule for the node's operator, or null.
const LoweringRule *findRule(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_GRAPHLOWERING_H
