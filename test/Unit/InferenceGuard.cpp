//===- InferenceGuard.cpp - Hostile nodes and honest models ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: inference-guard [MODEL...]
//
// Without models: the guard refuses every node of a table, for the reason that
// stands there. With models: counts the nodes of their main graphs and the
// constant operands, and prints those that the guard refuses or hides.
//
//===----------------------------------------------------------------------===//

#include "Target/ONNX/InferenceGuard.h"

#include "Target/ONNX/Conversion.h"

#include "mlir/IR/MLIRContext.h"

#include "onnx/defs/parser.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mp;

namespace {

struct Case {
  const char *node, *reason;
};

class Checker {
public:
  Checker() { context.loadDialect<onnxir::ONNXDialect>(); }

  int checkCases();
  int countModels(ArrayRef<char *> paths);

private:
  void countModel(StringRef path, const ::onnx::ModelProto &model);
  std::string refuse(const ::onnx::NodeProto &node, int opset);
  InferenceOperand getOperand(StringRef name);

  MLIRContext context;
  /// Values of the current model.
  llvm::StringMap<const ::onnx::TypeProto *> types;
  llvm::StringMap<const ::onnx::TensorProto *> constants;
  unsigned models = 0, nodes = 0, refused = 0, values = 0, hidden = 0;
};

} // namespace

/// Nodes at opset 22. The operand `x` has no type, `many` too many dimensions.
static constexpr Case cases[] = {
    {"y = Conv <group = 0> (x, x)", "attribute 'group' is not positive"},
    {"y = Conv <strides = [1, -1]> (x, x)",
     "attribute 'strides' is not positive"},
    {"y = Conv <pads = [0, 9223372036854775807]> (x, x)",
     "attribute 'pads' is out of range"},
    {"y = Conv <group = 1.0> (x, x)", "attribute 'group' is not of kind INT"},
    {"y = Conv <strides: ints = @strides> (x, x)",
     "attribute 'strides' is not of kind INTS"},
    {"y = Conv (x)", "operands or results are missing or too many"},
    {"y = Conv (x, )", "operands or results are missing or too many"},
    {"y, z = Relu (x)", "operands or results are missing or too many"},
    {"y = Relu (many)", "an operand has too many dimensions"},
    {"y = DepthToSpace <blocksize = 4294967296> (x)",
     "attribute 'blocksize' is out of range"},
    {"y = DepthToSpace <blocksize = 0> (x)",
     "attribute 'blocksize' is not positive"},
    {"y = DepthToSpace (x)", "attribute 'blocksize' is missing"},
    {"y, z = Split <num_outputs = 2> (x)", ""},
    {"y, z = Split <num_outputs = 1> (x)",
     "attribute 'num_outputs' does not count its results"},
    {"y = If (x)", "it has subgraphs"},
    {"y = GroupNormalization <num_groups = 0> (x, x, x)",
     "attribute 'num_groups' is not positive"},
    {"y = Softmax <axis = 2147483649> (x)", "attribute 'axis' is out of range"},
    {"y = Einsum <equation = \"i1->i\"> (x)",
     "attribute 'equation' is not an equation"},
    {"y = Einsum <equation = \"......->\"> (x)",
     "attribute 'equation' is not an equation"},
    {"y = Einsum <equation = \"b...i, ...i Z -> 1\"> (x, x)", ""},
    {"y = Constant <value_int = 9223372036854775807> ()", ""},
    {"y = Conv <group = 2, strides = [2, 1]> (x, x)", ""},
};

std::string Checker::refuse(const ::onnx::NodeProto &node, int opset) {
  const OpFamily *family =
      SchemaRegistry::builtin().lookup(node.domain(), node.op_type());
  const OpSchema *schema = family ? family->at(opset) : nullptr;
  if (!schema)
    return "";
  SmallVector<InferenceOperand> operands;
  for (const std::string &name : node.input())
    operands.push_back(getOperand(name));
  for (auto [index, operand] : llvm::enumerate(operands))
    if (const FormalParameter *input = schema->getInput(index);
        input && operand.value) {
      ++values;
      hidden += !isSafeValue(*operand.value, *input);
    }
  return whyRefused(node, *schema, operands);
}

InferenceOperand Checker::getOperand(StringRef name) {
  if (name.empty())
    return {NoneType::get(&context)};
  if (name == "many")
    return {RankedTensorType::get(SmallVector<int64_t>(2000, 1),
                                  Float32Type::get(&context))};
  if (const ::onnx::TensorProto *value = constants.lookup(name)) {
    Type element =
        onnxir::getElementType(&context, ElementKind(value->data_type()));
    SmallVector<int64_t> dims(value->dims().begin(), value->dims().end());
    return {RankedTensorType::get(dims, element), value};
  }
  if (const ::onnx::TypeProto *type = types.lookup(name))
    return {convertType(&context, *type)};
  return {onnxir::UnknownType::get(&context)};
}

int Checker::checkCases() {
  int failures = 0;
  for (const Case &expected : cases) {
    ::onnx::NodeProto node;
    ::onnx::OnnxParser parser(expected.node);
    if (auto status = parser.Parse(node); !status.IsOK()) {
      llvm::errs() << expected.node << ": " << status.ErrorMessage() << "\n";
      return 1;
    }
    std::string reason = refuse(node, 22);
    if (reason != expected.reason) {
      ++failures;
      llvm::errs() << expected.node << ": expected '" << expected.reason
                   << "', got '" << reason << "'\n";
    }
  }
  llvm::outs() << std::size(cases) << " nodes, " << failures << " wrong\n";
  return failures != 0;
}

void Checker::countModel(StringRef path, const ::onnx::ModelProto &model) {
  types.clear(), constants.clear();
  const ::onnx::GraphProto &graph = model.graph();
  for (const auto *list : {&graph.input(), &graph.value_info()})
    for (const ::onnx::ValueInfoProto &info : *list)
      types[info.name()] = &info.type();
  for (const ::onnx::TensorProto &tensor : graph.initializer())
    constants[tensor.name()] = &tensor;
  llvm::StringMap<int> opsets;
  for (const auto &import : model.opset_import())
    opsets[normalizeDomain(import.domain())] = int(import.version());
  ++models;
  for (const ::onnx::NodeProto &node : graph.node()) {
    ++nodes;
    std::string reason =
        refuse(node, opsets.lookup(normalizeDomain(node.domain())));
    // Subgraphs were never asked about.
    if (reason.empty() || reason == "it has subgraphs")
      continue;
    ++refused;
    llvm::outs() << path << ": " << node.op_type() << ": " << reason << "\n";
  }
}

int Checker::countModels(ArrayRef<char *> paths) {
  for (const char *path : paths) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    ::onnx::ModelProto model;
    if (!buffer || !model.ParseFromString((*buffer)->getBuffer().str())) {
      llvm::errs() << path << ": cannot be read\n";
      return 1;
    }
    countModel(path, model);
  }
  llvm::outs() << "models " << models << ", nodes " << nodes << ", refused "
               << refused << ", constant operands " << values << ", hidden "
               << hidden << "\n";
  return 0;
}

int main(int argc, char **argv) {
  Checker checker;
  return argc > 1 ? checker.countModels({argv + 1, argv + argc})
                  : checker.checkCases();
}
