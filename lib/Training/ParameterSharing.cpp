//===- ParameterSharing.cpp - Parameters that several modules have --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters keep one initializer for all that hold the same elements. An
// initializer with other contents was shared by the model (an embedding and a
// head); zeros and ones are initial values of parameters that are unrelated.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/ParameterSelection.h"

#include "Roles/ConstantContents.h"
#include "Roles/ModuleScopes.h"
#include "Roles/UseOwners.h"
#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Support/NameRegex.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Tying
//===----------------------------------------------------------------------===//

static bool haveSameElements(Operation *lhs, Operation *rhs) {
  auto left = FloatElements::get(lhs), right = FloatElements::get(rhs);
  if (!left || !right || left->getShape() != right->getShape())
    return false;
  for (int64_t index = 0; index < left->size(); ++index)
    if ((*left)[index] != (*right)[index])
      return false;
  return true;
}

static bool isTransposeOf(Operation *lhs, Operation *rhs) {
  auto left = FloatElements::get(lhs), right = FloatElements::get(rhs);
  if (!left || !right || left->getShape().size() != 2 ||
      right->getShape().size() != 2)
    return false;
  int64_t rows = left->getShape()[0], columns = left->getShape()[1];
  if (right->getShape()[0] != columns || right->getShape()[1] != rows)
    return false;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if ((*left)[row * columns + column] != (*right)[column * rows + row])
        return false;
  return true;
}

/// Replaces `second` by `first`, or by its transpose.
static void replaceBy(InitializerOp first, InitializerOp second,
                      bool isTransposed, NodeBuilder &builder) {
  Value value = first.getResult();
  if (isTransposed) {
    builder.setInsertionPointAfter(first->isBeforeInBlock(second) ? second
                                                                  : first);
    builder.setBase(second.getName());
    value = builder.transpose(value, {1, 0});
  }
  second.getResult().replaceAllUsesWith(value);
  first->setAttr(mark::tied, builder.getBuilder().getUnitAttr());
}

static LogicalResult tieList(GraphOp graph, NodeBuilder &builder,
                             StringRef list,
                             const llvm::StringMap<InitializerOp> &known) {
  SmallVector<StringRef> names;
  list.split(names, ',');
  if (names.size() < 2)
    return graph.emitError()
           << "tie '" << list << "': expected two names or more, separated by "
           << "commas";
  InitializerOp first;
  for (StringRef name : names) {
    InitializerOp initializer = known.lookup(name.trim());
    if (!initializer)
      return graph.emitError()
             << "tie '" << list << "': the model has no initializer '"
             << name.trim() << "'" << suggestNearest(name.trim(), known.keys());
    if (!first) {
      first = initializer;
      continue;
    }
    bool isTransposed = isTransposeOf(first, initializer);
    if (first.getResult().getType() != initializer.getResult().getType() &&
        !isTransposed)
      return graph.emitError()
             << "tie '" << list << "': '" << first.getName() << "' is "
             << first.getResult().getType() << ", '" << initializer.getName()
             << "' is " << initializer.getResult().getType();
    if (initializer == first || first.getOverridable() ||
        initializer.getOverridable())
      return graph.emitError() << "tie '" << list << "': expected different "
                               << "initializers that are no inputs";
    if (!isTransposed && !haveSameElements(first, initializer))
      return graph.emitError()
             << "tie '" << list << "': the elements of '" << first.getName()
             << "' and '" << initializer.getName() << "' differ";
    replaceBy(first, initializer, isTransposed, builder);
  }
  return success();
}

LogicalResult tieParameters(GraphOp graph, ArrayRef<std::string> lists) {
  if (lists.empty())
    return success();
  NodeBuilder builder(graph->getParentOfType<ModuleOp>());
  llvm::StringMap<InitializerOp> known;
  for (auto initializer : graph.getBody().front().getOps<InitializerOp>())
    known[initializer.getName()] = initializer;
  for (const std::string &list : lists)
    if (failed(tieList(graph, builder, list, known)))
      return failure();
  return success();
}

std::vector<std::pair<StringRef, StringRef>>
findUntiedCopies(ArrayRef<ParameterChoice> choices) {
  std::vector<std::pair<StringRef, StringRef>> found;
  llvm::DenseMap<int64_t, SmallVector<const ParameterCandidate *>> weights;
  SmallVector<const ParameterCandidate *> tables;
  for (const ParameterChoice &choice : choices) {
    const ParameterCandidate &candidate = choice.candidate;
    const ParameterUse *use = candidate.getRole();
    if (!use || choice.state != ParameterChoice::Trained || candidate.isUniform)
      continue;
    if (use->role == ParameterRole::Embedding)
      tables.push_back(&candidate);
    auto elements = FloatElements::get(candidate.constant);
    if (elements && use->role == ParameterRole::Weight)
      weights[elements->size()].push_back(&candidate);
  }
  for (const ParameterCandidate *table : tables)
    if (auto elements = FloatElements::get(table->constant))
      for (const ParameterCandidate *weight : weights.lookup(elements->size()))
        if (haveSameElements(table->constant, weight->constant) ||
            isTransposeOf(table->constant, weight->constant))
          found.emplace_back(table->name, weight->name);
  return found;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// The Identity before a use: torch's older exporter leaves one for each
/// parameter that it has merged, under the parameter's name.
static Operation *getAlias(const ParameterUse &use) {
  Operation *op = use.origin ? use.origin->getOwner() : nullptr;
  bool isAlias =
      op && isNode(op) && isStandardOp(op, "Identity") && passesGradients(op);
  return isAlias ? op : nullptr;
}

namespace {

/// Distinguishes calls of one module from two modules.
class Modules {
public:
  explicit Modules(GraphOp graph);

  /// Groups indices of uses by module, in order; uses without a role are
  /// omitted. With `byOwner`, uses that belong to one module by name are one
  /// group.
  std::vector<SmallVector<size_t>> group(const ParameterCandidate &candidate,
                                         bool byOwner = false) const;
  /// True if names show that a use is in the candidate's own module.
  bool isOwn(const ParameterCandidate &candidate,
             const ParameterUse &use) const {
    return !getAlias(use) && owners.find(candidate, use).kind == UseOwner::Own;
  }

private:
  /// Two uses are in one module if any of their keys are equal.
  SmallVector<std::string> getKeys(const ParameterCandidate &candidate,
                                   const ParameterUse &use, bool byOwner) const;

  UseOwners owners;
  /// Scopes of modules that contain others.
  llvm::StringSet<> containers;
};

} // namespace

Modules::Modules(GraphOp graph) : owners(graph) {
  graph.walk([&](Operation *op) {
    if (!isNode(op))
      return;
    std::string scope = getModuleScope(op);
    StringRef outer = StringRef(scope).rsplit('.').first;
    while (outer.size() < scope.size() && !outer.empty() &&
           containers.insert(outer).second && outer.contains('.'))
      outer = outer.rsplit('.').first;
  });
}

SmallVector<std::string> Modules::getKeys(const ParameterCandidate &candidate,
                                          const ParameterUse &use,
                                          bool byOwner) const {
  SmallVector<std::string> keys;
  auto addKey = [&](StringRef kind, const Twine &key) {
    keys.push_back((kind + ":" + key).str());
  };
  auto number = [](const void *address) {
    return Twine(reinterpret_cast<uintptr_t>(address)).str();
  };
  // Uses through the same operand cannot be told apart.
  addKey("use", number(use.origin));
  // An alias exists because the parameter had another name.
  if (getAlias(use))
    return keys;
  UseOwner owner = byOwner ? owners.find(candidate, use) : UseOwner();
  if (owner.kind != UseOwner::Unknown) {
    addKey("owner", owner.name);
    return keys;
  }
  std::string scope = getModuleScope(use.node);
  // A module that contains others may have several parameters of its own.
  if (!scope.empty() && !containers.contains(scope))
    addKey("scope", scope);
  // A second call has another number, after the same weights.
  if (Value weight = findWeightBefore(use.node))
    addKey("call", withoutCallNumbers(scope) + ":" +
                       number(weight.getAsOpaquePointer()));
  return keys;
}

std::vector<SmallVector<size_t>>
Modules::group(const ParameterCandidate &candidate, bool byOwner) const {
  llvm::EquivalenceClasses<size_t> classes;
  llvm::StringMap<size_t> known;
  for (auto [index, use] : llvm::enumerate(candidate.uses)) {
    if (use.role == ParameterRole::None)
      continue;
    classes.insert(index);
    for (const std::string &key : getKeys(candidate, use, byOwner))
      classes.unionSets(known.try_emplace(key, index).first->second, index);
  }
  std::vector<SmallVector<size_t>> groups;
  llvm::DenseMap<size_t, size_t> places;
  for (auto [index, use] : llvm::enumerate(candidate.uses)) {
    if (use.role == ParameterRole::None)
      continue;
    auto [it, isNew] =
        places.try_emplace(classes.getLeaderValue(index), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[it->second].push_back(index);
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

namespace {

class Splitter {
public:
  explicit Splitter(GraphOp graph)
      : modules(graph),
        builder(OpBuilder::atBlockBegin(&graph.getBody().front())),
        names(graph->getParentOfType<ModuleOp>()) {}

  /// Splits the choice: copies of its constant, inserted after it.
  std::vector<ParameterChoice> split(ParameterChoice &choice, bool byOwner);
  std::vector<std::string> getSharers(const ParameterCandidate &candidate);

private:
  std::string getName(const ParameterCandidate &candidate,
                      const ParameterUse &use) const;
  size_t findKeeper(const ParameterCandidate &candidate,
                    ArrayRef<SmallVector<size_t>> groups) const;
  ParameterChoice copy(ParameterChoice &from, ArrayRef<size_t> uses,
                       const Twine &wanted);

  Modules modules;
  OpBuilder builder;
  UniqueNames names;
};

} // namespace

std::vector<std::string>
Splitter::getSharers(const ParameterCandidate &candidate) {
  std::vector<std::string> sharers;
  for (ArrayRef<size_t> group : modules.group(candidate)) {
    Operation *node = candidate.uses[group.front()].node;
    std::string scope = getModuleScope(node);
    std::string sharer = scope.empty() ? describe(node) : scope;
    if (!llvm::is_contained(sharers, sharer))
      sharers.push_back(sharer);
  }
  return sharers;
}

/// The name that the parameter has in its module: "norm1.weight".
std::string Splitter::getName(const ParameterCandidate &candidate,
                              const ParameterUse &use) const {
  if (Operation *alias = getAlias(use))
    return onnxir::getValueName(alias->getResult(0)).str();
  std::string scope = getModuleScope(use.node);
  if (scope.empty())
    return candidate.name.str();
  StringRef leaf = candidate.name.rsplit('.').second;
  if (leaf.empty() || leaf == "weight" || leaf == "bias")
    leaf = use.role == ParameterRole::Bias ? "bias" : "weight";
  return scope + "." + leaf.str();
}

/// The group that keeps the name: the group whose module the name refers to, or
/// the first.
size_t Splitter::findKeeper(const ParameterCandidate &candidate,
                            ArrayRef<SmallVector<size_t>> groups) const {
  for (auto [index, group] : llvm::enumerate(groups))
    if (modules.isOwn(candidate, candidate.uses[group.front()]))
      return index;
  for (auto [index, group] : llvm::enumerate(groups))
    if (getName(candidate, candidate.uses[group.front()]) == candidate.name)
      return index;
  return 0;
}

ParameterChoice Splitter::copy(ParameterChoice &from, ArrayRef<size_t> uses,
                               const Twine &wanted) {
  ParameterCandidate &candidate = from.candidate;
  TypedAttr value = getElements(candidate.constant);
  // The copy takes the name of the alias that it replaces.
  Operation *alias = getAlias(candidate.uses[uses.front()]);
  StringRef name = alias ? onnxir::getValueName(alias->getResult(0))
                         : names.getValueName(wanted);
  auto made =
      InitializerOp::create(builder, candidate.constant->getLoc(),
                            value.getType(), builder.getStringAttr(name), value,
                            DictionaryAttr(), UnitAttr(), UnitAttr());
  ParameterChoice choice;
  choice.candidate.constant = made;
  choice.candidate.value = made.getResult();
  choice.candidate.name = made.getName();
  choice.candidate.isUniform = candidate.isUniform;
  choice.splitFrom = candidate.name.str();
  for (size_t index : uses) {
    choice.candidate.uses.push_back(candidate.uses[index]);
    if (!alias)
      candidate.uses[index].origin->set(made.getResult());
  }
  if (alias) {
    alias->getResult(0).replaceAllUsesWith(made.getResult());
    alias->erase();
    for (ParameterUse &use : choice.candidate.uses)
      use.origin = nullptr;
  }
  return choice;
}

std::vector<ParameterChoice> Splitter::split(ParameterChoice &choice,
                                             bool byOwner) {
  ParameterCandidate &candidate = choice.candidate;
  std::vector<SmallVector<size_t>> groups = modules.group(candidate, byOwner);
  SmallVector<size_t> others;
  llvm::DenseSet<OpOperand *> taken;
  for (ArrayRef<size_t> group : groups)
    for (size_t index : group)
      taken.insert(candidate.uses[index].origin);
  for (size_t index = 0; index < candidate.uses.size(); ++index)
    if (candidate.uses[index].role == ParameterRole::None &&
        !candidate.uses[index].isStopped &&
        !modules.isOwn(candidate, candidate.uses[index]) &&
        !taken.contains(candidate.uses[index].origin))
      others.push_back(index);
  std::vector<ParameterChoice> made;
  if (groups.empty() || (groups.size() == 1 && others.empty()))
    return made;
  size_t keeper = findKeeper(candidate, groups);
  for (auto [index, group] : llvm::enumerate(groups))
    if (index != keeper)
      made.push_back(
          copy(choice, group, getName(candidate, candidate.uses[group[0]])));
  if (!others.empty())
    made.push_back(copy(choice, others, candidate.name + "_constant"));
  std::vector<ParameterUse> kept;
  for (size_t index : groups[keeper])
    kept.push_back(candidate.uses[index]);
  candidate.uses = std::move(kept);
  return made;
}

LogicalResult splitParameters(GraphOp graph, const ParameterRequest &request,
                              std::vector<ParameterChoice> &choices) {
  std::vector<std::pair<NameRegex, bool>> patterns;
  ArrayRef<std::string> untie = request.untie;
  // A list fixes the parameters: none are added.
  bool isListed =
      getModelMetadata(graph->getParentOfType<ModuleOp>(), parametersKey)
          .has_value();
  for (const std::string &text : untie) {
    llvm::Expected<NameRegex> pattern = NameRegex::compile(text);
    if (!pattern)
      return graph.emitError() << "untie pattern '" << text
                               << "': " << toString(pattern.takeError());
    patterns.emplace_back(std::move(*pattern), false);
  }
  Splitter splitter(graph);
  std::vector<ParameterChoice> all;
  for (ParameterChoice &choice : choices) {
    bool isWanted = choice.candidate.isUniform && !isListed &&
                    !choice.candidate.constant->hasAttr(mark::tied);
    bool isMatched = false;
    for (auto &[pattern, isUsed] : patterns)
      if (pattern.matches(choice.candidate.name) &&
          splitter.getSharers(choice.candidate).size() > 1)
        isMatched = isUsed = true;
    std::vector<ParameterChoice> made;
    if (isWanted || isMatched)
      made = splitter.split(choice, /*byOwner=*/!isMatched);
    all.push_back(std::move(choice));
    std::move(made.begin(), made.end(), std::back_inserter(all));
  }
  choices = std::move(all);
  for (ParameterChoice &choice : choices)
    choice.sharers = splitter.getSharers(choice.candidate);
  for (auto [text, pattern] : llvm::zip(untie, patterns))
    if (!pattern.second)
      return graph.emitError() << "untie pattern '" << text << "' matches no "
                               << "parameter that modules share";
  return success();
}

} // namespace mp
