//===- OpsetUpgrade.cpp - What a newer opset leaves as it was -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/OpsetUpgrade.h"

#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/Policy.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

/// An attribute or a trailing input that a later version added, and without
/// which that version does what the earlier ones did.
struct Addition {
  llvm::StringLiteral opType, name;
  /// Only if the node has this input, by now or as an attribute that is to
  /// become it; -1 for no condition.
  int requiredInput = -1;
  llvm::StringLiteral requiredAttribute = "";
};

} // namespace

static constexpr Addition additions[] = {
    {"AveragePool", "ceil_mode"},
    {"AveragePool", "dilations"},
    {"BatchNormalization", "training_mode"},
    {"Cast", "round_mode"},
    {"Cast", "saturate"},
    {"CastLike", "round_mode"},
    {"CastLike", "saturate"},
    {"DequantizeLinear", "axis"},
    {"DequantizeLinear", "block_size"},
    {"DequantizeLinear", "output_dtype"},
    {"GRU", "layout"},
    {"LSTM", "layout"},
    {"LpPool", "ceil_mode"},
    {"LpPool", "dilations"},
    {"MaxPool", "Indices"},
    {"MaxPool", "ceil_mode"},
    {"MaxPool", "dilations"},
    {"MaxPool", "storage_order"},
    {"Pad", "axes"},
    {"QuantizeLinear", "axis"},
    {"QuantizeLinear", "block_size"},
    {"QuantizeLinear", "output_dtype"},
    {"QuantizeLinear", "precision"},
    {"QuantizeLinear", "saturate"},
    {"RNN", "layout"},
    {"ReduceL1", "noop_with_empty_axes"},
    {"ReduceL2", "noop_with_empty_axes"},
    {"ReduceLogSum", "noop_with_empty_axes"},
    {"ReduceLogSumExp", "noop_with_empty_axes"},
    {"ReduceMax", "noop_with_empty_axes"},
    {"ReduceMean", "noop_with_empty_axes"},
    {"ReduceMin", "noop_with_empty_axes"},
    {"ReduceProd", "noop_with_empty_axes"},
    {"ReduceSum", "noop_with_empty_axes"},
    {"ReduceSumSquare", "noop_with_empty_axes"},
    {"Reshape", "allowzero"},
    {"Resize", "antialias"},
    {"Resize", "axes"},
    {"Resize", "keep_aspect_ratio_policy"},
    {"ScatterElements", "reduction"},
    {"ScatterND", "reduction"},
    {"Shape", "end"},
    {"Shape", "start"},
    {"Slice", "steps"},
    {"Split", "num_outputs", 1, "split"},
};

static bool isAddition(Operation *node, StringRef opType, StringRef name) {
  auto hasRequired = [&](const Addition &addition) {
    int index = addition.requiredInput;
    bool hasInput = index < int(node->getNumOperands()) && index >= 0 &&
                    !isa<NoneType>(node->getOperand(index).getType());
    return index < 0 || hasInput || node->hasAttr(addition.requiredAttribute);
  };
  return llvm::any_of(additions, [&](const Addition &addition) {
    return addition.opType == opType && addition.name == name &&
           hasRequired(addition);
  });
}

/// The input that took the place of an attribute, under its name: sizes and
/// axes became inputs over time, and mean what they meant. Null if there is
/// none.
static const FormalParameter *getReplacement(const AttributeSchema &attribute,
                                             const OpSchema &after) {
  for (const FormalParameter &input : after.inputs)
    if (input.name == attribute.name && attribute.kind == "INTS" &&
        !after.getAttribute(attribute.name) &&
        after.typesOf(input).containsTensor(ElementKind::Int64))
      return &input;
  return nullptr;
}

/// The new input `next` is, or need not be, what an attribute says now.
static bool replacesAttribute(Operation *node, const FormalParameter &next,
                              const OpSchema &before, const OpSchema &after) {
  const AttributeSchema *old = before.getAttribute(next.name);
  if (!old || getReplacement(*old, after) != &next)
    return false;
  return node->hasAttr(next.name)
             ? isa<DenseI64ArrayAttr>(node->getAttr(next.name))
             : next.option == FormalParameter::Optional;
}

//===----------------------------------------------------------------------===//
// One node
//===----------------------------------------------------------------------===//

namespace {

class SchemaComparison {
public:
  SchemaComparison(Operation *node, const OpSchema &before,
                   const OpSchema &after)
      : node(node), before(before), after(after) {}

  std::string getObstacle();

private:
  std::string compareParameters(ArrayRef<FormalParameter> olds,
                                ArrayRef<FormalParameter> news, unsigned actual,
                                StringRef what);
  std::string compareAttributes();
  std::string bind(const FormalParameter &old, const FormalParameter &next);

  Operation *node;
  const OpSchema &before, &after;
  /// The old variable that each new one stands for.
  llvm::SmallDenseMap<unsigned, unsigned> bindings;
};

} // namespace

/// Values that had one type each must still be free to have it.
std::string SchemaComparison::bind(const FormalParameter &old,
                                   const FormalParameter &next) {
  if (!after.typesOf(next).includes(before.typesOf(old)))
    return "'" + next.name + "' admits fewer types";
  auto [it, isNew] = bindings.try_emplace(next.typeVariable, old.typeVariable);
  return isNew || it->second == old.typeVariable
             ? ""
             : "'" + next.name + "' shares its type with another value";
}

std::string SchemaComparison::compareParameters(ArrayRef<FormalParameter> olds,
                                                ArrayRef<FormalParameter> news,
                                                unsigned actual,
                                                StringRef what) {
  for (unsigned index = 0; index < std::max(olds.size(), news.size());
       ++index) {
    if (index >= news.size()) {
      if (index < actual)
        return what.str() + " '" + olds[index].name + "' is gone";
      continue;
    }
    const FormalParameter &next = news[index];
    if (index >= olds.size()) {
      bool isAdded = next.option == FormalParameter::Optional &&
                     isAddition(node, after.name, next.name);
      if (!isAdded && !replacesAttribute(node, next, before, after))
        return what.str() + " '" + next.name + "' is new";
      continue;
    }
    const FormalParameter &old = olds[index];
    bool isRelaxed = old.option == FormalParameter::Single &&
                     next.option == FormalParameter::Optional;
    if ((old.option != next.option && !isRelaxed) ||
        old.homogeneous != next.homogeneous || old.minArity != next.minArity)
      return what.str() + " '" + next.name + "' is of another form";
    if (std::string reason = bind(old, next); !reason.empty())
      return reason;
  }
  return "";
}

std::string SchemaComparison::compareAttributes() {
  for (const AttributeSchema &next : after.attributes) {
    const AttributeSchema *old = before.getAttribute(next.name);
    if (!old) {
      if (next.required || !isAddition(node, after.name, next.name))
        return "attribute '" + next.name + "' is new";
      continue;
    }
    if (old->kind != next.kind || old->required != next.required ||
        old->defaultValue != next.defaultValue)
      return "attribute '" + next.name + "' has changed";
  }
  for (const AttributeSchema &old : before.attributes) {
    if (after.getAttribute(old.name))
      continue;
    // Inputs have been compared.
    if (!getReplacement(old, after))
      return "attribute '" + old.name + "' is gone";
  }
  return "";
}

std::string SchemaComparison::getObstacle() {
  if (after.deprecated && !before.deprecated)
    return "the op is deprecated";
  std::string reason = compareParameters(before.inputs, after.inputs,
                                         node->getNumOperands(), "input");
  if (reason.empty())
    reason = compareParameters(before.outputs, after.outputs,
                               node->getNumResults(), "output");
  return reason.empty() ? compareAttributes() : reason;
}

std::string getUpgradeObstacle(Operation *node, int opset) {
  const OpSchema *before = getSchema(node);
  if (!before)
    return "";
  auto *dialect = cast<ONNXDialect>(node->getDialect());
  const OpSchema *after = dialect->getFamily(node->getName())->at(opset);
  std::optional<int64_t> inForce = getOpset(node, before->domain);
  if (before != after && (!inForce || *inForce < before->since))
    return "the op came after the opset in force";
  if (before == after || !after)
    return "";
  std::string reason = SchemaComparison(node, *before, *after).getObstacle();
  return reason.empty() ? "" : reason + " in " + after->getDisplayName();
}

/// A constant of these numbers before `node`.
static Value createConstant(Operation *node, StringRef name,
                            DenseI64ArrayAttr numbers, UniqueNames &names) {
  OpBuilder builder(node);
  auto &dialect = *node->getContext()->getLoadedDialect<ONNXDialect>();
  auto type = RankedTensorType::get({numbers.size()}, builder.getI64Type());
  OperationState state(
      node->getLoc(),
      getOperationName(node->getContext(),
                       *dialect.getSchemas().lookup("", "Constant")));
  StringRef owner = getNodeName(node);
  if (owner.empty() && node->getNumResults())
    owner = onnxir::getValueName(node->getResult(0));
  std::string base = (owner + "_" + name).str();
  state.addAttribute("value",
                     DenseElementsAttr::get(type, numbers.asArrayRef()));
  state.addAttribute(attr::name,
                     builder.getStringAttr(names.getNodeName(base)));
  state.addAttribute(attr::results,
                     builder.getStrArrayAttr({names.getValueName(base)}));
  if (node->hasAttr(mark::opClass)) {
    state.addAttribute(mark::opClass,
                       builder.getStringAttr(stringifyOpClass(OpClass::Deny)));
    state.addAttribute(mark::reason, builder.getStringAttr("constant"));
  }
  state.addTypes(type);
  return builder.create(state)->getResult(0);
}

/// Gives `node` the form that it has at `opset`; nothing stands against it.
static void upgrade(Operation *node, int opset, UniqueNames &names) {
  const OpSchema *before = getSchema(node);
  auto *dialect = cast<ONNXDialect>(node->getDialect());
  const OpSchema *after = dialect->getFamily(node->getName())->at(opset);
  if (!before || !after || before == after)
    return;
  for (const AttributeSchema &old : before->attributes) {
    auto numbers = node->getAttrOfType<DenseI64ArrayAttr>(old.name);
    const FormalParameter *input = getReplacement(old, *after);
    if (!numbers || !input)
      continue;
    SmallVector<Value> operands(node->getOperands());
    unsigned index = input - after->inputs.data();
    OpBuilder builder(node);
    while (operands.size() < index)
      operands.push_back(
          AbsentOp::create(builder, node->getLoc(), builder.getNoneType()));
    Value constant = createConstant(node, old.name, numbers, names);
    if (operands.size() == index)
      operands.push_back(constant);
    else
      operands[index] = constant;
    node->setOperands(operands);
    node->removeAttr(old.name);
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

std::optional<UpgradeObstacle>
findUpgradeObstacle(ModuleOp module, StringRef domain, int opset) {
  domain = normalizeDomain(domain);
  std::optional<UpgradeObstacle> obstacle;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<CustomOp>(op) || !isNode(op) || getDomain(op) != domain)
      return WalkResult::advance();
    std::string reason = getUpgradeObstacle(op, opset);
    if (reason.empty())
      return WalkResult::advance();
    obstacle = {op, std::move(reason)};
    return WalkResult::interrupt();
  });
  return obstacle;
}

/// The IR version that came with each opset of the default domain.
static int64_t getIRVersion(int opset) {
  static constexpr std::pair<int, int> versions[] = {
      {28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
      {15, 8},  {12, 7},  {11, 6},  {10, 5},  {9, 4}};
  for (auto [first, version] : versions)
    if (opset >= first)
      return version;
  return 3;
}

static void setImport(Operation *op, StringRef domain, int opset) {
  auto imports = op->getAttrOfType<ArrayAttr>(attr::opsets);
  if (!imports)
    return;
  Builder builder(op->getContext());
  SmallVector<Attribute> changed(imports.begin(), imports.end());
  for (Attribute &import : changed) {
    auto pair = dyn_cast<ArrayAttr>(import);
    if (!pair || pair.size() != 2)
      continue;
    auto name = dyn_cast<StringAttr>(pair[0]);
    auto version = dyn_cast<IntegerAttr>(pair[1]);
    if (version && normalizeDomain(name ? name.getValue() : "") == domain &&
        version.getInt() < opset)
      import = builder.getArrayAttr(
          {pair[0], IntegerAttr::get(version.getType(), opset)});
  }
  op->setAttr(attr::opsets, builder.getArrayAttr(changed));
}

/// True if a node of the function has another schema at `opset`.
static bool changesUnder(FunctionOp function, StringRef domain, int opset) {
  return function
      ->walk([&](Operation *op) {
        if (isa<CustomOp>(op) || !isNode(op) || getDomain(op) != domain)
          return WalkResult::advance();
        auto *dialect = cast<ONNXDialect>(op->getDialect());
        return dialect->getFamily(op->getName())->at(opset) != getSchema(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void setOpset(ModuleOp module, StringRef domain, int opset) {
  domain = normalizeDomain(domain);
  UniqueNames names(module);
  auto upgradeNodes = [&](Operation *scope) {
    SmallVector<Operation *> nodes;
    scope->walk([&](Operation *op) {
      if (!isa<CustomOp>(op) && isNode(op) && getDomain(op) == domain)
        nodes.push_back(op);
    });
    for (Operation *node : nodes)
      upgrade(node, opset, names);
  };
  for (auto graph : module.getOps<GraphOp>())
    upgradeNodes(graph);
  for (auto function : module.getOps<FunctionOp>()) {
    if (!changesUnder(function, domain, opset))
      continue;
    upgradeNodes(function);
    setImport(function, domain, opset);
  }
  setImport(module, domain, opset);
  auto model = module->getAttrOfType<DictionaryAttr>(attr::model);
  if (!model || !domain.empty())
    return;
  auto version = model.getAs<IntegerAttr>("ir_version");
  if (!version || version.getInt() >= getIRVersion(opset))
    return;
  NamedAttrList fields(model);
  fields.set("ir_version",
             IntegerAttr::get(version.getType(), getIRVersion(opset)));
  module->setAttr(attr::model, fields.getDictionary(module.getContext()));
}

} // namespace mp
