//===- KernelToLoops.cpp - Kernels for contractions -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Conversion/KernelToLoops.h"
#include "Blocked.h"
#include "Host.h"
#include "Outline.h"
#include "Winograd.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mp::kernel {

std::optional<KernelTarget> getKernelTarget(StringRef isa, StringRef form) {
  KernelTarget target;
  if (form == "direct") {
    target.transforms = false;
    form = "auto";
  }
  if (isa == "native") {
    isa = getHostISA();
    form = form == "auto" ? getHostForm() : form;
  }
  if (isa == "avx2") {
    target.vectorBytes = 32;
    target.rows = 6;
    target.columnVectors = 2;
  } else if (isa == "neon") {
    target.vectorBytes = 16;
    target.rows = 8;
  } else if (isa == "avx512") {
    target.blocking.depth = 512;
    target.blocking.rows = 1024;
  } else {
    return std::nullopt;
  }
  auto parsed = llvm::StringSwitch<std::optional<Form>>(form)
                    .Cases({"auto", "widen"}, Form::Widen)
                    .Case("dot", Form::Dot)
                    .Case("amx", Form::Amx)
                    .Default(std::nullopt);
  // The instructions for bf16 come with AVX-512.
  if (!parsed || (*parsed != Form::Widen && isa != "avx512"))
    return std::nullopt;
  target.form = *parsed;
  return target;
}

LogicalResult convertContracts(ModuleOp module, const KernelTarget &target) {
  bool bufferized = true;
  module.walk([&](ContractOp op) {
    if (isa<MemRefType>(op.getC().getType()))
      return;
    op.emitError() << "expected a contraction of memrefs, got "
                   << op.getC().getType();
    bufferized = false;
  });
  if (!bufferized)
    return failure();
  for (ContractOp op : outlineContracts(module, target)) {
    Emitter e(op.getLoc(), op);
    if (!target.transforms ||
        !(emitWinograd(e, op, target) || emitWinogradWeights(e, op, target)))
      emitBlocked(e, op, target);
    op.erase();
  }
  return success();
}

} // namespace mp::kernel
