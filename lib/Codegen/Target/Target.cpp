//===- Target.cpp - The target of code ------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Target/Target.h"

#include "mp-opt/Support/Nearest.h"

using namespace llvm;

namespace mp {

ArrayRef<StringRef> getKernelWords() {
  static constexpr StringRef words[] = {"auto", "direct", "widen", "dot",
                                        "amx"};
  return words;
}

Expected<KernelChoice> parseKernels(StringRef word) {
  if (word == "auto" || word == "direct")
    return KernelChoice{std::nullopt, word == "direct"};
  if (std::optional<Products> products = symbolizeProducts(word))
    return KernelChoice{products, false};
  return createStringError("expected auto, direct, widen, dot or amx, got '" +
                           word + "'" + suggestNearest(word, getKernelWords()));
}

std::optional<InstructionSet>
getInstructionSet(const Triple &triple,
                  function_ref<bool(StringRef feature)> has) {
  if (triple.getArch() == Triple::aarch64)
    return InstructionSet::Neon;
  if (triple.getArch() != Triple::x86_64)
    return std::nullopt;
  return has("avx512f") && has("avx512bw") && has("avx512vl")
             ? InstructionSet::AVX512
             : InstructionSet::AVX2;
}

Expected<Target> makeTarget(InstructionSet isa, const KernelChoice &choice) {
  Products products = choice.products.value_or(Products::Widen);
  if (products != Products::Widen && isa != InstructionSet::AVX512)
    return createStringError("--kernels=" + stringifyProducts(products) +
                             " needs a processor with AVX-512");
  return Target{isa, products, choice.isDirect};
}

Target Target::get(mlir::Operation *op) {
  auto module = dyn_cast<mlir::ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<mlir::ModuleOp>();
  TargetAttr target = module ? getTarget(module) : TargetAttr();
  if (!target)
    return Target();
  return {target.getIsa(), target.getProducts(), target.getIsDirect()};
}

TargetNumbers getNumbers(const Target &target) {
  TargetNumbers numbers;
  switch (target.isa) {
  case InstructionSet::AVX2:
    numbers.vectorBytes = 32;
    numbers.tileRows = 6;
    numbers.tileVectors = 2;
    break;
  case InstructionSet::AVX512:
    numbers.blocks.mc = 1024;
    numbers.blocks.kc = 512;
    break;
  case InstructionSet::Neon:
    numbers.vectorBytes = 16;
    break;
  }
  return numbers;
}

} // namespace mp
