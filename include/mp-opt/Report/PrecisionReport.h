//===- PrecisionReport.h - Decisions as plain data --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects a report from a module that the precision pipeline has left with its
// marks (`keep-marks`): nodes, values, casts, and for every node the neighbour
// that determines its precision. Causes are found along the dataflow, not from
// texts of reasons. A node whose class is fixed, whose schema forbids 16 bit or
// that is a hazard is a root. A free node has its precision from an operand of
// the same precision, or, if there is none, from the nearest node with an
// explanation. The time is linear in the size of the graph.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_PRECISIONREPORT_H
#define MPOPT_REPORT_PRECISIONREPORT_H

#include "mp-opt/Dialect/MP/ErrorMarks.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Assignment/ByteCount.h"
#include "mp-opt/Report/WorkSummary.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mp {

/// Means "no node" or "no value".
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
  /// For a value that an op of the mp dialect passes on, such as a gradient
  /// that leaves the backward pass: the value it was.
  int original = noIndex;
  ByteCount size;
  /// Nodes that read it, once per use, in order.
  llvm::SmallVector<unsigned, 2> users;
};

/// A node. Strings belong to the context.
struct ReportNode {
  /// The precision of float values whose type could be chosen: 16 bit or fp32;
  /// Other if there are none.
  enum State : uint8_t { Other, F32, Low };
  mlir::Operation *op = nullptr;
  llvm::StringRef name, domain, opType;
  State state = Other;
  bool isInsertedCast = false;
  /// True if only its neighbours decide its precision.
  bool isFree = false;
  /// True if its float values compute shapes or indices.
  bool isShape = false;
  /// True if the schema admits the 16-bit type now; the first opset that does,
  /// or 0.
  bool isAdmitted = false;
  int firstOpset = 0;
  llvm::StringRef opClass, classReason, because, hazard, composite;
  /// `because` without numbers and names: the common text of a group of nodes.
  llvm::StringRef group;
  /// The bytes that `because` mentions.
  std::optional<int64_t> cost;
  /// The phase; meaningful if the graph trains.
  TrainingPhase phase = TrainingPhase::Forward;
  /// Absent if unknown.
  std::optional<uint64_t> multiplyAdds;
  /// Absent if errors were not attributed, or nothing is rounded here.
  std::optional<NodeErrorMark> error;
  /// Index into PrecisionReport::scopes.
  unsigned scope = 0;
  /// The control-flow node whose body holds it.
  int parent = noIndex;
  /// Indices of values; noIndex for absent operands.
  llvm::SmallVector<int, 4> operands;
  llvm::SmallVector<unsigned, 2> results;
  /// The size of its results.
  uint64_t bytes = 0;
  /// The cause of its precision: a value that it takes or yields, and the node
  /// at the other end (noIndex: the value itself is the cause).
  int causeValue = noIndex, causeNode = noIndex;

  /// `name`, or the name of its first output.
  std::string getDisplayName() const;
};

/// A model's size and versions at one point of the pipeline.
struct ModelSize {
  uint64_t weights = 0;
  /// Results of nodes that are neither constants nor inserted casts.
  uint64_t activations = 0;
  /// For a graph that trains: values of the forward pass that nodes after it
  /// read, in bytes.
  uint64_t saved = 0;
  int64_t values = 0, dynamicValues = 0, unknownValues = 0;
  int64_t opset = 0, irVersion = 0;
  /// Inserted casts, and the bytes that they read and write.
  int64_t castsToLow = 0, castsToF32 = 0;
  uint64_t castBytes = 0;

  static ModelSize measure(mlir::ModuleOp module,
                           const DimensionSizes &dims = {});
  /// Measures with known sizes of all values of the module.
  static ModelSize measure(mlir::ModuleOp module, const ValueSizes &sizes);
};

/// The name, for messages, of a recurrent cell in 16 bit, or of an input that
/// the caller feeds with an output of the last call; empty if there is none.
std::string findRecurrentState(mlir::ModuleOp module);

/// The gain from allowing the nodes of one operator 16 bit.
struct Saving {
  std::string op;
  /// Nodes that a policy keeps fp32, and free nodes that are fp32 because of
  /// them.
  int64_t nodes = 0, following = 0;
  /// Half the fp32 results, and the casts next to them.
  uint64_t bytes = 0;
  /// The opset that 16 bit needs; 0 if the current opset admits it.
  int opset = 0;
};

struct PrecisionReport {
  /// "bf16" or "fp16".
  std::string precision;
  /// Sizes of symbolic dimensions from the user; the others are guessed.
  DimensionSizes dims;
  /// Nodes in the order of the graph; a body's nodes come after its node.
  std::vector<ReportNode> nodes;
  std::vector<ReportValue> values;
  /// Paths of names, separated by '/'; [0] is the top.
  std::vector<std::string> scopes;
  /// Counters of mp-verify-precision.
  int64_t nodesLow = 0, nodesF32 = 0, nodesOther = 0;
  int64_t castsInserted = 0, castsRemoved = 0;
  int64_t elementsToZero = 0, masksClamped = 0;
  /// True if the module has its marks; otherwise decisions and the origins of
  /// casts are unknown.
  bool isMarked = false;
  ModelSize after;
  WorkSummary work;
  /// Absent if errors were not attributed.
  std::optional<ErrorTotals> errors;
  /// The cell or input that carries a state from step to step; empty if there
  /// is none.
  std::string recurrentState;

  /// Collects the main graph and marked functions; without `withNodes` only
  /// counts and sizes. `module` is not changed and must outlive the result.
  static PrecisionReport collect(mlir::ModuleOp module,
                                 DimensionSizes dims = {},
                                 bool withNodes = true);

  /// The operators that would save most if they were allowed, best first.
  std::vector<Saving> getSavings(size_t limit) const;

  /// "bf16", "f32" or "".
  llvm::StringRef getPrecision(const ReportNode &node) const;
  /// The node that yields the value or, if an op of the mp dialect passes it
  /// on, the original value.
  int getSource(const ReportValue &value) const;
  /// The value before one or several inserted casts.
  int skipCasts(int value) const;
  /// The bytes that a cast reads and writes.
  uint64_t getMovedBytes(const ReportNode &cast) const;
  /// For example `wanted by node 'a' (Softmax-13) and 2 more`.
  std::string getCastReason(const ReportNode &cast) const;
};

} // namespace mp

#endif // MPOPT_REPORT_PRECISIONREPORT_H
