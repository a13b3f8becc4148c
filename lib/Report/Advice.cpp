//===- Advice.cpp - When a result should be compared with its input -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most models bear 16 bit as profiles and analyses give it to them. Two kinds
// are worth a run on real data: errors of a recurrent state grow from call to
// call, and a number that has become zero is off by all of it.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/ReportForms.h"

#include "WorkForms.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// True for a cell that hands a state on from step to step, in 16 bit in part.
static bool isRecurrent(Operation *op) {
  if (!isStandardOp(op, "LSTM") && !isStandardOp(op, "GRU") &&
      !isStandardOp(op, "RNN"))
    return false;
  return llvm::any_of(op->getOperandTypes(), is16BitTensor) ||
         llvm::any_of(op->getResultTypes(), is16BitTensor);
}

/// True if a caller feeds the output back: "state" and "stateN", "h" and
/// "h_out", of one rank and type.
static bool isNextOf(Value output, Value input) {
  auto to = dyn_cast<RankedTensorType>(output.getType()),
       from = dyn_cast<RankedTensorType>(input.getType());
  StringRef name = onnxir::getValueName(input),
            next = onnxir::getValueName(output);
  return to && from && to.getRank() == from.getRank() && to.getRank() > 1 &&
         isa<FloatType>(to.getElementType()) &&
         to.getElementType() == from.getElementType() && next != name &&
         next.starts_with(name);
}

std::string findRecurrentState(ModuleOp module) {
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return "";
  std::string found;
  graph.walk([&](Operation *op) {
    if (!isRecurrent(op))
      return WalkResult::advance();
    // Without a name or a first output, only the operator tells.
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

/// The share of weights that became zero above which it is said.
static constexpr double bearableZeros = 0.05;

void printAdvice(const PrecisionReport &report, const RunInfo &run,
                 raw_ostream &os) {
  if (run.isVerified || !report.nodesLow || report.work.trains)
    return;
  // Weights of other types are few.
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
