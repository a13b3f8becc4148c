//===- SetTarget.cpp - Say what code is made for --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Target/Target.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_SETTARGET
#include "Lowering/Passes.h.inc"

namespace {
struct SetTarget : public impl::SetTargetBase<SetTarget> {
  using SetTargetBase::SetTargetBase;

  void runOnOperation() override {
    auto fail = [&](const llvm::Twine &message) {
      getOperation().emitError() << message;
      signalPassFailure();
    };
    std::optional<InstructionSet> known = symbolizeInstructionSet(isa);
    if (!known)
      return fail("isa: expected avx2, avx512 or neon, got '" + isa + "'");
    llvm::Expected<KernelChoice> choice = parseKernels(kernels);
    if (!choice)
      return fail("kernels: " + toString(choice.takeError()));
    llvm::Expected<Target> target = makeTarget(*known, *choice);
    if (!target)
      return fail(toString(target.takeError()));
    getOperation()->setAttr(mark::target, target->getAttr(&getContext()));
  }
};
} // namespace
} // namespace mp
