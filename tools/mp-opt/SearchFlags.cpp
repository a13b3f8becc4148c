//===- SearchFlags.cpp - Flags of bisect and reduce -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchFlags.h"

#include "ExitCodes.h"
#include "InternalErrors.h"
#include "Message.h"

#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace mp {

SearchFlags::SearchFlags(Flags &flags, StringRef tool)
    : flags(flags), tool(tool) {
  flags.beginGroup("Search");
  flags.add("check", check,
            "shell command that ends with 0 if the model {} is fine",
            "COMMAND");
  flags.add("timeout", timeout, "seconds after which a command has failed");
  flags.add("max-runs", maxRuns, "runs of the check at most", /*least=*/1);
  flags.add("state", state, "file that keeps the answers of the check", "FILE");
  flags.add("json", isJSON, "print the result as JSON");
  flags.beginGroup("Input");
  flags.add("data", data, "data of the model's inputs", "DATA");
  flags.add("schemas", schemas, "operators of further domains", "FILE");
  flags.add("external-data-root", roots,
            "folder that links of external data may lead to", "DIR");
  addCheck(flags, "model-check", level);
}

std::optional<int> SearchFlags::parse(ArrayRef<const char *> arguments,
                                      DialectRegistry &registry) {
  std::vector<std::string> inputs;
  if (std::optional<int> code = flags.parse(arguments, inputs))
    return code;
  if (inputs.size() != 1)
    return flags.usageError("expected one model, got " + Twine(inputs.size()) +
                            "; see " + tool + " --help");
  input = inputs.front();
  if (input == "-")
    return flags.usageError("expected a file: the model is read once for each "
                            "candidate");
  if (flags.isGiven("check") && StringRef(check).trim().empty())
    return flags.usageError("--check: expected a command");
  if (flags.isGiven("timeout") && !flags.isGiven("check"))
    return flags.usageError("--timeout is for the command of --check");
  if (llvm::Error failed = checkRoots(roots))
    return flags.usageError(toString(std::move(failed)));
  for (const std::string &written : {output, state})
    if (!written.empty() &&
        (isSameFile(written, input) || isSameFile(written, data)))
      return flags.usageError("'" + written +
                              "' is read by this run; choose another name");
  if (output == "-")
    return flags.usageError("-o: expected a file, got standard output");
  if (!output.empty() && isSameFile(output, state))
    return flags.usageError("-o and --state are the same file");
  if (!output.empty())
    if (llvm::Error failed = AtomicFile::check(output))
      return reportError(tool, std::move(failed));
  if (llvm::Error failed = addSchemas(schemas, registry))
    return reportError(tool, std::move(failed));
  progress::setObstacle("a search makes none");
  return std::nullopt;
}

ModelOptions SearchFlags::getModelOptions() const {
  ModelOptions options;
  options.externalDataRoots = roots;
  options.check = level;
  options.onMessage = [tool = tool](StringRef name, DiagnosticSeverity severity,
                                    const Twine &text) {
    printMessage(name.empty() ? tool : name, severity, text);
  };
  return options;
}

llvm::Expected<CandidateSearch>
SearchFlags::open(std::unique_ptr<ModelCheck> other) {
  auto folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  auto isStopped = [this] { return interrupt.get() != 0; };
  if (!other)
    other = makeCommandCheck(
        {check, {timeout, isStopped, folder->getPath("output.txt")}});
  SearchOptions options;
  options.state = state;
  options.maxRuns = maxRuns;
  options.isStopped = isStopped;
  options.onProgress = [this](const Twine &line) {
    llvm::errs() << escapeText(tool + ": " + line) << "\n";
  };
  return CandidateSearch(std::move(options), std::move(*folder),
                         std::move(other));
}

int SearchFlags::report(llvm::Error error) const {
  return reportError(tool, std::move(error));
}

void SearchFlags::say(DiagnosticSeverity severity, const Twine &text) const {
  printMessage(tool, severity, text);
}

int SearchFlags::refuse(const Twine &text, const CheckAnswer &answer) const {
  say(DiagnosticSeverity::Error, text);
  StringRef rest = StringRef(answer.output).rtrim();
  // The end of a long output says most.
  constexpr size_t maxLines = 5, maxColumns = 200;
  SmallVector<StringRef> lines;
  rest.split(lines, '\n');
  if (!rest.empty())
    for (StringRef line : ArrayRef(lines).take_back(maxLines))
      say(DiagnosticSeverity::Note,
          "the check prints: " + line.take_front(maxColumns));
  return exitOutside;
}

int SearchFlags::reportInterrupt(uint64_t runs) const {
  say(DiagnosticSeverity::Note,
      "stopped by a signal after " + Twine(runs) + " runs; " +
          (state.empty()
               ? Twine("--state=FILE would have kept the answers")
               : Twine("the same command goes on, by '" + state + "'")));
  constexpr int signalled = 128;
  return signalled + interrupt.get();
}

} // namespace mp
