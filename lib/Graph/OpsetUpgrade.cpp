//===- OpsetUpgrade.cpp - Upgrades to newer opsets ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Graph/OpsetUpgrade.h"

#include "Opset/Adapters.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

namespace {

/// An attribute, or a trailing input or output, that a later version added and
/// that keeps the earlier behaviour if it is absent.
struct Addition {
  llvm::StringLiteral opType, name;
};

/// A step that some nodes cannot take, and the reason.
struct Restriction {
  llvm::StringLiteral opType;
  int version;
  llvm::StringLiteral reason;
};

} // namespace

static constexpr Addition additions[] = {
    {"ArgMax", "select_last_index"},
    {"ArgMin", "select_last_index"},
    {"Attention", "left_window_size"},
    {"Attention", "nonpad_kv_seqlen"},
    {"Attention", "right_window_size"},
    {"AveragePool", "ceil_mode"},
    {"AveragePool", "dilations"},
    {"BatchNormalization", "training_mode"},
    {"Cast", "round_mode"},
    {"Cast", "saturate"},
    {"CastLike", "round_mode"},
    {"CastLike", "saturate"},
    {"Constant", "sparse_value"},
    {"Constant", "value_float"},
    {"Constant", "value_floats"},
    {"Constant", "value_int"},
    {"Constant", "value_ints"},
    {"Constant", "value_string"},
    {"Constant", "value_strings"},
    {"DepthToSpace", "mode"},
    {"DequantizeLinear", "axis"},
    {"DequantizeLinear", "block_size"},
    {"DequantizeLinear", "output_dtype"},
    {"GRU", "layout"},
    {"GatherND", "batch_dims"},
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
    // It only concerns types that Range-11 does not have.
    {"Range", "stash_type"},
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
    {"SpaceToDepth", "mode"},
    {"TopK", "largest"},
    {"TopK", "sorted"},
};

static constexpr Restriction restrictions[] = {
    {"BatchNormalization", 9, "statistics of each feature in training"},
    {"BatchNormalization", 14, "saved statistics that are in use"},
    {"Erf", 13, "integers"},
    {"ReduceLogSum", 28, "integers"},
    {"ReduceLogSumExp", 28, "integers"},
    {"Resize", 13, "tf_half_pixel_for_nn, but for nearest elements below"},
    {"Scan", 9, "lengths of sequences"},
};

static bool isAddition(StringRef opType, StringRef name) {
  return llvm::any_of(additions, [&](const Addition &addition) {
    return addition.opType == opType && addition.name == name;
  });
}

/// The input of the same name that replaced an attribute: sizes and axes became
/// inputs over time, with the same meaning. Null if there is none.
static const FormalParameter *getReplacement(const AttributeSchema &attribute,
                                             const OpSchema &after) {
  for (const FormalParameter &input : after.inputs)
    if (input.name == attribute.name && attribute.kind == "INTS" &&
        !after.getAttribute(attribute.name) &&
        after.typesOf(input).containsTensor(ElementKind::Int64))
      return &input;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// One step of one node
//===----------------------------------------------------------------------===//

namespace {

/// Compares two versions of an op, for one node or, without a node, for all.
class SchemaComparison {
public:
  SchemaComparison(Operation *node, int opset, const OpSchema &before,
                   const OpSchema &after)
      : node(node), opset(opset), before(before), after(after) {}

  /// The reason why the node's meaning changes; empty if it does not.
  std::string getObstacle();
  /// Changes, other than of types, that getObstacle found.
  bool hasMoved() const { return moved; }
  bool hasAdded() const { return added; }

private:
  std::string compareParameters(ArrayRef<FormalParameter> olds,
                                ArrayRef<FormalParameter> news,
                                mlir::ValueRange actual, StringRef what);
  std::string compareAttributes();
  std::string compareAttribute(const AttributeSchema &old,
                               const AttributeSchema &next);
  std::string bind(const FormalParameter &old, const FormalParameter &next,
                   mlir::ValueRange actual, unsigned index);
  bool replacesAttribute(const FormalParameter &next);

  Operation *node;
  int opset;
  const OpSchema &before, &after;
  bool moved = false, added = false;
  /// The old variable for each new one.
  llvm::SmallDenseMap<unsigned, unsigned> bindings;
};

} // namespace

/// Values that had one type each must still be allowed to have it.
std::string SchemaComparison::bind(const FormalParameter &old,
                                   const FormalParameter &next,
                                   mlir::ValueRange actual, unsigned index) {
  const TypeSet &types = after.typesOf(next);
  if (!types.includes(before.typesOf(old))) {
    bool fits = index < actual.size() &&
                types.containsTensor(getElementKind(
                    getTensorElementType(actual[index].getType())));
    if (!fits && (!node || index < actual.size()))
      return "'" + next.name + "' admits fewer types";
  }
  auto [it, isNew] = bindings.try_emplace(next.typeVariable, old.typeVariable);
  return isNew || it->second == old.typeVariable
             ? ""
             : "'" + next.name + "' shares its type with another value";
}

/// True if the new input `next` replaces an attribute, or may be absent.
bool SchemaComparison::replacesAttribute(const FormalParameter &next) {
  const AttributeSchema *old = before.getAttribute(next.name);
  if (!old || getReplacement(*old, after) != &next)
    return false;
  moved = true;
  return !node || next.option == FormalParameter::Optional ||
         node->hasAttr(next.name);
}

std::string SchemaComparison::compareParameters(ArrayRef<FormalParameter> olds,
                                                ArrayRef<FormalParameter> news,
                                                mlir::ValueRange actual,
                                                StringRef what) {
  for (unsigned index = 0; index < std::max(olds.size(), news.size());
       ++index) {
    if (index >= news.size()) {
      if (!node || index < actual.size())
        return what.str() + " '" + olds[index].name + "' is gone";
      continue;
    }
    const FormalParameter &next = news[index];
    if (index >= olds.size()) {
      bool isAdded = next.option == FormalParameter::Optional &&
                     isAddition(after.name, next.name);
      if (!isAdded && !replacesAttribute(next))
        return what.str() + " '" + next.name + "' is new";
      added |= isAdded;
      continue;
    }
    const FormalParameter &old = olds[index];
    bool isRelaxed = old.option == FormalParameter::Single &&
                     next.option == FormalParameter::Optional;
    if ((old.option != next.option && !isRelaxed) ||
        old.homogeneous != next.homogeneous || old.minArity < next.minArity)
      return what.str() + " '" + next.name + "' is of another form";
    if (std::string reason = bind(old, next, actual, index); !reason.empty())
      return reason;
  }
  return "";
}

std::string SchemaComparison::compareAttribute(const AttributeSchema &old,
                                               const AttributeSchema &next) {
  bool isStricter = next.required && !old.required;
  return old.kind != next.kind || isStricter ||
                 old.defaultValue != next.defaultValue
             ? "attribute '" + next.name + "' has changed"
             : "";
}

std::string SchemaComparison::compareAttributes() {
  for (const AttributeSchema &next : after.attributes) {
    const AttributeSchema *old = before.getAttribute(next.name);
    if (!old && (next.required || !isAddition(after.name, next.name)))
      return "attribute '" + next.name + "' is new";
    added |= !old;
    if (old)
      if (std::string reason = compareAttribute(*old, next); !reason.empty())
        return reason;
  }
  for (const AttributeSchema &old : before.attributes) {
    if (after.getAttribute(old.name))
      continue;
    // Inputs were already compared.
    if (!getReplacement(old, after))
      return "attribute '" + old.name + "' is gone";
    if (!node)
      continue;
    if (std::string reason = getConstantObstacle(node, old.name, opset);
        !reason.empty())
      return reason;
  }
  return "";
}

std::string SchemaComparison::getObstacle() {
  if (after.deprecated && !before.deprecated)
    return "the op is deprecated";
  std::string reason = compareParameters(
      before.inputs, after.inputs,
      node ? mlir::ValueRange(node->getOperands()) : mlir::ValueRange(),
      "input");
  if (reason.empty())
    reason = compareParameters(before.outputs, after.outputs,
                               node ? mlir::ValueRange(node->getResults())
                                    : mlir::ValueRange(),
                               "output");
  return reason.empty() ? compareAttributes() : reason;
}

OpsetStep classifyStep(const OpSchema &before, const OpSchema &after) {
  const OpsetAdapter *adapter = findAdapter(before.name, after.since);
  const auto *restriction =
      llvm::find_if(restrictions, [&](const Restriction &entry) {
        return entry.opType == after.name && entry.version == after.since;
      });
  std::string except;
  if (restriction != std::end(restrictions))
    except = restriction->reason.str();
  if (adapter)
    return {OpsetStep::Adapter, except};
  SchemaComparison comparison(nullptr, 0, before, after);
  if (std::string reason = comparison.getObstacle(); !reason.empty())
    return except.empty() ? OpsetStep{OpsetStep::Unknown, reason}
                          : OpsetStep{OpsetStep::Types, except};
  return {comparison.hasMoved()   ? OpsetStep::Inputs
          : comparison.hasAdded() ? OpsetStep::Additions
                                  : OpsetStep::Types,
          except};
}

//===----------------------------------------------------------------------===//
// One node
//===----------------------------------------------------------------------===//

namespace {

struct Step {
  const OpSchema *before, *after;
  const OpsetAdapter *adapter;
};

/// The steps from one version of an op to the one in force at an opset, except
/// steps that every node takes unchanged. Found once per version.
class OpsetSteps {
public:
  OpsetSteps(const SchemaRegistry &schemas, int opset)
      : schemas(schemas), opset(opset) {}

  int getOpset() const { return opset; }
  ArrayRef<Step> lookup(const OpSchema &start);

private:
  const SchemaRegistry &schemas;
  int opset;
  llvm::DenseMap<const OpSchema *, SmallVector<Step, 2>> known;
};

} // namespace

ArrayRef<Step> OpsetSteps::lookup(const OpSchema &start) {
  auto [it, isNew] = known.try_emplace(&start);
  if (!isNew)
    return it->second;
  const OpFamily *family = schemas.lookup(start.domain, start.name);
  const OpSchema *before = &start;
  while (family) {
    const OpSchema *after = family->after(before->since);
    if (!after || after->since > opset)
      break;
    const OpsetAdapter *adapter = family->domain.empty()
                                      ? findAdapter(family->name, after->since)
                                      : nullptr;
    SchemaComparison comparison(nullptr, opset, *before, *after);
    bool isFree =
        !adapter && comparison.getObstacle().empty() && !comparison.hasMoved();
    if (!isFree)
      it->second.push_back({before, after, adapter});
    if (adapter && !adapter->becomes.empty()) {
      family = schemas.lookup("", adapter->becomes);
      after = family ? family->at(after->since) : nullptr;
    }
    if (!after)
      break;
    before = after;
  }
  return it->second;
}

static OpsetSteps createSteps(ModuleOp module, int opset) {
  auto *dialect = module.getContext()->getLoadedDialect<ONNXDialect>();
  return OpsetSteps(dialect->getSchemas(), opset);
}

/// The reason why the meaning of `node` changes at the opset of `steps`; empty
/// if it does not.
static std::string getObstacle(Operation *node, OpsetSteps &steps) {
  const OpSchema *start = getSchema(node);
  if (!start)
    return "";
  int opset = steps.getOpset();
  auto *dialect = cast<ONNXDialect>(node->getDialect());
  const OpSchema *end = dialect->getFamily(node->getName())->at(opset);
  if (start == end)
    return "";
  std::optional<int64_t> inForce = getOpset(node, start->domain);
  if (!inForce || *inForce < start->since)
    return "the op came after the opset in force";
  for (const Step &step : steps.lookup(*start)) {
    std::string reason =
        step.adapter ? step.adapter->getObstacle(node, opset)
                     : SchemaComparison(node, opset, *step.before, *step.after)
                           .getObstacle();
    if (!reason.empty())
      return reason + " in " + step.after->getDisplayName();
  }
  return "";
}

/// Moves attributes to the inputs that replaced them.
static void moveAttributes(NodeEditor &editor, const OpSchema &before,
                           const OpSchema &after) {
  for (const AttributeSchema &old : before.attributes) {
    const FormalParameter *input = getReplacement(old, after);
    if (!input || !editor.getNode()->hasAttr(old.name))
      continue;
    auto numbers = editor.getNode()->getAttrOfType<DenseI64ArrayAttr>(old.name);
    // An empty list has always meant the same as no list.
    if (numbers && numbers.empty() &&
        input->option == FormalParameter::Optional)
      editor.getNode()->removeAttr(old.name);
    else
      editor.setOperand(input - after.inputs.data(),
                        editor.takeConstant(old.name));
  }
}

/// Gives `node` its form at the opset of `steps`, which must have no obstacle.
static void upgrade(Operation *node, OpsetSteps &steps, UniqueNames &names) {
  const OpSchema *start = getSchema(node);
  if (!start)
    return;
  for (const Step &step : steps.lookup(*start)) {
    // Each step starts to insert before the node.
    NodeEditor editor(node, steps.getOpset(), names);
    if (step.adapter)
      step.adapter->apply(editor);
    else
      moveAttributes(editor, *step.before, *step.after);
    node = editor.getNode();
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

std::optional<UpgradeObstacle>
findUpgradeObstacle(ModuleOp module, StringRef domain, int opset) {
  domain = normalizeDomain(domain);
  std::optional<UpgradeObstacle> obstacle;
  OpsetSteps steps = createSteps(module, opset);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<CustomOp>(op) || !isNode(op) || getDomain(op) != domain)
      return WalkResult::advance();
    std::string reason = getObstacle(op, steps);
    if (reason.empty())
      return WalkResult::advance();
    obstacle = {op, std::move(reason)};
    return WalkResult::interrupt();
  });
  return obstacle;
}

/// The IR version that was released with each opset of the default domain.
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
    if (!pair || pair.size() < 2)
      continue;
    auto name = dyn_cast<StringAttr>(pair[0]);
    auto version = dyn_cast<IntegerAttr>(pair[1]);
    if (version && normalizeDomain(name ? name.getValue() : "") == domain &&
        version.getInt() < opset) {
      SmallVector<Attribute> fields(pair.begin(), pair.end());
      fields[1] = IntegerAttr::get(version.getType(), opset);
      import = builder.getArrayAttr(fields);
    }
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
  OpsetSteps steps = createSteps(module, opset);
  auto upgradeNodes = [&](Operation *scope) {
    SmallVector<Operation *> nodes;
    scope->walk([&](Operation *op) {
      if (!isa<CustomOp>(op) && isNode(op) && getDomain(op) == domain)
        nodes.push_back(op);
    });
    for (Operation *node : nodes)
      upgrade(node, steps, names);
  };
  for (Operation &part : *module.getBody()) {
    auto function = dyn_cast<FunctionOp>(part);
    if (function && !changesUnder(function, domain, opset))
      continue;
    upgradeNodes(&part);
    if (function)
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
