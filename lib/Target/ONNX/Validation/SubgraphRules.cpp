//===- SubgraphRules.cpp - Branches, loop bodies, scans -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs and results of a subgraph must match those of its node in number
// and in type, except for shapes. The exceptions to this follow the standard's
// text on If, Loop, Scan and SequenceMap.
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mp::onnxir;
using Node = ::onnx::NodeProto;
using Proto = ::onnx::AttributeProto;

namespace mp {

namespace {

class SubgraphChecker {
public:
  SubgraphChecker(const Node &node, const OpSchema &schema, ValueRange operands,
                  TypeRange results, ArrayRef<std::unique_ptr<Region>> regions,
                  EmitErrorFn emitError)
      : node(node), schema(schema), operands(operands), results(results),
        regions(regions), emitError(emitError) {}

  LogicalResult check();

private:
  LogicalResult checkIf();
  LogicalResult checkLoop();
  LogicalResult checkScan();
  LogicalResult checkScanAttributes(int64_t scanned, int64_t stacked);
  LogicalResult checkScanAxes(StringRef list, ValueRange scanned);
  LogicalResult checkSequenceMap();

  LogicalResult checkCounts(StringRef name, size_t inputs, size_t outputs);
  LogicalResult checkOneElement(Type type, const Twine &what, Type element);
  LogicalResult checkSame(Type lhs, const Twine &left, Type rhs,
                          const Twine &right);
  LogicalResult checkResults(TypeRange yielded, StringRef name);

  /// The subgraph of an attribute; null if it is not there.
  const ::onnx::GraphProto *findGraph(StringRef name) const;
  Region *findRegion(StringRef name) const;
  const Proto *find(StringRef name) const;
  TypeRange getYielded(StringRef name) const {
    return getYield(*findRegion(name)).getOperandTypes();
  }

  const Node &node;
  const OpSchema &schema;
  ValueRange operands;
  TypeRange results;
  ArrayRef<std::unique_ptr<Region>> regions;
  EmitErrorFn emitError;
};

} // namespace

const Proto *SubgraphChecker::find(StringRef name) const {
  for (const Proto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

const ::onnx::GraphProto *SubgraphChecker::findGraph(StringRef name) const {
  const Proto *attribute = find(name);
  return attribute && attribute->has_g() ? &attribute->g() : nullptr;
}

Region *SubgraphChecker::findRegion(StringRef name) const {
  size_t place = 0;
  for (const Proto &attribute : node.attribute()) {
    if (attribute.name() == name)
      return regions[place].get();
    place += attribute.has_g() + attribute.graphs_size();
  }
  return nullptr;
}

/// True for types that can be compared. An optional value may become its
/// content.
static bool isComparable(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return isComparable(sequence.getElementType());
  return isa<TensorType>(type);
}

LogicalResult SubgraphChecker::checkCounts(StringRef name, size_t inputs,
                                           size_t outputs) {
  const ::onnx::GraphProto &graph = *findGraph(name);
  auto check = [&](int found, size_t expected,
                   StringRef what) -> LogicalResult {
    if (size_t(found) == expected)
      return success();
    return emitError() << "attribute '" << name << "': expected a graph with "
                       << expected << " " << what << (expected == 1 ? "" : "s")
                       << ", found one with " << found;
  };
  return success(succeeded(check(graph.input_size(), inputs, "input")) &&
                 succeeded(check(graph.output_size(), outputs, "output")));
}

LogicalResult SubgraphChecker::checkSame(Type lhs, const Twine &left, Type rhs,
                                         const Twine &right) {
  if (!isComparable(lhs) || !isComparable(rhs) ||
      withoutShape(lhs) == withoutShape(rhs))
    return success();
  return emitError() << left << " has type " << lhs << ", but " << right
                     << " has type " << rhs;
}

/// Checks a condition or a count: one number, scalar or not.
LogicalResult SubgraphChecker::checkOneElement(Type type, const Twine &what,
                                               Type element) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return success();
  if (tensor.getElementType() != element)
    return emitError() << "expected " << what << " of type " << element
                       << ", found " << type;
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || llvm::all_of(ranked.getShape(), [](int64_t size) {
        return size == 1 || ShapedType::isDynamic(size);
      }))
    return success();
  return emitError() << "expected " << what << " of one element, found "
                     << type;
}

LogicalResult SubgraphChecker::checkResults(TypeRange yielded, StringRef name) {
  for (auto [index, type, result] : llvm::enumerate(yielded, results))
    if (failed(checkSame(result, "output '" + node.output(index) + "'", type,
                         "output #" + Twine(index) + " of '" + name + "'")))
      return failure();
  return success();
}

LogicalResult SubgraphChecker::checkIf() {
  if (operands.size() == 1 &&
      failed(checkOneElement(operands[0].getType(), "a condition",
                             IntegerType::get(operands[0].getContext(), 1))))
    return failure();
  for (StringRef name : {"then_branch", "else_branch"}) {
    if (failed(checkCounts(name, 0, results.size())) ||
        failed(checkResults(getYielded(name), name)))
      return failure();
  }
  for (auto [index, type, other] :
       llvm::enumerate(getYielded("then_branch"), getYielded("else_branch")))
    if (failed(checkSame(type, "output #" + Twine(index) + " of 'then_branch'",
                         other, "that of 'else_branch'")))
      return failure();
  return success();
}

LogicalResult SubgraphChecker::checkLoop() {
  size_t states = operands.size() < 2 ? 0 : operands.size() - 2;
  if (results.size() < states)
    return emitError() << "expected an output for each of " << states
                       << " states, found " << results.size();
  if (failed(checkCounts("body", 2 + states, 1 + results.size())))
    return failure();
  Block &body = findRegion("body")->front();
  Builder builder(body.getArgument(0).getContext());
  Type number = builder.getI64Type(), truth = builder.getI1Type();
  TypeRange yielded = getYielded("body");
  if (failed(checkOneElement(body.getArgument(0).getType(),
                             "a number of the iteration as input #0 of 'body'",
                             number)) ||
      failed(checkOneElement(body.getArgument(1).getType(),
                             "a condition as input #1 of 'body'", truth)) ||
      failed(checkOneElement(yielded[0], "a condition as output #0 of 'body'",
                             truth)))
    return failure();
  for (size_t index = 0; index < states; ++index) {
    Type inner = body.getArgument(2 + index).getType();
    std::string what = "state #" + std::to_string(index);
    if (failed(checkSame(operands[2 + index].getType(), what, inner,
                         "the input of 'body' for it")) ||
        failed(checkSame(operands[2 + index].getType(), what,
                         yielded[1 + index], "the output of 'body' for it")))
      return failure();
  }
  return checkResults(yielded.drop_front(), "body");
}

LogicalResult SubgraphChecker::checkScanAxes(StringRef list,
                                             ValueRange scanned) {
  const Proto *attribute = find(list);
  if (!attribute)
    return success();
  for (auto [axis, value] : llvm::zip(attribute->ints(), scanned)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && (axis < -type.getRank() || axis >= type.getRank()))
      return emitError() << "attribute '" << list << "': expected an axis of "
                         << type << ", found " << axis;
  }
  return success();
}

LogicalResult SubgraphChecker::checkScanAttributes(int64_t scanned,
                                                   int64_t stacked) {
  std::pair<StringRef, int64_t> lists[] = {{"scan_input_axes", scanned},
                                           {"scan_input_directions", scanned},
                                           {"directions", scanned},
                                           {"scan_output_axes", stacked},
                                           {"scan_output_directions", stacked}};
  for (auto [name, count] : lists) {
    const Proto *attribute = find(name);
    if (!attribute || attribute->has_ref_attr_name())
      continue;
    if (attribute->ints_size() && attribute->ints_size() != count)
      return emitError() << "attribute '" << name << "': expected " << count
                         << " values, found " << attribute->ints_size();
    if (name.ends_with("directions"))
      for (int64_t direction : attribute->ints())
        if (direction != 0 && direction != 1)
          return emitError() << "attribute '" << name
                             << "': expected 0 or 1, found " << direction;
  }
  return success();
}

LogicalResult SubgraphChecker::checkScan() {
  // The first version has the lengths of its sequences as first operand.
  ValueRange values = schema.since < 9 ? operands.drop_front() : operands;
  const Proto *count = find("num_scan_inputs");
  if (count->has_ref_attr_name())
    return success();
  int64_t scanned = count->i();
  if (scanned < 1 || size_t(scanned) > values.size())
    return emitError() << "attribute 'num_scan_inputs': expected 1 to "
                       << values.size() << ", found " << scanned;
  size_t states = values.size() - size_t(scanned);
  if (results.size() < states)
    return emitError() << "expected an output for each of " << states
                       << " states, found " << results.size();
  if (failed(checkCounts("body", values.size(), results.size())) ||
      failed(checkScanAttributes(scanned, int64_t(results.size() - states))) ||
      failed(checkScanAxes("scan_input_axes", values.drop_front(states))))
    return failure();
  Block &body = findRegion("body")->front();
  TypeRange yielded = getYielded("body");
  for (auto [index, value] : llvm::enumerate(values)) {
    std::string what = "input #" + std::to_string(index);
    if (failed(checkSame(value.getType(), what,
                         body.getArgument(index).getType(),
                         "the input of 'body' for it")))
      return failure();
    if (index < states &&
        failed(checkSame(value.getType(), what, yielded[index],
                         "the output of 'body' for it")))
      return failure();
  }
  return checkResults(yielded, "body");
}

LogicalResult SubgraphChecker::checkSequenceMap() {
  return checkCounts("body", operands.size(), results.size());
}

LogicalResult SubgraphChecker::check() {
  // Missing parts are reported by the verifier.
  for (const AttributeSchema &attribute : schema.attributes)
    if (attribute.required &&
        (attribute.kind == "GRAPH" ? !findGraph(attribute.name)
                                   : !find(attribute.name)))
      return success();
  if (schema.name == "If")
    return checkIf();
  if (schema.name == "Loop")
    return checkLoop();
  if (schema.name == "Scan")
    return checkScan();
  if (schema.name == "SequenceMap")
    return checkSequenceMap();
  return success();
}

LogicalResult checkSubgraphs(const Node &node, const OpSchema &schema,
                             ValueRange operands, TypeRange results,
                             ArrayRef<std::unique_ptr<Region>> regions,
                             EmitErrorFn emitError) {
  if (!schema.isONNX())
    return success();
  return SubgraphChecker(node, schema, operands, results, regions, emitError)
      .check();
}

} // namespace mp
