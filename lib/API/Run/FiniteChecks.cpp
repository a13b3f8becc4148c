//===- FiniteChecks.cpp - Finds nodes with non-finite results -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/FiniteChecks.h"

#include "mp-opt/API/Model/DataRules.h"
#include "mp-opt/API/Run/Session.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Training/Distribution.h"

#include "Graph/Passes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Adds an output that is zero if the value is finite or, for scores, if none
/// is NaN.
static Value addCheck(Value value, NodeBuilder &b) {
  Type f32 = Float32Type::get(value.getContext());
  b.setInsertionPointAfter(value.getDefiningOp());
  b.setBase("is_finite");
  Value wide = b.castTo(value, f32);
  Value wrong = reachesSoftmax(value) ? b.castTo(b.create("IsNaN", {wide}), f32)
                                      : b.scale(wide, 0);
  return b.reduceSum(wrong, {}, /*keepDims=*/false);
}

void FiniteChecks::addChecks(ModuleOp module) {
  GraphOp graph = getMainGraph(module);
  GraphEditor editor(graph);
  llvm::StringMap<Value> byName;
  for (Operation &op : editor.getBlock())
    for (Value result : op.getResults())
      byName[getValueName(result)] = result;
  NodeBuilder builder(module);
  SmallVector<Value> checks;
  for (InnerValue &value : getInnerValues(module)) {
    checks.push_back(addCheck(byName.lookup(value.name), builder));
    values.push_back(std::move(value));
  }
  YieldOp yield = editor.getYield();
  unsigned others = yield->getNumOperands();
  editor.addOutputs(checks);
  auto described = yield->getAttrOfType<ArrayAttr>(attr::outputs);
  yield->setAttr(attr::outputs,
                 ArrayAttr::get(module.getContext(),
                                described.getValue().drop_front(others)));
  yield->setOperands(checks);
}

llvm::Expected<std::unique_ptr<FiniteChecks>>
FiniteChecks::create(std::unique_ptr<Model> model, ArrayRef<NamedTensor> inputs,
                     const CompileOptions &given) {
  std::unique_ptr<FiniteChecks> checks(new FiniteChecks());
  if (llvm::Error failed = model->runPasses([](PassManager &manager) {
        manager.addPass(createInlineFunctions());
      }))
    return failed;
  removeReductions(model->getModule());
  checks->addChecks(model->getModule());
  CompileOptions compile = given;
  compile.updateInPlace = compile.keepReductions = false;
  compile.cache = nullptr;
  for (const auto &[name, tensor] : inputs)
    compile.inputSizes[name] = llvm::to_vector(tensor.getSizes());
  auto program = model->compile(compile);
  if (!program)
    return program.takeError();
  checks->program = std::move(*program);
  checks->model = std::move(model);
  return checks;
}

llvm::Expected<std::vector<unsigned>>
FiniteChecks::run(ArrayRef<NamedTensor> inputs, int64_t number) {
  auto outputs = runByName(*program, inputs, number);
  if (!outputs)
    return outputs.takeError();
  std::vector<unsigned> found;
  for (auto [place, output] : llvm::enumerate(*outputs))
    if (output.toDoubles().front() != 0)
      found.push_back(unsigned(place));
  return found;
}

Tensor FiniteChecks::getDefault(StringRef name) const {
  for (auto [place, input] : llvm::enumerate(program->getInputs()))
    if (input.name == name)
      return program->getDefault(unsigned(place));
  return Tensor();
}

} // namespace mp
