//===- PrecisionReport.h - What was decided, as plain data ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read off a module that the precision pipeline has left with its marks
// (`keep-marks`): nodes, values, casts, and for every node the neighbour that
// it has its precision from. Causes are found along the dataflow, not in the
// texts of reasons: a node whose class is fixed, whose schema forbids 16 bit
// or that is a hazard is a root; a free node has its precision from an operand
// of the same precision, or, if there is none, from the nearest node that is
// explained. All of it is linear in the size of the graph.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_PRECISIONREPORT_H
#define MPOPT_REPORT_PRECISIONREPORT_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Assignment/ByteCount.h"
#include "mp-opt/Report/WorkSummary.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mp {

/// Stands for "no node" and "no value".
inline constexpr int noIndex = -1;

/// A value. Strings belong to the context.
struct ReportValue {
  enum Kind : uint8_t { Input, Weight, BodyInput, Result };
  llvm::StringRef name;
  mlir::Type type;
  Kind kind = Result;
  bool isOutput = false;
  /// The node that yields it.
  int source = noIndex;
  /// Of what the mp dialect hands on, as a gradient that leaves the backward
  /// pass, the value that it is.
  int original = noIndex;
  ByteCount size;
  /// Nodes that take it, once per use, in order.
  llvm::SmallVector<unsigned, 2> users;
};

/// A node. Strings belong to the context.
struct ReportNode {
  /// Float values whose type could be chosen: 16 bit or fp32; or none.
  enum State : uint8_t { Other, F32, Low };
  mlir::Operation *op = nullptr;
  llvm::StringRef name, domain, opType;
  State state = Other;
  bool isInsertedCast = false;
  /// Nothing of its own decides its precision: its neighbours do.
  bool isFree = false;
  /// Float values of it compute shapes or indices.
  bool isShape = false;
  /// The schema admits the 16-bit type now; the first opset that does, or 0.
  bool isAdmitted = false;
  int firstOpset = 0;
  llvm::StringRef opClass, classReason, because, hazard, composite;
  /// `because` without numbers and names: what groups of nodes have in common.
  llvm::StringRef group;
  /// The bytes that `because` speaks of.
  std::optional<int64_t> cost;
  /// Of a graph that trains.
  TrainingPhase phase = TrainingPhase::Forward;
  /// Absent where nobody knows.
  std::optional<uint64_t> multiplyAdds;
  /// Index into PrecisionReport::scopes.
  unsigned scope = 0;
  /// The control-flow node whose body holds it.
  int parent = noIndex;
  /// Indices of values; noIndex for absent operands.
  llvm::SmallVector<int, 4> operands;
  llvm::SmallVector<unsigned, 2> results;
  /// Of its results.
  uint64_t bytes = 0;
  /// Where its precision comes from: a value that it takes or yields, and the
  /// node at the other end (noIndex: the value itself is the cause).
  int causeValue = noIndex, causeNode = noIndex;

  /// `name`, or the name of its first output.
  std::string getDisplayName() const;
};

/// A model's size and versions at one moment.
struct ModelSize {
  uint64_t weights = 0;
  /// Results of nodes that are no constants and no inserted casts.
  uint64_t activations = 0;
  /// Of a graph that trains: what the forward pass leaves for the backward one.
  uint64_t saved = 0;
  int64_t values = 0, dynamicValues = 0, unknownValues = 0;
  int64_t opset = 0, irVersion = 0;
  /// Inserted casts, and the bytes that they read and write.
  int64_t castsToLow = 0, castsToF32 = 0;
  uint64_t castBytes = 0;

  static ModelSize measure(mlir::ModuleOp module,
                           const DimensionSizes &dims = {});
  /// With the sizes of all values of the module.
  static ModelSize measure(mlir::ModuleOp module, const ValueSizes &sizes);
};

/// A recurrent cell in 16 bit, as messages call it, or an input that the caller
/// feeds with an output of the last call; empty if there is none.
std::string findRecurrentState(mlir::ModuleOp module);

/// What it would bring to allow the nodes of one operator 16 bit.
struct Saving {
  std::string op;
  /// Nodes that a policy keeps fp32, and free ones that are so with them.
  int64_t nodes = 0, following = 0;
  /// Half the fp32 results, and the casts beside them.
  uint64_t bytes = 0;
  /// The opset that 16 bit needs; 0 if the one in force admits it.
  int opset = 0;
};

struct PrecisionReport {
  /// "bf16" or "fp16".
  std::string precision;
  /// What the user says of symbolic dimensions; the others are guessed.
  DimensionSizes dims;
  /// In the order of the graph, a body's nodes behind the node that has it.
  std::vector<ReportNode> nodes;
  std::vector<ReportValue> values;
  /// Paths of names, '/' between their parts; [0] is the top.
  std::vector<std::string> scopes;
  /// What mp-verify-precision has counted.
  int64_t nodesLow = 0, nodesF32 = 0, nodesOther = 0;
  int64_t castsInserted = 0, castsRemoved = 0;
  int64_t elementsToZero = 0, masksClamped = 0;
  /// The marks are there; else nodes have no decisions, casts no makers.
  bool isMarked = false;
  ModelSize after;
  WorkSummary work;
  /// The cell or input that carries a state from step to step; empty if none
  /// does.
  std::string recurrentState;

  /// The main graph and, where they are marked, functions; without `withNodes`
  /// only counts and sizes. `module` is not changed and must outlive the
  /// result.
  static PrecisionReport collect(mlir::ModuleOp module,
                                 DimensionSizes dims = {},
                                 bool withNodes = true);

  /// The operators whose allowing saves most, best first.
  std::vector<Saving> getSavings(size_t limit) const;

  /// "bf16", "f32" or "".
  llvm::StringRef getPrecision(const ReportNode &node) const;
  /// The node that yields the value, or what it is handed on from.
  int getSource(const ReportValue &value) const;
  /// The value that an inserted cast, or several, was made from.
  int skipCasts(int value) const;
  /// Bytes that a cast reads and writes.
  uint64_t getMovedBytes(const ReportNode &cast) const;
  /// `wanted by node 'a' (Softmax-13) and 2 more`.
  std::string getCastReason(const ReportNode &cast) const;
};

} // namespace mp

#endif // MPOPT_REPORT_PRECISIONREPORT_H
