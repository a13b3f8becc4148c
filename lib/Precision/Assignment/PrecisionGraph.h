//===- PrecisionGraph.h - Variables and costs -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem that the minimum cut solves. Variables are type variables (tied
// if several ops share a value's type, e.g. calls of a function) and constants;
// each is 16 bit, f32, or free. Values have a producer and consumers among the
// variables, and a size.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ASSIGNMENT_PRECISIONGRAPH_H
#define MPOPT_LIB_PRECISION_ASSIGNMENT_PRECISIONGRAPH_H

#include "mp-opt/Graph/ValueFlow.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/ProductDepth.h"
#include "mp-opt/Precision/Analysis/StateCycles.h"
#include "mp-opt/Precision/Assignment/Assignment.h"
#include "mp-opt/Precision/Assignment/FloatTypeVariables.h"

namespace mp {

class PrecisionGraph {
public:
  /// No variable: always f32.
  static constexpr int fixedF32 = -1;

  struct Variable {
    enum Kind : uint8_t {
      Node,
      Tied,
      Constant,
      /// The result of DequantizeLinear, which users take in either type
      /// (QuantizedTypes.h).
      Dequantized,
      NoFloat,
      /// An input or output of the model that --io makes 16 bit.
      Interface
    };
    /// Index into the nodes; absent for a constant that is not a node, and for
    /// inputs and outputs.
    std::optional<unsigned> node;
    Kind kind = Node;
    enum State : uint8_t { Free, F32, Low };
    State state = Free;
    /// True if it may be 16 bit only if all its operands are 16 bit or made of
    /// constants.
    bool neverNarrows = false;
    /// True if a rule for nodes asks for 16 bit.
    bool isAsked = false;
    /// For Dequantized: the variable of the QuantizeLinear whose result is
    /// dequantized; negative if there is none.
    int quantizer = -1;
    DecisionReason reason;
    /// Values by index.
    llvm::SmallVector<unsigned, 4> reads, writes;
  };

  struct ValueEntry {
    mlir::Value value;
    int producer = fixedF32;
    /// Indices of variables, each once, in order of their first use.
    llvm::SmallVector<int, 4> consumers;
    bool hasF32Use = false;
    /// True if made of constants and parameters only.
    bool isDerivedFromConstants = false;
    int64_t elements = 0;
    /// With an error limit: the consumers of uses, each use once.
    llvm::SmallVector<std::pair<int, mlir::OpOperand *>, 0> uses = {};
  };

  PrecisionGraph(mlir::ModuleOp module, mlir::Type lowType,
                 std::vector<NodePrecision> &nodes,
                 const AssignmentOptions &options);

  std::vector<Variable> &getVariables() { return variables; }
  llvm::ArrayRef<ValueEntry> getValues() const { return values; }
  const AssignmentOptions &getOptions() const { return options; }

  /// The number of products between the inputs of the model and a value.
  ProductDepth getDepth(mlir::Value value) const {
    return depths.lookup(value);
  }
  /// The node of a variable; null if it has none.
  mlir::Operation *getNode(unsigned variable) const {
    auto node = variables[variable].node;
    return node ? nodes[*node].node : nullptr;
  }

  /// The graph's variable of each type variable of a node, in the order of
  /// getFloatTypeVariables.
  llvm::ArrayRef<int> getNodeVariables(unsigned node) const {
    return nodeVariables[node];
  }

  /// True for constants and dequantized values: each user takes the type that
  /// it wants, and nothing casts them.
  bool hasBothTypes(int variable) const {
    return variable >= 0 && (variables[variable].kind == Variable::Constant ||
                             variables[variable].kind == Variable::Dequantized);
  }

  /// Bytes of the 16-bit form of a value, and of the reads and writes of its
  /// cast. A small constant is stored twice rather than cast.
  int64_t getLowBytes(const ValueEntry &value) const {
    return 2 * value.elements;
  }
  int64_t getCastBytes(const ValueEntry &value) const;

  /// The 16-bit neighbours of a value.
  struct Uses {
    bool isProducerLow = false;
    unsigned lowConsumers = 0;
  };
  /// The bytes of a value and of its cast. A constant is stored in 16 bit if
  /// all its users are 16 bit.
  int64_t getCost(const ValueEntry &value, Uses uses) const;
  /// The same in the present state of the variables, and the sum over all
  /// values.
  int64_t getCost(const ValueEntry &value) const;
  int64_t getCost() const;

  /// The 16-bit type's name, for reasons.
  llvm::StringRef getLowName() const { return lowName; }

  /// A reason with this text.
  DecisionReason getReason(const llvm::Twine &text) const {
    return {mlir::StringAttr::get(context, text), {}};
  }
  /// The same with numbers, or a name, as separate values.
  DecisionReason getReason(const llvm::Twine &text,
                           llvm::ArrayRef<int64_t> numbers) const;
  DecisionReason getReason(const llvm::Twine &text, llvm::StringRef name) const;
  /// The reason that `value`, which is an operand, is f32.
  DecisionReason getOperandReason(const ValueEntry &value) const;

private:
  friend class QuantizedTypes;

  void addScope(mlir::Operation *scope, unsigned &nextNode);
  void addNode(unsigned index, SchemaCache &schemas, bool canCast);
  void addConstant(mlir::Operation *op, std::optional<unsigned> node);
  void fixVariable(Variable &variable, const FloatTypeVariable &typeVariable,
                   const NodePrecision &entry, const SchemaCache::Entry &schema,
                   bool canCast);
  DecisionReason getLegalityReason(const FloatTypeVariable &typeVariable,
                                   const SchemaCache::Entry &schema,
                                   bool canCast) const;
  DecisionReason getWideConstant(const FloatTypeVariable &typeVariable);
  bool fits(mlir::Value value);
  mlir::Operation *findUnfit(mlir::Value value) const;
  int join(int variable, int other);
  int find(int variable);
  void addValues(mlir::Operation *scope);
  void addValue(mlir::Value value);
  void joinContainers(mlir::Operation *scope);
  void joinChoices(mlir::Operation *scope);
  DecisionReason getStateReason(const FloatTypeVariable &typeVariable) const;

  mlir::MLIRContext *context;
  ElementKind low;
  llvm::StringRef lowName;
  std::vector<NodePrecision> &nodes;
  AssignmentOptions options;
  FunctionTable functions;
  ValueFlow flow;
  ProductDepths depths;
  StateCycles cycles;
  ValueSizes sizes;
  ConstantRange range;

  std::vector<Variable> variables;
  std::vector<ValueEntry> values;
  std::vector<llvm::SmallVector<int, 1>> nodeVariables;

  llvm::DenseMap<mlir::Value, int> producers;
  llvm::DenseMap<mlir::OpOperand *, int> consumers;
  std::vector<int> parents;
  /// Values that are made of constants and parameters.
  llvm::DenseSet<mlir::Value> derivedFromConstants;
  llvm::DenseMap<mlir::Value, mlir::Operation *> defaults;
  llvm::DenseMap<mlir::Value, bool> fitting;
};

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ASSIGNMENT_PRECISIONGRAPH_H
