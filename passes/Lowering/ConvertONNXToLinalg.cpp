//===- ConvertONNXToLinalg.cpp - The main graph as loops on tensors -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTONNXTOLINALG
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

struct ConvertONNXToLinalg
    : public mp::impl::ConvertONNXToLinalgBase<ConvertONNXToLinalg> {
  using ConvertONNXToLinalgBase::ConvertONNXToLinalgBase;

  void runOnOperation() override;
};

} // namespace

void ConvertONNXToLinalg::runOnOperation() {
  ONNXToLinalgOptions options;
  for (StringRef pair : dims) {
    auto [name, text] = pair.rsplit('=');
    int64_t extent = 0;
    if (name.empty() || text.getAsInteger(10, extent) || extent < 0) {
      getOperation().emitError("dim: found '")
          << pair << "', expected NAME=SIZE";
      return signalPassFailure();
    }
    options.dims[name] = extent;
  }
  options.excessPrecision = excessPrecision;
  options.gathersPools = gatherPools;
  if (failed(convertONNXToLinalg(getOperation(), options)))
    signalPassFailure();
}
