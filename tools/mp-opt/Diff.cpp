//===- Diff.cpp - mp-opt diff ---------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diff.h"
#include "ExitCodes.h"
#include "Flags.h"
#include "Help.h"
#include "InternalErrors.h"
#include "MessagePrinter.h"

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Report/ModelDiff.h"
#include "mp-opt/Support/ShownText.h"

using namespace mlir;

namespace mp {

static llvm::Expected<std::unique_ptr<Model>>
readModel(StringRef path, const DialectRegistry &registry,
          ArrayRef<std::string> roots) {
  progress::startReading(path, nullptr);
  ModelOptions options;
  options.externalDataRoots = roots.vec();
  options.excerpts = &llvm::errs();
  MessagePrinter printer(path);
  options.onMessage = [&](StringRef, DiagnosticSeverity severity,
                          const Twine &text) {
    if (severity == DiagnosticSeverity::Error)
      printer.print(severity, text);
  };
  return Model::read(path, registry, std::move(options));
}

int runDiff(ArrayRef<const char *> arguments, DialectRegistry &registry) {
  std::vector<std::string> paths, roots;
  std::string schemas;
  bool isJSON = false, tellsByCode = false;
  Flags flags("mp-opt diff", help::diff);
  flags.beginGroup("Options");
  flags.add("json", isJSON, "as JSON");
  flags.add("exit-code", tellsByCode, "end with 6 if the models differ");
  flags.add("schemas", schemas, "operators of further domains", "FILE");
  flags.add("external-data-root", roots,
            "folder that links of external data may lead to", "DIR");
  if (std::optional<int> code = flags.parse(arguments, paths))
    return *code;
  if (paths.size() != 2)
    return flags.usageError("expected two models, got " + Twine(paths.size()) +
                            "; see mp-opt diff --help");
  if (llvm::Error failed = checkRoots(roots))
    return flags.usageError(toString(std::move(failed)));
  if (llvm::Error failed = addSchemas(schemas, registry))
    return reportError("mp-opt diff", std::move(failed));
  progress::setObstacle("mp-opt diff makes none");
  std::unique_ptr<Model> models[2];
  for (auto [model, path] : llvm::zip(models, paths)) {
    auto read = readModel(path, registry, roots);
    if (!read)
      return reportError(path, read.takeError());
    model = std::move(*read);
  }
  progress::startComparing();
  ModelDiff diff =
      ModelDiff::compute(models[0]->getModule(), models[1]->getModule());
  if (isJSON)
    diff.printJSON(paths[0], paths[1], llvm::outs());
  else
    diff.print(EscapingStream(llvm::outs()).get());
  if (llvm::Error failed = flushStandardOutput())
    return reportError("mp-opt diff", std::move(failed));
  return tellsByCode && !diff.isEmpty() ? exitDiffers : exitOk;
}

} // namespace mp
