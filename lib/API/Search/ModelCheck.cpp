//===- ModelCheck.cpp - Checks of candidate models ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Search/ModelCheck.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/API/Run/OutputDifferences.h"
#include "mp-opt/API/Run/Session.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static constexpr StringLiteral modelPlace = "{}", dataPlace = "{data}";

bool takesData(StringRef command) { return command.contains(dataPlace); }

static std::string replaceAll(StringRef text, StringRef from, StringRef to) {
  SmallVector<StringRef> parts;
  text.split(parts, from);
  return join(parts, to);
}

namespace {
class CommandCheck : public ModelCheck {
public:
  explicit CommandCheck(CommandCheckOptions options)
      : options(std::move(options)) {}

  Error prepare(const CandidateFiles &) override { return Error::success(); }
  Expected<std::optional<CheckAnswer>>
  ask(const CandidateFiles &files) override;
  std::string describe() const override { return options.command; }

private:
  CommandCheckOptions options;
};
} // namespace

Expected<std::optional<CheckAnswer>>
CommandCheck::ask(const CandidateFiles &files) {
  std::string model = quoteForShell(files.model);
  std::string command =
      replaceAll(options.command, dataPlace, quoteForShell(files.data));
  command = StringRef(command).contains(modelPlace)
                ? replaceAll(command, modelPlace, model)
                : command + " " + model;
  Expected<CommandEnd> end = runShellCommand(command, options.run);
  if (!end)
    return end.takeError();
  if (end->kind == CommandEnd::Stopped)
    return std::nullopt;
  if (end->isNotStarted())
    return createStringError("--check: the command cannot be started (" +
                             end->describe() +
                             "): " + StringRef(end->output).trim());
  return CheckAnswer{end->isSuccess(), end->describe(), end->output};
}

std::unique_ptr<ModelCheck> makeCommandCheck(CommandCheckOptions options) {
  return std::make_unique<CommandCheck>(std::move(options));
}

//===----------------------------------------------------------------------===//
// Tolerances
//===----------------------------------------------------------------------===//

namespace {
class ToleranceCheck : public ModelCheck {
public:
  ToleranceCheck(ToleranceCheckOptions options, DataSet data,
                 const mlir::DialectRegistry &registry)
      : options(std::move(options)), data(std::move(data)), registry(registry) {
  }

  Error prepare(const CandidateFiles &unchanged) override;
  Expected<std::optional<CheckAnswer>>
  ask(const CandidateFiles &files) override;
  std::string describe() const override;

private:
  Expected<std::vector<NamedTensor>> run(const std::string &path,
                                         const MessageFn &onMessage);

  ToleranceCheckOptions options;
  DataSet data;
  const mlir::DialectRegistry &registry;
  /// The outputs of the reference.
  std::vector<NamedTensor> expected;
};
} // namespace

std::string ToleranceCheck::describe() const {
  std::string dims;
  std::vector<std::string> names;
  for (const auto &dim : options.compile.dims)
    names.push_back((dim.getKey() + "=" + Twine(dim.getValue())).str());
  sort(names);
  return "tolerance " + formatv("{0:e}", options.tolerance).str() + " on " +
         (options.data.empty() ? "random numbers"
                               : options.data + " (" + data.version + ")") +
         " " + join(names, ",");
}

Expected<std::vector<NamedTensor>>
ToleranceCheck::run(const std::string &path, const MessageFn &onMessage) {
  auto model = Model::read(path, registry, options.reading);
  if (!model)
    return model.takeError();
  SessionOptions session;
  session.compile = options.compile;
  if (options.data.empty())
    session.binding.seed = 0;
  session.binding.onMessage = onMessage;
  auto opened = Session::create(std::move(*model), data, session);
  if (!opened)
    return opened.takeError();
  return opened->run();
}

Error ToleranceCheck::prepare(const CandidateFiles &unchanged) {
  auto outputs = run(unchanged.model, options.onMessage);
  if (!outputs)
    return outputs.takeError();
  expected = std::move(*outputs);
  return Error::success();
}

Expected<std::optional<CheckAnswer>>
ToleranceCheck::ask(const CandidateFiles &files) {
  // Notes about the data are the same for all models.
  auto outputs = run(files.model, /*onMessage=*/nullptr);
  if (!outputs)
    return outputs.takeError();
  auto differences =
      compareOutputs(*outputs, expected, /*isPositional=*/false, Tolerance());
  if (!differences)
    return differences.takeError();
  for (OutputDifference &output : *differences)
    output.bound = ErrorBound{options.tolerance, options.tolerance};
  if (std::string empty = describeEmpty(*differences); !empty.empty())
    return createStringError("--tolerance: nothing compared: " + empty);
  const OutputDifference *worst = nullptr;
  for (const OutputDifference &output : *differences)
    if (!worst || (output.isOutside() && !worst->isOutside()) ||
        (output.isOutside() == worst->isOutside() &&
         output.numbers.getError() > worst->numbers.getError()))
      worst = &output;
  if (!worst)
    return CheckAnswer{true, "there are no outputs"};
  std::string reason = "output '" + worst->name + "' ";
  reason += worst->numbers.specials
                ? "has NaN or infinity where the fp32 model has none"
                : "is off by " + formatPercent(worst->numbers.getError());
  return CheckAnswer{!isOutside(*differences), reason};
}

Expected<std::unique_ptr<ModelCheck>>
makeToleranceCheck(ToleranceCheckOptions options,
                   const mlir::DialectRegistry &registry) {
  DataSet data;
  if (!options.data.empty()) {
    auto read = readDataSet(options.data);
    if (!read)
      return read.takeError();
    data = std::move(*read);
  }
  return std::make_unique<ToleranceCheck>(std::move(options), std::move(data),
                                          registry);
}

} // namespace mp
