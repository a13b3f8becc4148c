//===- Diff.cpp - mp-opt diff ---------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diff.h"
#include "ExitCodes.h"
#include "InputFlags.h"
#include "InternalErrors.h"

#include "mp-opt/API/ModelInput.h"
#include "mp-opt/Report/ModelDiff.h"
#include "mp-opt/Report/ReportForms.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace mp {

static constexpr StringLiteral help =
    R"(mp-opt diff: what differs in precision between two models

usage: mp-opt diff BEFORE AFTER [--json] [--exit-code] [--schemas=FILE]
              [--external-data-root=DIR]

Nodes are matched by name, else by their outputs' names, else by operator and
order. Shown are element types of their inputs and outputs, casts added and
removed, types of initializers and of the graph's inputs and outputs, opsets
and the IR version.

  --json           as JSON, on standard output like the text
  --exit-code      end with 6 if the models differ, else with 0
  --schemas=FILE   JSON with the operators of further domains
  --external-data-root=DIR
                   external data may be links to below DIR (repeatable)

Exit codes: 0 done; 1 a model cannot be read; 2 wrong usage; 6 see above;
70 internal error or out of memory.
)";

namespace {

struct DiffOptions {
  std::vector<std::string> models;
  std::string schemas;
  std::vector<std::string> roots;
  bool json = false, exitCode = false;

  /// An exit code if the run is over.
  std::optional<int> parse(ArrayRef<const char *> arguments);
};

/// One of the two models, with all that it lives in.
struct Side {
  ModelInput input;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;

  explicit Side(const DialectRegistry &registry) : context(registry) {}
  bool read(StringRef path, ArrayRef<std::string> roots);
};

} // namespace

static int usageError(const Twine &message) {
  llvm::errs() << "mp-opt diff: error: " << message << "\n";
  return exitUsage;
}

std::optional<int> DiffOptions::parse(ArrayRef<const char *> arguments) {
  static constexpr StringRef flags[] = {"--json", "--exit-code", "--schemas",
                                        "--external-data-root", "--help"};
  for (StringRef argument : arguments) {
    auto [flag, value] = argument.split('=');
    if (!argument.starts_with("-") || argument == "-") {
      models.push_back(argument.str());
    } else if (argument == "--help" || argument == "-h") {
      llvm::outs() << help;
      return exitOk;
    } else if (argument == "--json") {
      json = true;
    } else if (argument == "--exit-code") {
      exitCode = true;
    } else if (flag == "--schemas" && !value.empty()) {
      schemas = value.str();
    } else if (flag == "--external-data-root" && !value.empty()) {
      roots.push_back(value.str());
    } else {
      std::string nearest = findNearest(flag, flags);
      return usageError("unknown flag '" + argument + "'" +
                        (nearest.empty()
                             ? "; see mp-opt diff --help"
                             : "; did you mean '" + nearest + "'?"));
    }
  }
  if (models.size() != 2)
    return usageError("expected two models, got " + Twine(models.size()) +
                      "; see mp-opt diff --help");
  if (llvm::Error failed = checkRoots(roots))
    return usageError(toString(std::move(failed)));
  return std::nullopt;
}

bool Side::read(StringRef path, ArrayRef<std::string> roots) {
  progress::startReading(path, nullptr);
  if (llvm::Error failed = input.read(path)) {
    llvm::errs() << path << ": error: " << toString(std::move(failed)) << "\n";
    return false;
  }
  bool failedBefore = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    bool isError = diag.getSeverity() == DiagnosticSeverity::Error;
    if (isError && !failedBefore)
      llvm::errs() << input.getName() << ": " << getKind(diag) << ": " << diag
                   << "\n";
    failedBefore |= isError;
  });
  module = input.import(context, {roots.vec()}, &llvm::errs());
  return module && succeeded(verify(*module));
}

int runDiff(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  DiffOptions options;
  if (std::optional<int> exitCode = options.parse(arguments))
    return *exitCode;
  if (llvm::Error failed = addSchemas(options.schemas, registry)) {
    llvm::errs() << "mp-opt diff: error: " << toString(std::move(failed))
                 << "\n";
    return exitBadInput;
  }
  progress::setObstacle("mp-opt diff makes none");
  Side before(registry), after(registry);
  if (!before.read(options.models[0], options.roots) ||
      !after.read(options.models[1], options.roots))
    return exitBadInput;
  progress::startComparing();
  ModelDiff diff = ModelDiff::compute(*before.module, *after.module);
  if (options.json)
    diff.printJSON(options.models[0], options.models[1], llvm::outs());
  else
    diff.print(llvm::outs());
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "mp-opt diff: error: cannot write to standard output: "
                 << llvm::outs().error().message() << "\n";
    llvm::outs().clear_error();
    return exitBadInput;
  }
  return options.exitCode && !diff.isEmpty() ? exitDiffers : exitOk;
}

} // namespace mp
