//===- Bisection.cpp - Nodes that must stay fp32 --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Search/Bisection.h"

#include "mp-opt/API/Model/Reports.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/GroupTesting.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace mp {

namespace {

/// A node that the conversion makes 16 bit, or several of one name.
struct LowNode {
  std::string name, shown;
};

class Bisection {
public:
  Bisection(const BisectionOptions &options, CandidateSearch &search,
            const mlir::DialectRegistry &registry)
      : options(options), search(search), registry(registry),
        files(search.getFiles(/*hasData=*/false)) {}

  Expected<BisectionResult> run();

private:
  Expected<BisectionResult::Kind> start();
  Expected<BisectionResult::Kind> find();
  Error writeUnchanged();
  Error listLow();
  Error writeConverted(const MixedPrecisionRequest &request);
  Expected<std::optional<bool>> askWithout(const BitVector &kept,
                                           bool isRepeated = false);
  MixedPrecisionRequest deny(const BitVector &kept) const;
  /// Makes the text of the policy.
  Error makePolicy(const BitVector &kept);
  /// True if the conversion with that policy gives a model that passes.
  Expected<std::optional<bool>> passesWithPolicy();
  Expected<BisectionResult::Kind> confirm(const BitVector &kept);
  BisectionResult::Kind getEnd() const {
    return search.isStopped() ? BisectionResult::Stopped
                              : BisectionResult::OutOfRuns;
  }

  const BisectionOptions &options;
  CandidateSearch &search;
  const mlir::DialectRegistry &registry;
  CandidateFiles files;
  std::vector<LowNode> low;
  BisectionResult result;
};

} // namespace

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// Appends "name=value" for each member that differs from the default.
template <typename Request>
static void describeFields(const Request &request, raw_ostream &os) {
  for (const RequestField<Request> &field : Request::getFields())
    std::visit(
        [&](auto member) {
          const auto &value = request.*member;
          if (value == Request().*member)
            return;
          os << field.option << "=";
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>,
                                       std::vector<std::string>>)
            os << join(value, ",");
          else
            os << value;
          os << " ";
        },
        field.member);
}

/// All settings that change the result, in one line.
static std::string describeRequest(const MixedPrecisionRequest &request) {
  std::string text;
  raw_string_ostream os(text);
  describeFields(request.policy, os);
  describeFields(request, os);
  return StringRef(text).rtrim().str();
}

Error Bisection::writeUnchanged() {
  auto model = Model::read(options.input, registry, options.reading);
  if (!model)
    return model.takeError();
  if (Error failed = search.open("bisect", (*model)->getContent(),
                                 describeRequest(options.request)))
    return failed;
  return (*model)->writeONNX(files.model, /*copiesDataFiles=*/true);
}

/// Rules know a node without a name by its first output. Conversion may rename
/// that output, so the node gets its name before.
static void nameNodes(mlir::ModuleOp module) {
  module.walk([](mlir::Operation *op) {
    if (!onnxir::isNode(op) || !op->getNumResults() ||
        !onnxir::getNodeName(op).empty())
      return;
    if (mlir::StringAttr name = onnxir::getValueNameAttr(op->getResult(0)))
      if (!name.empty())
        op->setAttr(onnxir::attr::name, name);
  });
}

/// Lists the nodes that the conversion makes 16 bit. This conversion reports
/// warnings, which those of candidates repeat.
Error Bisection::listLow() {
  auto model = Model::read(options.input, registry, options.reading);
  if (!model)
    return model.takeError();
  nameNodes((*model)->getModule());
  StringSet<> seen;
  ReportOptions reporting;
  reporting.onNodes = [&](const PrecisionReport &report) {
    for (const ReportNode &node : report.nodes) {
      std::string name = node.getDisplayName();
      if (node.state == ReportNode::Low && !node.isInsertedCast &&
          !name.empty() && seen.insert(name).second)
        low.push_back({name, onnxir::describe(node.op)});
    }
  };
  Reports reports(reporting);
  ConversionOptions conversion;
  conversion.mixed = options.request;
  return (*model)->convert(conversion, &reports);
}

Error Bisection::writeConverted(const MixedPrecisionRequest &request) {
  ModelOptions reading = options.reading;
  reading.onMessage = nullptr;
  auto model = Model::read(options.input, registry, std::move(reading));
  if (!model)
    return model.takeError();
  ConversionOptions conversion;
  conversion.mixed = request;
  if (Error failed = (*model)->convert(conversion))
    return failed;
  return (*model)->writeONNX(files.model, /*copiesDataFiles=*/true);
}

MixedPrecisionRequest Bisection::deny(const BitVector &kept) const {
  MixedPrecisionRequest request = options.request;
  for (unsigned index : kept.set_bits())
    request.policy.denyNames.push_back(low[index].name);
  return request;
}

Expected<std::optional<bool>> Bisection::askWithout(const BitVector &kept,
                                                    bool isRepeated) {
  if (Error failed = writeConverted(deny(kept)))
    return failed;
  return search.ask(files,
                    Twine(kept.count()) + " of " + Twine(low.size()) +
                        " nodes in fp32",
                    isRepeated);
}

//===----------------------------------------------------------------------===//
// The policy
//===----------------------------------------------------------------------===//

/// Settings that a policy cannot hold, as flags.
static std::string describeOtherFlags(const MixedPrecisionRequest &request) {
  MixedPrecisionRequest usual;
  std::string flags;
  if (request.maxWeightCopy != usual.maxWeightCopy)
    flags += " --max-weight-copy=" + std::to_string(request.maxWeightCopy);
  if (request.opsetLimit != usual.opsetLimit)
    flags += " --opset-limit=" + std::to_string(request.opsetLimit);
  return flags;
}

Error Bisection::makePolicy(const BitVector &kept) {
  MixedPrecisionRequest request = deny(kept);
  std::string body;
  raw_string_ostream os(body);
  Error failed = printPolicy(
      request.policy, registry, os,
      [](mlir::DiagnosticSeverity, const Twine &) {},
      /*hasDefaults=*/false);
  if (failed)
    return failed;
  // Settings of the flags become a part of the policy, if they are not one.
  MixedPrecisionRequest usual;
  if (request.assign != usual.assign && !StringRef(body).contains("\nassign:"))
    os << "assign: " << request.assign << "\n";
  if (!request.minSaving.empty() && !StringRef(body).contains("\nmin_saving:"))
    os << "min_saving: " << request.minSaving << "\n";
  if (!request.raiseOpset && !StringRef(body).contains("\nraise_opset:"))
    os << "raise_opset: false\n";
  std::string head =
      "# Found by mp-opt bisect: " + std::to_string(kept.count()) + " of " +
      std::to_string(low.size()) + " nodes stay fp32, after " +
      std::to_string(search.getNumRuns()) + " runs of the check.\n" +
      "# mp-opt MODEL --policy=FILE" + describeOtherFlags(request) +
      " -o OUTPUT\n";
  result.policy = head + StringRef(body).split('\n').second.str();
  return Error::success();
}

Expected<std::optional<bool>> Bisection::passesWithPolicy() {
  MixedPrecisionRequest request;
  request.policy.policy = search.getFolder().getPath("policy.yaml");
  request.maxWeightCopy = options.request.maxWeightCopy;
  request.opsetLimit = options.request.opsetLimit;
  auto file = AtomicFile::create(request.policy.policy);
  if (!file)
    return file.takeError();
  (*file)->os() << result.policy;
  if (Error failed = (*file)->finish())
    return failed;
  if (Error failed = (*file)->commit())
    return failed;
  if (Error failed = writeConverted(request))
    return failed;
  return search.ask(files, "with the policy");
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Asks about the models between which the search takes place. The result is
/// Found if there is something to find.
Expected<BisectionResult::Kind> Bisection::start() {
  if (Error failed = writeUnchanged())
    return failed;
  if (Error failed = search.prepare(files))
    return failed;
  auto unchanged = search.ask(files, "the unchanged model");
  if (!unchanged)
    return unchanged.takeError();
  if (!*unchanged)
    return getEnd();
  if (!**unchanged)
    return BisectionResult::UnchangedFails;
  if (Error failed = listLow())
    return failed;
  result.numCandidates = low.size();
  if (low.empty())
    return BisectionResult::NothingIsLow;
  auto all = askWithout(BitVector(low.size()));
  if (!all)
    return all.takeError();
  if (!*all)
    return getEnd();
  if (**all)
    return BisectionResult::Passes;
  auto none = askWithout(BitVector(low.size(), true));
  if (!none)
    return none.takeError();
  if (!*none)
    return getEnd();
  return **none ? BisectionResult::Found : BisectionResult::AllKeptFails;
}

/// Asks twice about the models that decide the result.
Expected<BisectionResult::Kind> Bisection::confirm(const BitVector &kept) {
  for (bool isFound : {false, true}) {
    auto again = askWithout(isFound ? kept : BitVector(low.size()),
                            /*isRepeated=*/true);
    if (!again)
      return again.takeError();
    if (*again && **again != isFound)
      return BisectionResult::Varies;
    if (!*again && search.isStopped())
      return BisectionResult::Stopped;
  }
  return BisectionResult::Found;
}

Expected<BisectionResult::Kind> Bisection::find() {
  auto found = findNeededItems(
      low.size(), [&](const BitVector &kept) { return askWithout(kept); },
      [](size_t, size_t) {});
  if (!found)
    return found.takeError();
  if (search.isStopped())
    return BisectionResult::Stopped;
  result.isMinimal = found->isMinimal;
  BitVector kept(low.size());
  for (size_t item : found->items) {
    kept.set(item);
    result.names.push_back(low[item].name);
    result.nodes.push_back(low[item].shown);
  }
  auto kind = confirm(kept);
  if (!kind || *kind != BisectionResult::Found)
    return kind;
  if (Error failed = makePolicy(kept))
    return failed;
  auto passed = passesWithPolicy();
  if (!passed)
    return passed.takeError();
  if (!*passed)
    return getEnd();
  return **passed ? BisectionResult::Found : BisectionResult::Varies;
}

Expected<BisectionResult> Bisection::run() {
  Expected<BisectionResult::Kind> kind = start();
  if (kind && *kind == BisectionResult::Found)
    kind = find();
  if (!kind)
    return kind.takeError();
  result.kind = *kind;
  result.numRuns = search.getNumRuns();
  result.answer = search.getLastAnswer();
  return std::move(result);
}

Expected<BisectionResult> bisectNodes(const BisectionOptions &options,
                                      CandidateSearch &search,
                                      const mlir::DialectRegistry &registry) {
  return Bisection(options, search, registry).run();
}

} // namespace mp
