//===- Advice.cpp - Recommendations to verify -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most models tolerate 16 bit where profiles and analyses allow it. Two kinds
// should be run on real data: errors of a recurrent state grow from call to
// call, and a number that became zero has lost all of its value.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/ReportForms.h"

#include "WorkForms.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// True for a cell that passes a state from step to step, partly in 16 bit.
static bool isRecurrent(Operation *op) {
  if (!isStandardOp(op, "LSTM") && !isStandardOp(op, "GRU") &&
      !isStandardOp(op, "RNN"))
    return false;
  return llvm::any_of(op->getOperandTypes(), is16BitTensor) ||
         llvm::any_of(op->getResultTypes(), is16BitTensor);
}

/// True if a caller can feed the output back to the input.
static bool canBeFedBack(Value output, Value input) {
  auto to = dyn_cast<RankedTensorType>(output.getType()),
       from = dyn_cast<RankedTensorType>(input.getType());
  return to && from && to.getRank() == from.getRank() && to.getRank() > 1 &&
         isa<FloatType>(to.getElementType()) &&
         to.getElementType() == from.getElementType();
}

/// Characters between a name and an ending such as "out".
static constexpr StringLiteral separators = "_./-";

/// Finds the input that is the output's state before a call, by their names:
/// "state" and "stateN", "h" and "h_out". `inputs` have names without
/// separators at the end.
static Value findState(Value output, const llvm::StringMap<Value> &inputs) {
  StringRef next = onnxir::getValueName(output);
  for (StringRef ending : {"n", "next", "new", "out", "output"}) {
    StringRef name = next;
    if (!name.consume_back_insensitive(ending))
      continue;
    Value input = inputs.lookup(name.rtrim(separators));
    if (input && canBeFedBack(output, input))
      return input;
  }
  return {};
}

std::string findRecurrentState(ModuleOp module) {
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return "";
  std::string found;
  graph.walk([&](Operation *op) {
    if (!isRecurrent(op))
      return WalkResult::advance();
    // Without a name or a first output, only the operator identifies it.
    bool isNamed = !getNodeName(op).empty() ||
                   !onnxir::getValueName(op->getResult(0)).empty();
    found = isNamed ? describe(op) : "a node (" + getOpType(op).str() + ")";
    return WalkResult::interrupt();
  });
  if (!found.empty())
    return found;
  llvm::StringMap<Value> inputs;
  for (BlockArgument input : graph.getBody().getArguments())
    if (StringRef name = onnxir::getValueName(input).rtrim(separators);
        !name.empty())
      inputs.try_emplace(name, input);
  for (Value output : getYield(graph.getBody())->getOperands())
    if (Value input = findState(output, inputs))
      return "input '" + onnxir::getValueName(input).str() + "'";
  return "";
}

/// A greater share of weights that became zero is reported.
static constexpr double bearableZeros = 0.05;

void printAdvice(const PrecisionReport &report, const RunInfo &run,
                 raw_ostream &os) {
  if (run.isVerified || !report.nodesLow || report.work.trains)
    return;
  // Few weights have other types.
  double elements = double(run.before.weights) / sizeof(float);
  double zeros = elements > 0 ? double(report.elementsToZero) / elements : 0;
  std::string text;
  llvm::raw_string_ostream reason(text);
  if (zeros > bearableZeros)
    reason << llvm::format("%.0f %% of the weights are too small for ",
                           100 * zeros)
           << report.precision << " and became zero";
  if (!report.recurrentState.empty())
    reason << (text.empty() ? "" : "; ") << report.recurrentState
           << " carries a state, whose errors add up from step to step";
  if (!text.empty())
    printWrapped("try --verify=DATA, which runs the result: " + text, 0, os);
}

} // namespace mp
