//===- CheckRuntime.cpp - Check that a runtime runs every node ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Policy/RuntimeKernels.h"
#include "mp-opt/Target/ONNX/SchemaFunctions.h"

namespace mp {
#define GEN_PASS_DEF_CHECKRUNTIME
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct CheckRuntime : public mp::impl::CheckRuntimeBase<CheckRuntime> {
  using CheckRuntimeBase::CheckRuntimeBase;

  void runOnOperation() override;

private:
  using Faults = SmallVector<std::pair<Location, std::string>>;

  void checkOpset(const RuntimeProfile &profile, Faults &faults);
  void checkShapes(const RuntimeProfile &profile, Faults &faults);
  void checkScope(Operation *scope, const RuntimeKernels &kernels,
                  const FunctionTable &functions, Faults &faults);
  std::string getFault(Operation *node, const OpSchema *schema,
                       const RuntimeKernels &kernels);
  void report(const RuntimeProfile &profile, const Faults &faults);
};

} // namespace

/// A message lists this many nodes.
static constexpr unsigned maxListed = 10;

void CheckRuntime::checkOpset(const RuntimeProfile &profile, Faults &faults) {
  std::optional<int64_t> opset = getOpset(getOperation(), "");
  if (!opset ||
      (*opset >= profile.getFirstOpset() && *opset <= profile.getLastOpset()))
    return;
  faults.emplace_back(getOperation().getLoc(),
                      "the model has opset " + std::to_string(*opset) + ", " +
                          profile.str() + " reads " +
                          std::to_string(profile.getFirstOpset()) + " to " +
                          std::to_string(profile.getLastOpset()));
}

void CheckRuntime::checkShapes(const RuntimeProfile &profile, Faults &faults) {
  GraphOp graph = getMainGraph(getOperation());
  if (!profile.has(RuntimeRule::StaticShapes) || !graph)
    return;
  for (BlockArgument input : graph.getBody().getArguments()) {
    auto type = dyn_cast<ShapedType>(input.getType());
    if (!type || type.hasStaticShape())
      continue;
    faults.emplace_back(input.getLoc(),
                        "input '" + getValueName(input).str() +
                            "' has unknown sizes, expected all to be known");
  }
}

/// Names two float operands of different types that must have one.
static std::string findMixedOperands(Operation *node) {
  Type first;
  for (Type type : node->getOperandTypes()) {
    if (!isFloatTensor(type))
      continue;
    Type element = getTensorElementType(type);
    if (first && element != first)
      return "has operands of " + getPrecisionName(first).str() + " and " +
             getPrecisionName(element).str() + ", which must be one type";
    first = element;
  }
  return {};
}

static bool readsBF16(Operation *node) {
  return llvm::any_of(node->getOperandTypes(), [](Type type) {
    Type element = getTensorElementType(type);
    return element && element.isBF16();
  });
}

/// Why the runtime does not take a node as it is; empty if it does.
std::string CheckRuntime::getFault(Operation *node, const OpSchema *schema,
                                   const RuntimeKernels &kernels) {
  const RuntimeProfile &profile = kernels.getProfile();
  if (!schema) {
    std::string op = getQualifiedName(getDomain(node), getOpType(node));
    bool isKnown = kernels.hasKernel(node, op, /*since=*/1);
    return isKnown ? "" : profile.str() + " has no kernel for " + op;
  }
  std::string fault = kernels.getFinalObstacle(node, *schema);
  if (!fault.empty() && !(profile.has(RuntimeRule::InlinesFunctions) &&
                          !readsBF16(node) && hasFunctionBody(node)))
    return fault;
  if (profile.has(RuntimeRule::OneType) && hasOperandsOfOneType(node))
    if (std::string mixed = findMixedOperands(node); !mixed.empty())
      return mixed + " for " + profile.str();
  return {};
}

void CheckRuntime::checkScope(Operation *scope, const RuntimeKernels &kernels,
                              const FunctionTable &functions, Faults &faults) {
  SchemaCache schemas(scope);
  scope->walk<WalkOrder::PreOrder>([&](Operation *node) {
    if (!isNode(node) || mp::isConstant(node) || functions.lookup(node))
      return;
    std::string fault = getFault(node, schemas.lookup(node).schema, kernels);
    if (!fault.empty())
      faults.emplace_back(node->getLoc(), describe(node) + ": " + fault);
  });
}

void CheckRuntime::report(const RuntimeProfile &profile, const Faults &faults) {
  InFlightDiagnostic diag =
      lenient ? getOperation().emitWarning() : getOperation().emitError();
  diag << profile.str() << " cannot run the model: " << faults.front().second;
  if (faults.size() > 1)
    diag << ", and " << faults.size() - 1 << " more";
  if (!lenient)
    diag << "; --check=lenient makes this a warning";
  for (const auto &[where, text] :
       ArrayRef(faults).drop_front().take_front(maxListed))
    diag.attachNote(where) << text;
}

void CheckRuntime::runOnOperation() {
  llvm::Expected<RuntimeKernels> kernels = RuntimeKernels::create(runtime);
  if (!kernels) {
    getOperation().emitError()
        << "--runtime: " << toString(kernels.takeError());
    return signalPassFailure();
  }
  Faults faults;
  checkOpset(kernels->getProfile(), faults);
  checkShapes(kernels->getProfile(), faults);
  FunctionTable functions(getOperation());
  for (Operation *scope : getScopes(getOperation()))
    checkScope(scope, *kernels, functions, faults);
  markAllAnalysesPreserved();
  if (faults.empty())
    return;
  report(kernels->getProfile(), faults);
  if (!lenient)
    signalPassFailure();
}
