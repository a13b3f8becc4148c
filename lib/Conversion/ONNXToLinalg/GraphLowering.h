//===- GraphLowering.h - A graph on its way to a function -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_GRAPHLOWERING_H
#define MPOPT_LIB_CONVERSION_GRAPHLOWERING_H

#include "NodeLowering.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mp {

class GraphLowering {
public:
  GraphLowering(Emitter &emitter, mlir::func::FuncOp function)
      : e(emitter), function(function) {}

  /// Emits the block's nodes; what its yield yields.
  mlir::FailureOr<llvm::SmallVector<TensorValue>>
  lowerBlock(mlir::Block &block);

  /// A body may be emitted again: what a value was before no longer counts.
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
  /// What `value` is now, and a value that is the same: a body that is emitted
  /// again changes what its values are.
  LoweredValue read(mlir::Value value);
  void bind(mlir::Value value, const LoweredValue &same);

  /// Null where the value is no tensor of numbers, or was not emitted.
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

  /// Of the arguments that constants were added as, behind the inputs.
  llvm::ArrayRef<mlir::DictionaryAttr> getConstantAttrs() const {
    return constantAttrs;
  }

  void discard(std::unique_ptr<mlir::Region> code) {
    discarded.push_back(std::move(code));
  }
  unsigned getDepth() const { return depth; }
  /// Counts nodes of bodies that are emitted more than once. False where they
  /// are too many.
  bool addRepeated(unsigned nodes);

private:
  mlir::LogicalResult lowerNode(mlir::Operation *node);
  mlir::LogicalResult addConstant(mlir::Value value,
                                  mlir::FailureOr<mlir::Attribute> elements);
  TensorValue materialize(mlir::Attribute elements);

  Emitter &e;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::DictionaryAttr> constantAttrs;
  llvm::DenseMap<mlir::Value, TensorValue> tensors;
  /// In places of their own: rules hold on to several at a time.
  llvm::DenseMap<mlir::Value, std::unique_ptr<ShapeValue>> known;
  llvm::DenseMap<mlir::Value, std::unique_ptr<KnownList>> lists;
  llvm::MapVector<unsigned, TensorValue> updates;
  std::vector<std::unique_ptr<mlir::Region>> discarded;
  unsigned depth = 0;
  uint64_t repeated = 0;
  /// Constants that have not been asked for as tensors yet.
  llvm::DenseMap<mlir::Value, mlir::Attribute> constants;
};

/// The rule for the node's operator; null if there is none.
const LoweringRule *findRule(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_GRAPHLOWERING_H
