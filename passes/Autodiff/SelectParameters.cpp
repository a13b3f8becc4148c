//===- SelectParameters.cpp - Decide what a training step changes ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First, roles are found. Then values that exporters have merged are split, and
// the user's lists are applied. Finally, trained parameters become fp32 inputs.
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Training/ParameterSelection.h"
#include "mp-opt/Training/ParameterTable.h"
#include "mp-opt/Training/Parameters.h"

namespace mp {
#define GEN_PASS_DEF_SELECTPARAMETERS
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct SelectParameters
    : public mp::impl::SelectParametersBase<SelectParameters> {
  using SelectParametersBase::SelectParametersBase;

  void runOnOperation() override;

private:
  LogicalResult decide(GraphOp graph, Value loss,
                       std::vector<ParameterChoice> &choices);
};

/// Turns trained parameters into inputs.
class ParameterInputs {
public:
  explicit ParameterInputs(GraphOp graph);

  /// Gives the choices the names that their inputs have.
  LogicalResult make(MutableArrayRef<ParameterChoice> choices);

private:
  void keepYielded(Value constant);
  InitializerOp hoist(const ParameterCandidate &candidate);
  void dropInput(BlockArgument input, InitializerOp initializer);
  LogicalResult widen(InitializerOp initializer);

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder builder;
  /// The number of values of each name: bodies may reuse a name.
  llvm::StringMap<unsigned> counts;
  /// The last initializer of the main graph, or null.
  InitializerOp last;
};

} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

ParameterInputs::ParameterInputs(GraphOp graph)
    : graph(graph), editor(graph), builder(graph->getParentOfType<ModuleOp>()) {
  for (auto initializer : editor.getBlock().getOps<InitializerOp>())
    last = initializer;
  graph.walk([&](Operation *op) {
    for (Value result : op->getResults())
      ++counts[onnxir::getValueName(result)];
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        ++counts[onnxir::getValueName(argument)];
  });
}

/// Runtimes require that a subgraph yields values that it computes, not outer
/// ones.
void ParameterInputs::keepYielded(Value constant) {
  for (OpOperand &use : llvm::make_early_inc_range(constant.getUses())) {
    if (!isa<YieldOp>(use.getOwner()) ||
        isa<GraphOp>(use.getOwner()->getParentOp()))
      continue;
    builder.setInsertionPoint(use.getOwner());
    builder.setBase(onnxir::getValueName(constant));
    use.set(builder.create("Identity", {constant}, {}, constant.getType()));
  }
}

/// Moves a Constant, or an initializer of a body, to the main graph.
InitializerOp ParameterInputs::hoist(const ParameterCandidate &candidate) {
  Operation *constant = candidate.constant;
  Block &block = editor.getBlock();
  auto initializer = dyn_cast<InitializerOp>(constant);
  if (initializer && constant->getBlock() == &block)
    return initializer;
  TypedAttr elements = getElements(constant);
  auto before = OpBuilder::atBlockBegin(&block);
  if (last)
    before.setInsertionPointAfter(last);
  bool isUnique = counts.lookup(candidate.name) == 1;
  StringRef name = isUnique ? candidate.name
                            : builder.getNames().getValueName(candidate.name);
  auto made =
      InitializerOp::create(before, constant->getLoc(), elements.getType(),
                            before.getStringAttr(name), elements,
                            DictionaryAttr(), UnitAttr(), UnitAttr());
  Value result = constant->getResult(0);
  keepYielded(result);
  result.replaceAllUsesWith(made.getResult());
  constant->erase();
  last = made;
  return made;
}

void ParameterInputs::dropInput(BlockArgument input,
                                InitializerOp initializer) {
  initializer.setOverridable(false);
  input.replaceAllUsesWith(initializer.getResult());
  editor.eraseInput(input.getArgNumber());
}

/// Makes an fp32 master, which is cast where it is used.
LogicalResult ParameterInputs::widen(InitializerOp initializer) {
  Type element = getTensorElementType(initializer.getResult().getType());
  Type wide = builder.getBuilder().getF32Type();
  TypedAttr value = convertElements(initializer.getValueAttr(), wide);
  if (!value)
    return initializer.emitError()
           << "parameter '" << initializer.getName() << "': its elements of "
           << getElementKindName(getElementKind(element))
           << " cannot be written in fp32";
  initializer.setValueAttr(value);
  initializer.setFieldsAttr({});
  initializer.getResult().setType(value.getType());
  builder.setInsertionPointAfter(initializer);
  builder.setBase(initializer.getName());
  Value narrow = builder.castTo(initializer.getResult(), element);
  initializer.getResult().replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  return success();
}

LogicalResult ParameterInputs::make(MutableArrayRef<ParameterChoice> choices) {
  SmallVector<InitializerOp> added;
  SmallVector<Attribute> names;
  auto addName = [&](StringRef name) {
    names.push_back(builder.getBuilder().getStringAttr(name));
  };
  for (ParameterChoice &choice : choices) {
    ParameterCandidate &candidate = choice.candidate;
    if (choice.state != ParameterChoice::Trained)
      continue;
    if (failed(checkFinite(candidate.constant, candidate.name)))
      return failure();
    bool isWide =
        getTensorElementType(getElements(candidate.constant).getType()).isF32();
    if (auto input = dyn_cast<BlockArgument>(candidate.value)) {
      auto initializer = cast<InitializerOp>(candidate.constant);
      if (isWide) {
        // Its states are as large as its default.
        if (!cast<ShapedType>(input.getType()).hasStaticShape())
          input.setType(initializer.getResult().getType());
        addName(initializer.getName());
        continue;
      }
      dropInput(input, initializer);
    }
    InitializerOp initializer = hoist(candidate);
    candidate.name = initializer.getName();
    if (!isWide && failed(widen(initializer)))
      return failure();
    added.push_back(initializer);
    addName(initializer.getName());
  }
  if (!added.empty())
    (void)editor.makeInputs(added);
  graph->setAttr(mark::trained, builder.getBuilder().getArrayAttr(names));
  return success();
}

//===----------------------------------------------------------------------===//
// Warnings
//===----------------------------------------------------------------------===//

/// "'a', 'b' and 3 more".
static std::string listNames(ArrayRef<std::string> names) {
  constexpr size_t most = 5;
  std::string text;
  for (StringRef name : names.take_front(most))
    text += (text.empty() ? "'" : ", '") + name.str() + "'";
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

/// Weights of integers or of floats too small to be trained, which are scaled
/// before use.
static std::vector<InitializerOp> findQuantized(GraphOp graph, Value loss) {
  llvm::DenseSet<Value> ancestors = findAncestors(loss);
  std::vector<InitializerOp> found;
  for (auto initializer : graph.getBody().front().getOps<InitializerOp>()) {
    auto type = dyn_cast<RankedTensorType>(initializer.getResult().getType());
    if (!type || type.getNumElements() < 2 ||
        !ancestors.contains(initializer.getResult()))
      continue;
    Type element = type.getElementType();
    bool isNarrow =
        element.isIntOrFloat() && element.getIntOrFloatBitWidth() <= 8;
    if (isNarrow && !element.isInteger(1))
      found.push_back(initializer);
  }
  return found;
}

/// True if roles were found that could be wrong.
static bool isDoubtful(const ParameterChoice &choice) {
  const ParameterUse *role = choice.candidate.getRole();
  if (choice.state == ParameterChoice::Trained)
    return !choice.isNamed && role && role->isDoubtful;
  return choice.state == ParameterChoice::NotAParameter && !role &&
         llvm::any_of(choice.candidate.uses,
                      [](const ParameterUse &use) { return use.isDoubtful; });
}

static void warn(GraphOp graph, ArrayRef<ParameterChoice> choices,
                 ArrayRef<InitializerOp> quantized) {
  std::vector<std::string> trained, kept, integers;
  for (const ParameterChoice &choice : choices)
    if (isDoubtful(choice))
      (choice.state == ParameterChoice::Trained ? trained : kept)
          .push_back(choice.candidate.name.str());
  for (InitializerOp initializer : quantized)
    integers.push_back(initializer.getName().str());
  if (!trained.empty())
    graph.emitWarning() << "taken for parameters, in doubt: "
                        << listNames(trained)
                        << "; --freeze keeps what is a constant";
  if (!kept.empty())
    graph.emitWarning() << "taken for constants, in doubt: " << listNames(kept)
                        << "; --train-only names what is trained";
  for (auto [table, weight] : findUntiedCopies(choices))
    graph.emitWarning() << "'" << table << "' and '" << weight
                        << "' are trained apart from the same elements; --tie="
                        << table << "," << weight
                        << " makes them one parameter";
  if (!integers.empty())
    graph.emitWarning() << "quantized weights are not trained: "
                        << listNames(integers);
}

static std::vector<ParameterRecord>
makeRecords(ArrayRef<ParameterChoice> choices,
            ArrayRef<InitializerOp> quantized) {
  std::vector<ParameterRecord> records;
  auto add = [&](StringRef name, Type type) -> ParameterRecord & {
    auto shaped = cast<ShapedType>(type);
    ParameterRecord record;
    record.name = name.str();
    record.type =
        getElementKindName(getElementKind(shaped.getElementType())).str();
    record.elements = shaped.hasStaticShape() ? shaped.getNumElements() : 0;
    record.bytes =
        record.elements * shaped.getElementType().getIntOrFloatBitWidth() / 8;
    records.push_back(std::move(record));
    return records.back();
  };
  for (const ParameterChoice &choice : choices) {
    ParameterRecord &record =
        add(choice.candidate.name,
            getElements(choice.candidate.constant).getType());
    const ParameterUse *role = choice.candidate.getRole();
    record.role = getName(role ? role->role : ParameterRole::None).str();
    record.state = getName(choice.state).str();
    record.reason = choice.reason;
    if (isDoubtful(choice))
      record.note = "in doubt";
    else if (choice.isMatched && choice.state != ParameterChoice::Trained &&
             record.elements > 1)
      record.note = "matched, not trained";
    record.splitFrom = choice.splitFrom;
    record.sharers = choice.sharers;
  }
  for (InitializerOp initializer : quantized) {
    ParameterRecord &record =
        add(initializer.getName(), initializer.getResult().getType());
    record.role = "none";
    record.state = getName(ParameterChoice::NotAParameter).str();
    record.reason = "quantized";
  }
  return records;
}

/// Reports that nothing is trained: lists the candidates, and why they are not.
static void reportNothing(GraphOp graph, Value loss,
                          ArrayRef<ParameterRecord> records) {
  InFlightDiagnostic diag = graph.emitError()
                            << "the loss '" << onnxir::getValueName(loss)
                            << "' depends on no parameter that is trained";
  constexpr size_t most = 10;
  size_t shown = 0;
  for (const ParameterRecord &record : records) {
    if (record.elements < 2 || ++shown > most)
      continue;
    diag << (shown == 1 ? "; candidates: '" : ", '") << record.name << "' ("
         << record.reason << ")";
  }
  if (shown > most)
    diag << " and " << shown - most << " more";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult SelectParameters::decide(GraphOp graph, Value loss,
                                       std::vector<ParameterChoice> &choices) {
  ParameterRequest request;
  request.trainOnly.assign(trainOnly.begin(), trainOnly.end());
  request.freeze.assign(freeze.begin(), freeze.end());
  request.tie.assign(tie.begin(), tie.end());
  request.untie.assign(untie.begin(), untie.end());
  if (failed(tieParameters(graph, request.tie)))
    return failure();
  for (ParameterCandidate &candidate : findParameterRoles(graph, loss)) {
    choices.emplace_back();
    choices.back().candidate = std::move(candidate);
  }
  if (failed(splitParameters(graph, request, choices)))
    return failure();
  return selectParameters(getOperation(), graph, request, choices);
}

void SelectParameters::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  FailureOr<Value> value = findLoss(graph, loss);
  std::vector<ParameterChoice> choices;
  if (failed(value) || failed(decide(graph, *value, choices)))
    return signalPassFailure();
  std::vector<InitializerOp> quantized = findQuantized(graph, *value);
  std::vector<ParameterRecord> records = makeRecords(choices, quantized);
  if (llvm::none_of(choices, [](const ParameterChoice &choice) {
        return choice.state == ParameterChoice::Trained;
      })) {
    reportNothing(graph, *value, records);
    return signalPassFailure();
  }
  warn(graph, choices, quantized);
  if (failed(ParameterInputs(graph).make(choices)))
    return signalPassFailure();
  // Records of choices come first.
  for (auto [record, choice] : llvm::zip(records, choices))
    record.name = choice.candidate.name.str();
  setParameterTable(getOperation(), records);
}
