//===- CodeFlags.cpp - What the command line says of code -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeFlags.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral help =
    R"(mp-opt --emit=lib: code for a processor

usage: mp-opt INPUT --emit=lib -o libnet.so [--mixed-bf16 | --mixed-fp16] ...
       mp-opt INPUT --emit=obj -o net.o ...
       mp-opt INPUT --emit=llvm [-o net.ll] ...

A library stands alone; an object file is linked with mp-opt's run-time library
(libMPOptRuntime.a), libm and pthreads. Beside either goes a C header, net.h,
that names the inputs and outputs and declares

    int32_t net_run(const mp_tensor *inputs, mp_tensor *outputs);

  --target=TRIPLE       system, as in aarch64-linux-gnu (default: this one)
  --cpu=NAME            processor, as in x86-64-v4, znver4, neoverse-v1 (default:
                        this one; for another system a common one)
  --dim=NAME=SIZE,...   sizes of symbolic dimensions; code for known sizes is
                        faster
  --kernels=FORM        how 16-bit operands are multiplied: widen, dot, amx, or
                        what is fast on the processor, auto (default); direct:
                        as auto, with convolutions summed up as they are (no
                        Winograd transforms)
  --in-place            the next values of states (weights of a training step)
                        are written over them
  --symbols=PREFIX      instead of net, which is from the output's name
  --cc=PROGRAM          links libraries (default: cc, or TRIPLE-gcc)
  --runtime=FILE        libMPOptRuntime.a for --target

Example:
  mp-opt net.onnx --mixed-bf16 --emit=lib --dim=batch=1 -o libnet.so
  cc main.c -L. -lnet -o main
)";

void printCodeHelp() { outs() << help; }

void CodeFlags::addTo(FlagSet &flags, CodeOptions &options) {
  flags.add("target", options.target.triple, "system that code is made for",
            "triple");
  flags.add("cpu", options.target.cpu, "processor that code is made for",
            "name");
  flags.add("kernels", kernels, "how 16-bit operands are multiplied");
  flags.add("in-place", options.inPlace, "write next states over their inputs");
  flags.add("symbols", options.symbols, "start of names in C", "prefix");
  flags.add("cc", options.linker, "links libraries", "program");
  flags.add("runtime", options.runtime, "run-time library of another target",
            "file");
}

Error CodeFlags::check(const FlagSet &flags, CodeOptions &options,
                       bool isCode) const {
  StringRef given = flags.findGiven(
      {"target", "cpu", "kernels", "in-place", "symbols", "cc", "runtime"});
  if (!isCode && !given.empty())
    return createStringError("--" + given + " needs --emit=llvm, obj or lib");
  Expected<KernelChoice> choice = parseKernels(kernels);
  if (!choice)
    return createStringError("--kernels: " + toString(choice.takeError()));
  options.kernels = *choice;
  if (flags.isGiven("symbols") && options.symbols != getCName(options.symbols))
    return createStringError("--symbols: expected the start of a name of C, "
                             "found '" +
                             options.symbols + "'");
  const std::pair<StringRef, StringRef> values[] = {
      {"target", options.target.triple},
      {"cpu", options.target.cpu},
      {"cc", options.linker},
      {"runtime", options.runtime}};
  for (auto [flag, value] : values)
    if (flags.isGiven(flag) && value.empty())
      return createStringError("--" + flag + ": expected a value");
  return Error::success();
}

} // namespace mp
