//===- Reduction.cpp - The smallest model that fails a check --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Search/Reduction.h"

#include "CandidateData.h"
#include "SizeChanges.h"

#include "mp-opt/API/Search/GraphChanges.h"
#include "mp-opt/Support/DeltaDebugging.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mp {

namespace {

/// Changes of one kind.
struct ChangeKind {
  std::function<Changes(mlir::ModuleOp)> list;
  std::function<bool(Model &, ChangeRange)> apply;
  /// The result may be a model that import accepts and no runtime runs.
  bool isDoubtful = false;
  /// Inner values keep their names and elements.
  bool keepsValues = true;
};

class Reduction {
public:
  Reduction(const ReductionOptions &options, CandidateSearch &search,
            const mlir::DialectRegistry &registry)
      : options(options), search(search), registry(registry),
        candidate(search.getFiles(options.hasData)),
        best{search.getFolder().getPath("best/model.onnx"),
             options.hasData ? search.getFolder().getPath("best/data.npz")
                             : ""} {}

  Expected<ReductionResult> run();

private:
  Expected<ReductionResult::Kind> start();
  Error readData(Model &model);
  Error observe();
  Expected<std::optional<bool>> tryChanges(const ChangeKind &kind,
                                           ChangeRange changes);
  Expected<bool> reduceBy(const ChangeKind &kind);
  Error reduce();
  Expected<std::unique_ptr<Model>> read(const std::string &path) const;
  Expected<bool> writeCandidate(Model &model, bool isDoubtful);
  Error keepCandidate();

  const ReductionOptions &options;
  CandidateSearch &search;
  const mlir::DialectRegistry &registry;
  /// The files of the model that is asked about, and of the smallest model that
  /// fails.
  CandidateFiles candidate, best;
  CandidateData data{DataSet()};
  /// The unchanged model can be run here.
  bool isRunnable = false;
  /// The search has ended before nothing helped any more.
  bool isOver = false;
  std::string size;
  ReductionResult result;
};

} // namespace

/// Discards the reason why a candidate is not one.
template <typename T> static bool refuse(Expected<T> &failed) {
  consumeError(failed.takeError());
  return false;
}

/// A candidate without a difference would count as a change, again and again.
static bool isSameContent(const std::string &path, const std::string &other) {
  auto open = [](const std::string &name) {
    return MemoryBuffer::getFile(name, /*IsText=*/false,
                                 /*RequiresNullTerminator=*/false);
  };
  auto file = open(path), second = open(other);
  return file && second && (*file)->getBuffer() == (*second)->getBuffer();
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Model>>
Reduction::read(const std::string &path) const {
  ModelOptions reading = options.reading;
  reading.onMessage = nullptr;
  auto model = Model::read(path, registry, std::move(reading));
  if (model)
    inferTypes((*model)->getModule());
  return model;
}

/// Writes the candidate. False if it is not a valid model.
Expected<bool> Reduction::writeCandidate(Model &model, bool isDoubtful) {
  if (Error failed = search.clear())
    return std::move(failed);
  size = GraphSize(model.getModule()).describe();
  if (Error failed =
          model.writeONNX(candidate.model, /*copiesDataFiles=*/true)) {
    consumeError(std::move(failed));
    return false;
  }
  auto again = read(candidate.model);
  if (!again)
    return refuse(again);
  if (isDoubtful) {
    describeOutputs((*again)->getModule());
    if (Error failed =
            (*again)->writeONNX(candidate.model, /*copiesDataFiles=*/true)) {
      consumeError(std::move(failed));
      return false;
    }
  }
  bool isRun = isDoubtful && isRunnable;
  if (!isRun && !options.hasData)
    return true;
  auto inputs = data.bind(**again);
  if (!inputs)
    return refuse(inputs);
  if (isRun) {
    auto outputs =
        CandidateData::run(std::move(*again), *inputs, /*exposesValues=*/false);
    if (!outputs)
      return refuse(outputs);
  }
  if (!options.hasData)
    return true;
  for (NamedTensor &input : *inputs)
    input.name = "in:" + input.name;
  if (Error failed = writeDataFile(candidate.data, *inputs))
    return std::move(failed);
  return true;
}

/// The candidate becomes the model that the next changes start from.
Error Reduction::keepCandidate() {
  StringRef from = sys::path::parent_path(candidate.model),
            to = sys::path::parent_path(best.model);
  (void)sys::fs::remove_directories(to);
  if (std::error_code failed = sys::fs::rename(from, to))
    return createStringError(to + ": " + failed.message());
  result.after = size;
  return Error::success();
}

/// Runs the best model and notes the elements of all values. Without success,
/// new inputs get random numbers.
Error Reduction::observe() {
  auto model = read(best.model);
  if (!model)
    return model.takeError();
  isRunnable = false;
  auto inputs = data.bind(**model);
  if (!inputs) {
    consumeError(inputs.takeError());
    return Error::success();
  }
  auto values = CandidateData::run(std::move(*model), *inputs, options.hasData);
  if (!values) {
    consumeError(values.takeError());
    return Error::success();
  }
  isRunnable = true;
  data.set(*inputs, *values);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Tries changes on the best model. True if the result still fails the check;
/// it is then the best model. Absent if the search is over.
Expected<std::optional<bool>> Reduction::tryChanges(const ChangeKind &kind,
                                                    ChangeRange changes) {
  if (search.isStopped()) {
    isOver = true;
    return std::nullopt;
  }
  auto model = read(best.model);
  if (!model)
    return model.takeError();
  if (!kind.apply(**model, changes))
    return false;
  removeUnused((*model)->getModule());
  auto isValid = writeCandidate(**model, kind.isDoubtful);
  if (!isValid)
    return isValid.takeError();
  if (!*isValid || isSameContent(candidate.model, best.model))
    return false;
  auto passes = search.ask(candidate, size);
  if (!passes)
    return passes.takeError();
  if (!*passes) {
    isOver = true;
    return std::nullopt;
  }
  if (**passes)
    return false;
  if (Error failed = keepCandidate())
    return std::move(failed);
  return true;
}

/// Applies as many changes of one kind as possible. True if there was one.
Expected<bool> Reduction::reduceBy(const ChangeKind &kind) {
  auto model = read(best.model);
  if (!model)
    return model.takeError();
  Changes changes = kind.list((*model)->getModule());
  model->reset();
  if (changes.empty())
    return false;
  auto applied = applyChanges(
      changes.size(), changes.size(), [&](size_t begin, size_t end) {
        return tryChanges(kind, ChangeRange(changes).slice(begin, end - begin));
      });
  if (!applied)
    return applied.takeError();
  if (*applied && !kind.keepsValues)
    if (Error failed = observe())
      return std::move(failed);
  return *applied > 0;
}

using ApplyFn = bool (*)(mlir::ModuleOp, ChangeRange);

static std::function<bool(Model &, ChangeRange)> onModule(ApplyFn apply) {
  return [apply](Model &model, ChangeRange changes) {
    return apply(model.getModule(), changes);
  };
}

static ChangeKind resizeTo(int64_t size) {
  return {listSizes,
          [size](Model &model, ChangeRange changes) {
            return setSizes(model.getModule(), changes, size);
          },
          /*isDoubtful=*/true, /*keepsValues=*/false};
}

static ChangeKind fillBy(Filling filling) {
  return {[filling](mlir::ModuleOp module) {
            return listFillings(module, filling);
          },
          [filling](Model &model, ChangeRange names) {
            return fillInitializers(model.getModule(), names, filling);
          },
          /*isDoubtful=*/true, /*keepsValues=*/false};
}

static ChangeKind inlineFunctions() {
  return {[](mlir::ModuleOp module) {
            return module.getOps<onnxir::FunctionOp>().empty()
                       ? Changes()
                       : Changes{"functions"};
          },
          [](Model &model, ChangeRange) {
            Error failed = model.inlineFunctions();
            bool isInlined = !failed;
            consumeError(std::move(failed));
            return isInlined;
          },
          /*isDoubtful=*/false, /*keepsValues=*/false};
}

/// The kinds of changes that follow each other in a round.
static std::vector<ChangeKind> getChangeKinds() {
  return {{listNodes, onModule(removeNodes)},
          {listOutputs, onModule(dropOutputs)},
          inlineFunctions(),
          {listBypasses, onModule(bypassNodes), false, /*keepsValues=*/false},
          resizeTo(1),
          resizeTo(2),
          resizeTo(8),
          fillBy(Filling::Zeros),
          fillBy(Filling::Ones),
          {listAttributes, onModule(removeAttributes), /*isDoubtful=*/true,
           /*keepsValues=*/false}};
}

/// Changes that help no others: they are made once, at the end.
static std::vector<ChangeKind> getLastKinds() {
  return {fillBy(Filling::Rounded),
          {listMetadata, onModule(dropMetadata)},
          {listNames, onModule(shortenNames), false, /*keepsValues=*/false}};
}

Error Reduction::reduce() {
  for (bool goesOn = true; goesOn && !isOver;) {
    goesOn = false;
    for (const ChangeKind &kind : getChangeKinds()) {
      if (isOver)
        break;
      Expected<bool> changed = reduceBy(kind);
      if (!changed)
        return changed.takeError();
      goesOn |= *changed;
    }
  }
  for (const ChangeKind &kind : getLastKinds()) {
    if (isOver)
      break;
    Expected<bool> changed = reduceBy(kind);
    if (!changed)
      return changed.takeError();
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

Error Reduction::readData(Model &model) {
  if (!options.hasData)
    return Error::success();
  DataSet taken;
  if (!options.data.empty()) {
    auto read = readDataSet(options.data);
    if (!read)
      return read.takeError();
    taken = std::move(*read);
  }
  if (Error failed = CandidateData::check(model, taken))
    return failed;
  data = CandidateData(std::move(taken));
  return Error::success();
}

Expected<ReductionResult::Kind> Reduction::start() {
  auto model = Model::read(options.input, registry, options.reading);
  if (!model)
    return model.takeError();
  if (Error failed = readData(**model))
    return std::move(failed);
  if (Error failed = search.open("reduce", (*model)->getContent(),
                                 options.hasData ? "data=" + options.data : ""))
    return std::move(failed);
  result.before = GraphSize((*model)->getModule()).describe();
  auto isValid = writeCandidate(**model, /*isDoubtful=*/false);
  if (!isValid)
    return isValid.takeError();
  if (!*isValid)
    return createStringError("the model cannot be written as ONNX: 'mp-opt " +
                             options.input + " -o copy.onnx' says why");
  auto passes = search.ask(candidate, "the unchanged model, " + size);
  if (!passes)
    return passes.takeError();
  if (!*passes)
    return search.isStopped() ? ReductionResult::Stopped
                              : ReductionResult::OutOfRuns;
  if (**passes)
    return ReductionResult::UnchangedPasses;
  if (Error failed = keepCandidate())
    return std::move(failed);
  if (Error failed = observe())
    return std::move(failed);
  return ReductionResult::Reduced;
}

Expected<ReductionResult> Reduction::run() {
  Expected<ReductionResult::Kind> kind = start();
  if (!kind)
    return kind.takeError();
  result.kind = *kind;
  if (*kind == ReductionResult::Reduced) {
    if (Error failed = reduce())
      return std::move(failed);
    auto again = search.ask(best, "once more", /*isRepeated=*/true);
    if (!again)
      return again.takeError();
    result.isRepeatable = !again->value_or(false);
    if (search.isStopped())
      result.kind = ReductionResult::Stopped;
  }
  result.isMinimal = !isOver;
  result.files = best;
  result.numRuns = search.getNumRuns();
  result.answer = search.getLastAnswer();
  return std::move(result);
}

Expected<ReductionResult> reduceModel(const ReductionOptions &options,
                                      CandidateSearch &search,
                                      const mlir::DialectRegistry &registry) {
  return Reduction(options, search, registry).run();
}

} // namespace mp
