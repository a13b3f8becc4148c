//===- NodeViews.cpp - Attributes with the defaults of schemas ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes of a node take precedence over the schema's defaults at the
// opset in force, and these over the caller's defaults. Every default that a
// schema states can be read.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/NodeView.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mp;

static bool isGood = true;

static void expect(bool holds, const Twine &what) {
  if (!holds)
    llvm::errs() << what << "\n";
  isGood &= holds;
}

/// Calls `check` with a node of this text, in a model of this opset.
static void withNode(MLIRContext &context, int opset, StringRef node,
                     llvm::function_ref<void(const NodeView &)> check) {
  std::string text =
      ("module attributes {onnx.opset_import = [[\"\", " + Twine(opset) +
       "], [\"com.microsoft\", 1]]} { onnx.graph { "
       "^bb0(%x: tensor<2x3xf32>): %y = \"onnx." +
       node +
       " : (tensor<2x3xf32>) -> tensor<*xf32> onnx.yield %y : tensor<*xf32> "
       "{onnx.inputs = [{name = \"x\"}], onnx.outputs = [{name = \"y\"}]} } }")
          .str();
  // Nodes need not be whole.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  auto module = parseSourceString<ModuleOp>(text, config);
  expect(bool(module), "cannot read " + text);
  if (module)
    module->walk([&](Operation *op) {
      if (onnxir::isNode(op))
        check(op);
    });
}

static void checkOpsets(MLIRContext &context) {
  withNode(context, 12, R"(Softmax"(%x))", [](const NodeView &node) {
    expect(node.getVersion() == 11 && node.axis() == 1, "Softmax-11");
  });
  withNode(context, 13, R"(Softmax"(%x))", [](const NodeView &node) {
    expect(node.getVersion() == 13 && node.axis() == -1, "Softmax-13");
    expect(node.axisIn(2) == 1, "its last axis");
  });
  withNode(context, 13, R"(Softmax"(%x) {axis = 0 : i64})",
           [](const NodeView &node) {
             expect(node.states("axis") && node.axis() == 0, "a stated axis");
           });
  withNode(context, 5, R"(Selu"(%x))", [](const NodeView &node) {
    expect(node.getFloat("alpha") == 1.6732f, "Selu-1");
  });
  withNode(context, 22, R"(Selu"(%x))", [](const NodeView &node) {
    expect(node.getFloat("alpha") == 1.67326319217681884765625, "Selu-22");
  });
  withNode(context, 2, R"(GRU"(%x))", [](const NodeView &node) {
    expect(node.getString("direction") == "forward", "GRU-1");
  });
}

static void checkKinds(MLIRContext &context) {
  withNode(context, 18, R"(ReduceSum"(%x))", [](const NodeView &node) {
    expect(node.keepDims() && !node.getFlag("noop_with_empty_axes"), "flags");
    expect(!node.states("keepdims"), "a default is not stated");
  });
  withNode(context, 18, R"(com.microsoft.QuickGelu"(%x))",
           [](const NodeView &node) {
             expect(node.getFloat("alpha") == 1.702f,
                    "a default of another domain, as the float that it is");
           });
  withNode(context, 18, R"(MeanVarianceNormalization"(%x))",
           [](const NodeView &node) {
             expect(node.getInts("axes") == SmallVector<int64_t>{0, 2, 3},
                    "a list");
           });
  withNode(context, 18, R"(Transpose"(%x))", [](const NodeView &node) {
    expect(node.permutation(3) == SmallVector<int64_t>{2, 1, 0},
           "axes are reversed");
  });
  // Schemas have no default for these.
  withNode(context, 18, R"(Compress"(%x))", [](const NodeView &node) {
    expect(node.getInt("axis", 7) == 7 && node.getFloat("seed", 0.5) == 0.5 &&
               node.getString("mode", "none") == "none" &&
               node.getInts("pads").empty(),
           "what the caller says");
    expect(node.axis() == 0, "or nothing");
  });
  // Stated, but of another kind; the default has a kind, too.
  withNode(context, 1, R"(LpPool"(%x))", [](const NodeView &node) {
    expect(node.getInt("p", 3) == 3 && node.getFloat("p") == 2, "kinds");
  });
}

/// A node without a schema: only its own attributes are known.
static void checkOpaque(MLIRContext &context) {
  withNode(
      context, 18,
      R"(custom"(%x) {onnx_domain = "other", onnx_op_type = "Softmax", k = 5 : i64})",
      [](const NodeView &node) {
        expect(!node.getSchema() && node.getVersion() == 1, "no schema");
        expect(node.getInt("axis", 3) == 3 && node.getInt("k") == 5,
               "attributes without a schema");
      });
}

/// Readers of defaults understand all of them.
static void checkSchemas(MLIRContext &context) {
  auto *dialect = context.getOrLoadDialect<onnxir::ONNXDialect>();
  unsigned count = 0;
  for (const OpFamily *family : dialect->getSchemas().getFamilies()) {
    if (!family->domain.empty())
      continue;
    const OpSchema &schema = *family->getVersions().back();
    OperationState state(UnknownLoc::get(&context),
                         onnxir::getOperationName(&context, *family));
    Operation *op = Operation::create(state);
    NodeView node(op);
    for (const AttributeSchema &attribute : schema.attributes) {
      if (!attribute.defaultValue)
        continue;
      std::string what = schema.getDisplayName() + " " + attribute.name;
      StringRef name = attribute.name, kind = attribute.kind;
      count += kind == "INT" || kind == "FLOAT" || kind == "STRING";
      if (kind == "INT")
        expect(node.getInt(name, -77) != -77, what);
      if (kind == "FLOAT")
        expect(node.getFloat(name, -77) != -77, what);
      if (kind == "STRING")
        expect(node.getString(name, "?") != "?", what);
    }
    op->destroy();
  }
  expect(count > 100, "only " + Twine(count) + " defaults");
}

int main() {
  MLIRContext context;
  context.getOrLoadDialect<onnxir::ONNXDialect>();
  checkOpsets(context);
  checkKinds(context);
  checkOpaque(context);
  checkSchemas(context);
  return isGood ? 0 : 1;
}
