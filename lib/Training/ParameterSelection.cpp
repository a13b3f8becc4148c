//===- ParameterSelection.cpp - Choice of trained parameters --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/ParameterSelection.h"

#include "NamePatterns.h"

#include "mp-opt/Support/ConfigFile.h"
#include "mp-opt/Support/FlatJSON.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

StringRef getName(ParameterChoice::State state) {
  static constexpr StringLiteral names[] = {"trained", "frozen",
                                            "not a parameter"};
  return names[state];
}

namespace {

/// The names of a list, and its patterns.
struct NameList {
  /// The user's name for it: "freeze", "train-only", "metadata 'KEY'".
  std::string label;
  std::vector<std::string> names, patterns;
  llvm::StringSet<> set;

  bool isEmpty() const { return names.empty() && patterns.empty(); }
  void addName(StringRef name) {
    if (set.insert(name).second)
      names.push_back(name.str());
  }
};

class Selector {
public:
  Selector(ModuleOp module, GraphOp graph,
           std::vector<ParameterChoice> &choices)
      : module(module), graph(graph), choices(choices) {
    for (auto [index, choice] : llvm::enumerate(choices))
      places.try_emplace(choice.candidate.name, index);
    for (auto initializer : graph.getBody().front().getOps<InitializerOp>())
      initializers.insert(initializer.getName());
  }

  LogicalResult run(const ParameterRequest &request);

private:
  LogicalResult read(ArrayRef<std::string> texts, NameList &list);
  LogicalResult readFile(StringRef path, NameList &list);
  LogicalResult readMetadata(StringRef key, NameList &list);
  LogicalResult checkName(StringRef name, const NameList &list);
  LogicalResult checkContradiction(const NameList &trained,
                                   const NameList &kept);
  LogicalResult train(const NameList &list);
  LogicalResult match(StringRef text, const NameList &list,
                      SmallVector<size_t> &found);
  LogicalResult freeze(const NameList &list);

  ModuleOp module;
  GraphOp graph;
  std::vector<ParameterChoice> &choices;
  llvm::StringMap<size_t> places;
  /// Names of initializers of any type.
  llvm::StringSet<> initializers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

LogicalResult Selector::readFile(StringRef path, NameList &list) {
  llvm::Expected<std::string> text = readTextFile(path);
  if (!text)
    return graph.emitError()
           << list.label << ": " << toString(text.takeError());
  bool isEmpty = true;
  for (StringRef rest = *text; !rest.empty();) {
    StringRef name;
    std::tie(name, rest) = rest.split('\n');
    name = name.split('#').first.trim();
    if (name.empty())
      continue;
    isEmpty = false;
    list.addName(name);
  }
  if (isEmpty)
    return graph.emitError()
           << list.label << ": " << path << ": the list is empty";
  return success();
}

LogicalResult Selector::read(ArrayRef<std::string> texts, NameList &list) {
  for (StringRef text : texts) {
    if (text.consume_front("@")) {
      if (failed(readFile(text, list)))
        return failure();
      continue;
    }
    if (auto pattern = NamePattern::parse(text); !pattern)
      return graph.emitError() << list.label << " pattern '" << text
                               << "': " << toString(pattern.takeError());
    list.patterns.push_back(text.str());
  }
  return success();
}

LogicalResult Selector::readMetadata(StringRef key, NameList &list) {
  std::optional<StringRef> text = getModelMetadata(module, key);
  if (!text)
    return success();
  llvm::Expected<llvm::json::Value> value =
      parseFlatJSON(*text, /*maxDepth=*/1);
  llvm::json::Array *names = value ? value->getAsArray() : nullptr;
  bool isList = names && llvm::all_of(*names, [](const auto &name) {
                  return bool(name.getAsString());
                });
  if (!value)
    llvm::consumeError(value.takeError());
  if (!isList)
    return graph.emitError()
           << list.label << ": expected a JSON array of names";
  for (const llvm::json::Value &name : *names)
    list.addName(*name.getAsString());
  return success();
}

/// Succeeds if the name is that of a float constant.
LogicalResult Selector::checkName(StringRef name, const NameList &list) {
  if (places.contains(name))
    return success();
  std::vector<StringRef> known;
  for (auto initializer : graph.getBody().front().getOps<InitializerOp>()) {
    known.push_back(initializer.getName());
    if (initializer.getName() == name)
      return graph.emitError()
             << list.label << ": expected a float tensor, '" << name << "' is "
             << initializer.getResult().getType();
  }
  InFlightDiagnostic diag = graph.emitError();
  diag << list.label << ": the model has no initializer '" << name << "'"
       << suggestNearest(name, known);
  auto missing = llvm::count_if(list.names, [&](const std::string &other) {
    return !initializers.contains(other) && !places.contains(other);
  });
  if (missing > 1)
    diag << "; " << missing - 1 << " more of the list are not there";
  if (StringRef(list.label).starts_with("metadata"))
    diag << "; it may be the list of another model";
  return diag;
}

LogicalResult Selector::checkContradiction(const NameList &trained,
                                           const NameList &kept) {
  for (const std::string &name : trained.names)
    if (kept.set.contains(name))
      return graph.emitError()
             << "'" << name << "' is on two lists: " << trained.label << " and "
             << kept.label;
  return success();
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// The choices that a pattern selects: parameters, or other matches if no
/// parameter matches. Other matches otherwise get a note.
LogicalResult Selector::match(StringRef text, const NameList &list,
                              SmallVector<size_t> &found) {
  auto pattern = llvm::cantFail(NamePattern::parse(text));
  SmallVector<size_t> others;
  std::vector<StringRef> names;
  for (auto [index, choice] : llvm::enumerate(choices)) {
    names.push_back(choice.candidate.name);
    if (pattern.matches(names.back()))
      (choice.candidate.getRole() ? found : others).push_back(index);
  }
  if (found.empty())
    found = others;
  else
    for (size_t index : others)
      choices[index].isMatched = true;
  if (!found.empty()) {
    pattern.warnOfUnused(graph, list.label, names);
    return success();
  }
  for (auto initializer : graph.getBody().front().getOps<InitializerOp>())
    if (pattern.matches(initializer.getName()))
      return checkName(initializer.getName(), list);
  return graph.emitError() << list.label << " pattern '" << text
                           << "' matches no parameter";
}

LogicalResult Selector::train(const NameList &list) {
  llvm::DenseSet<size_t> wanted;
  for (const std::string &name : list.names) {
    if (failed(checkName(name, list)))
      return failure();
    wanted.insert(places.lookup(name));
  }
  for (const std::string &pattern : list.patterns) {
    SmallVector<size_t> found;
    if (failed(match(pattern, list, found)))
      return failure();
    wanted.insert(found.begin(), found.end());
  }
  for (auto [index, choice] : llvm::enumerate(choices)) {
    bool isModels = StringRef(list.label).starts_with("metadata");
    if (wanted.contains(index)) {
      if (!choice.candidate.isReached() && isModels) {
        // As in torch, a parameter without gradient is left alone.
        choice.state = ParameterChoice::Frozen;
        choice.reason = choice.candidate.getReason();
        continue;
      }
      if (!choice.candidate.isReached())
        return graph.emitError() << list.label << ": '" << choice.candidate.name
                                 << "': " << choice.candidate.getReason();
      choice.state = ParameterChoice::Trained;
      choice.isNamed = true;
      choice.reason.clear();
    } else if (choice.state == ParameterChoice::Trained) {
      choice.state =
          isModels ? ParameterChoice::NotAParameter : ParameterChoice::Frozen;
      choice.reason = "not in " + list.label;
    }
  }
  return success();
}

LogicalResult Selector::freeze(const NameList &list) {
  SmallVector<size_t> wanted;
  for (const std::string &name : list.names) {
    auto place = places.find(name);
    // torch's lists also contain integer buffers.
    if (place != places.end())
      wanted.push_back(place->second);
    else if (!initializers.contains(name))
      return checkName(name, list);
  }
  for (const std::string &pattern : list.patterns)
    if (SmallVector<size_t> found; succeeded(match(pattern, list, found)))
      wanted.append(found);
    else
      return failure();
  for (size_t index : wanted) {
    ParameterChoice &choice = choices[index];
    if (choice.state != ParameterChoice::Trained)
      continue;
    choice.state = ParameterChoice::Frozen;
    choice.reason = "in " + list.label;
  }
  return success();
}

LogicalResult Selector::run(const ParameterRequest &request) {
  NameList trained{"train-only", {}, {}, {}}, frozen{"freeze", {}, {}, {}};
  NameList parameters{("metadata '" + parametersKey + "'").str(), {}, {}, {}};
  NameList buffers{("metadata '" + buffersKey + "'").str(), {}, {}, {}};
  if (failed(read(request.trainOnly, trained)) ||
      failed(read(request.freeze, frozen)))
    return failure();
  // Flags replace the model's own lists.
  if (trained.isEmpty() && (failed(readMetadata(parametersKey, parameters)) ||
                            failed(readMetadata(buffersKey, buffers))))
    return failure();
  if (failed(checkContradiction(trained, frozen)) ||
      failed(checkContradiction(parameters, buffers)))
    return failure();
  for (ParameterChoice &choice : choices) {
    bool hasRole = choice.candidate.getRole();
    choice.state =
        hasRole ? ParameterChoice::Trained : ParameterChoice::NotAParameter;
    choice.reason = hasRole ? "" : choice.candidate.getReason();
  }
  for (const NameList *list : {&parameters, &trained})
    if (!list->isEmpty() && failed(train(*list)))
      return failure();
  for (const NameList *list : {&buffers, &frozen})
    if (!list->isEmpty() && failed(freeze(*list)))
      return failure();
  return success();
}

LogicalResult selectParameters(ModuleOp module, GraphOp graph,
                               const ParameterRequest &request,
                               std::vector<ParameterChoice> &choices) {
  return Selector(module, graph, choices).run(request);
}

} // namespace mp
