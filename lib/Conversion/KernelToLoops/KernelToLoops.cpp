//===- KernelToLoops.cpp - Kernels for contractions -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Conversion/KernelToLoops.h"
#include "Blocked.h"
#include "Outline.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace mlir;

namespace mp::kernel {

/// Whether this process may use tile registers; Linux wants to be asked.
static bool mayUseTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

/// The instruction set and the form that suit the processor this runs on.
static std::pair<StringRef, StringRef> getHost() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (llvm::Triple(llvm::sys::getProcessTriple()).isAArch64())
    return {"neon", "widen"};
  if (!features.lookup("avx512f") || !features.lookup("avx512bw") ||
      !features.lookup("avx512vl"))
    return {"avx2", "widen"};
  if (features.lookup("amx-bf16") && mayUseTiles())
    return {"avx512", "amx"};
  // Zen 4 and its successors multiply pairs of bf16 at the rate of f32; where
  // Intel's processors have no tile registers, at half of it.
  bool fastPairs = features.lookup("avx512bf16") &&
                   llvm::sys::getHostCPUName().starts_with("znver");
  return {"avx512", fastPairs ? "dot" : "widen"};
}

std::optional<KernelTarget> getKernelTarget(StringRef isa, StringRef form) {
  KernelTarget target;
  if (isa == "native") {
    auto [hostIsa, hostForm] = getHost();
    isa = hostIsa;
    form = form == "auto" ? hostForm : form;
  }
  if (isa == "avx2") {
    target.vectorBytes = 32;
    target.rows = 6;
    target.columnVectors = 2;
  } else if (isa == "neon") {
    target.vectorBytes = 16;
    target.rows = 8;
  } else if (isa == "avx512") {
    target.depth = 384;
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
  if (target.form == Form::Amx)
    target.depth = 512;
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
  for (ContractOp op : outlineContracts(module)) {
    Emitter e(op.getLoc(), op);
    emitBlocked(e, op, target);
    op.erase();
  }
  return success();
}

} // namespace mp::kernel
