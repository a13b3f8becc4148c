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

/// True if the names of an output and an input are those of a state before and
/// after a call: "stateN" and "state", "h_out" and "h".
static bool isNextName(StringRef next, StringRef name) {
  if (name.empty() || !next.consume_front(name))
    return false;
  static constexpr StringLiteral endings[] = {"n", "next", "new", "out",
                                              "output"};
  return llvm::is_contained(endings, next.ltrim("_./-").lower());
}

/// True if a caller feeds the output back to the input.
static bool isNextOf(Value output, Value input) {
  auto to = dyn_cast<RankedTensorType>(output.getType()),
       from = dyn_cast<RankedTensorType>(input.getType());
  return to && from && to.getRank() == from.getRank() && to.getRank() > 1 &&
         isa<FloatType>(to.getElementType()) &&
         to.getElementType() == from.getElementType() &&
         isNextName(onnxir::getValueName(output), onnxir::getValueName(input));
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
  for (Value output : getYield(graph.getBody())->getOperands())
    for (BlockArgument input : graph.getBody().getArguments())
      if (isNextOf(output, input))
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
