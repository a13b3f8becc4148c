//===- DataCommands.cpp - Commands that run a model on data ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataCommands.h"

#include "ExitCodes.h"
#include "Flags.h"
#include "Help.h"
#include "InternalErrors.h"
#include "MessagePrinter.h"

#include "mp-opt/Options/ErrorFlags.h"
#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/ShownText.h"

using namespace mlir;

namespace mp {

namespace {

/// A command: its flags, its model and its data.
class DataCommand {
public:
  DataCommand(StringRef title, StringRef help, ErrorCommand command);

  /// An exit code if the run is over.
  std::optional<int> parse(ArrayRef<const char *> arguments,
                           DialectRegistry &registry);
  std::optional<int> read(const DialectRegistry &registry);
  int fail(llvm::Error error) const {
    return reportError(paths.front(), std::move(error));
  }
  int finish() const;

  const std::string title;
  ErrorOptions options;
  Flags flags;
  bool isJSON = false;
  std::unique_ptr<Model> model;

private:
  llvm::Error complete();

  ErrorFlags errorFlags;
  std::vector<std::string> paths;
  /// Messages come as long as the model is used.
  std::optional<MessagePrinter> printer;
};

} // namespace

DataCommand::DataCommand(StringRef title, StringRef help, ErrorCommand command)
    : title(title), flags(this->title, help),
      errorFlags(flags, options, command) {
  flags.add("json", isJSON, "as JSON");
}

llvm::Error DataCommand::complete() {
  if (llvm::Error failed = errorFlags.complete())
    return failed;
  if (paths.size() != 1)
    return llvm::createStringError("expected one model, got " +
                                   Twine(paths.size()));
  return llvm::Error::success();
}

std::optional<int> DataCommand::parse(ArrayRef<const char *> arguments,
                                      DialectRegistry &registry) {
  if (std::optional<int> code = flags.parse(arguments, paths))
    return code;
  if (llvm::Error failed = complete())
    return flags.usageError(toString(std::move(failed)));
  if (llvm::Error failed = addSchemas(options.schemas, registry))
    return reportError(title, std::move(failed));
  progress::setObstacle("this command makes none");
  return read(registry);
}

std::optional<int> DataCommand::read(const DialectRegistry &registry) {
  ModelOptions reading;
  reading.externalDataRoots = options.externalDataRoots;
  printer.emplace(paths.front());
  reading.onMessage = [this](StringRef, DiagnosticSeverity severity,
                             const Twine &text) {
    if (severity == DiagnosticSeverity::Error)
      printer->print(severity, text);
  };
  auto found = Model::read(paths.front(), registry, reading);
  if (!found)
    return fail(found.takeError());
  model = std::move(*found);
  return std::nullopt;
}

int DataCommand::finish() const {
  llvm::Error failed = flushStandardOutput();
  return failed ? reportError(title, std::move(failed)) : exitOk;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

int runAttribute(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  DataCommand command("mp-opt attribute", help::attribute,
                      ErrorCommand::Attribute);
  uint64_t shown = 10;
  command.flags.add("nodes", shown, "how many nodes are shown");
  if (std::optional<int> code = command.parse(arguments, registry))
    return *code;
  ErrorOptions &options = command.options;
  Attributor attributor(options.getRequest(command.model->getName()));
  attributor.addTo(options.conversion);
  if (llvm::Error failed =
          command.model->convert(options.conversion, nullptr, options.dims))
    return command.fail(std::move(failed));
  const AttributionReport &report = attributor.getReport();
  if (command.isJSON)
    report.printJSON(llvm::outs());
  else
    report.print(EscapingStream(llvm::outs()).get(), shown);
  return command.finish();
}

llvm::Error writeText(StringRef path, StringRef text) {
  auto file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  (*file)->os() << text;
  if (llvm::Error failed = (*file)->finish())
    return failed;
  return (*file)->commit();
}

int runTune(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  DataCommand command("mp-opt tune", help::tune, ErrorCommand::Tune);
  std::string output, page;
  command.flags.add("o", output, "policy of the result", "FILE");
  command.flags.add("report", page, "page with a plot", "FILE");
  if (std::optional<int> code = command.parse(arguments, registry))
    return *code;
  if (!command.options.tuning.target && !output.empty())
    return command.flags.usageError("-o needs --target-error=X");
  auto report = command.options.tune(*command.model);
  if (!report)
    return command.fail(report.takeError());
  if (command.isJSON)
    report->printJSON(llvm::outs());
  else
    report->print(EscapingStream(llvm::outs()).get());
  if (report->ownError.error > 0) {
    command.fail(
        refuseTarget(*command.options.tuning.target, report->ownError));
    command.finish();
    return exitOutside;
  }
  if (!output.empty())
    if (llvm::Error failed = writeText(output, report->policy))
      return reportError(output, std::move(failed));
  if (!page.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    report->printHTML(command.model->getName(), os);
    if (llvm::Error failed = writeText(page, text))
      return reportError(page, std::move(failed));
  }
  return command.finish();
}

} // namespace mp
