//===- PassFailures.cpp - Failures of passes as users read them -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/PassFailures.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace mp {

namespace {
class FailureWatch : public PassInstrumentation {
public:
  explicit FailureWatch(std::string &name) : name(name) {}
  void runAfterPassFailed(Pass *pass, Operation *) override {
    // Enclosing passes fail after the inner one; the inner one is kept.
    if (name.empty())
      name = pass->getName().str();
  }

private:
  std::string &name;
};
} // namespace

/// True for a message of `emitOpError` about an op that is not part of a model.
static bool isOfMLIR(StringRef text) {
  static const llvm::Regex op("^'[a-z_]+\\.[a-z_0-9.]+' op ");
  return op.match(text) && !text.starts_with("'onnx.") &&
         !text.starts_with("'mp.");
}

PassFailures::PassFailures(PassManager &pm)
    : handler(pm.getContext(),
              [this](Diagnostic &diagnostic) { return take(diagnostic); }) {
  pm.addInstrumentation(std::make_unique<FailureWatch>(pass));
}

LogicalResult PassFailures::take(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return failure();
  std::string found = diagnostic.str();
  if (!isOfMLIR(found)) {
    isTold = true;
    return failure();
  }
  if (!place) {
    text = std::move(found);
    place = diagnostic.getLocation();
  }
  return success();
}

/// The first node that a location names, or an empty string.
static std::string findNode(Location place) {
  std::string node;
  place->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named || !named.getName().getValue().starts_with("node "))
      return WalkResult::advance();
    node = named.getName().str();
    return WalkResult::interrupt();
  });
  return node;
}

void PassFailures::report(Operation *root) {
  if (isTold)
    return;
  std::string node = place ? findNode(*place) : "";
  isTold = true;
  InFlightDiagnostic error = emitError(place.value_or(root->getLoc()));
  error << (node.empty() ? "" : node + ": ") << "cannot be compiled: pass '"
        << pass
        << "' has failed, which is a fault of mp-opt: please report it with "
           "the model, as SECURITY.md says";
  if (!text.empty())
    error.attachNote() << "MLIR: " << text;
}

} // namespace mp
