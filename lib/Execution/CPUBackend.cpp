//===- CPUBackend.cpp - Programs on the processor -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backends.h"
#include "LinkedCode.h"

#include "mp-opt/Runtime/CompiledCode.h"

#include <chrono>

using namespace mlir;

namespace mp {

/// The array for the times of this thread's current call.
static thread_local int64_t *currentTimes = nullptr;

/// The target of `runtime.stamp`. It is not in the run-time library because
/// code in files has no timestamps.
static void keepTime(int64_t number) {
  currentTimes[number] = std::chrono::steady_clock::now().time_since_epoch() /
                         std::chrono::nanoseconds(1);
}

namespace {
class CPUBackend : public Backend {
public:
  CPUBackend(const ModelInterface &interface, bool updateInPlace)
      : interface(interface), updatesInPlace(updateInPlace),
        kept(interface.numSlots) {}
  ~CPUBackend() override { mp_release_kept(kept.data(), kept.size()); }

  llvm::Error load(ProgramCode &program, int deviceNumber) override;
  int64_t getArenaBytes() const override { return interface.arenaBytes; }
  llvm::Error run(ArrayRef<Tensor> inputs, int64_t number,
                  SmallVectorImpl<Tensor> &results) override;
  ArrayRef<int64_t> getTimes() const override { return times; }

private:
  const ModelInterface &interface;
  bool updatesInPlace;
  /// Slots for values that calls keep.
  std::vector<void *> kept;
  LinkedCode code;
  mp_model entry = nullptr;
  std::vector<int64_t> times;
};
} // namespace

#ifdef __x86_64__
/// Functions of the compiler's run-time library for conversions that the
/// processor has no instruction for.
#define MP_CONVERSIONS(X) X(__extendhfsf2) X(__truncsfhf2) X(__truncdfhf2)
#define MP_DECLARE(NAME) extern "C" void NAME();
MP_CONVERSIONS(MP_DECLARE)
#undef MP_DECLARE
#else
#define MP_CONVERSIONS(X)
#endif

/// Defines the symbols that code refers to: functions of the library and
/// constants. If this is part of a shared library, its own dependencies may not
/// be globally visible.
static LinkedCode::Symbols getSymbols(ArrayRef<Tensor> constants) {
  LinkedCode::Symbols symbols;
#define MP_CODE_FUNCTION(NAME)                                                 \
  symbols.emplace_back(#NAME, reinterpret_cast<const void *>(&NAME));
#include "mp-opt/Runtime/Functions.def"
#define MP_CONVERSION(NAME)                                                    \
  symbols.emplace_back(#NAME, reinterpret_cast<const void *>(&NAME));
  MP_CONVERSIONS(MP_CONVERSION)
#undef MP_CONVERSION
  symbols.emplace_back("mp_stamp", reinterpret_cast<const void *>(&keepTime));
  for (auto [index, constant] : llvm::enumerate(constants))
    symbols.emplace_back(("mp_constant_" + Twine(index)).str(),
                         constant.getData());
  return symbols;
}

llvm::Error CPUBackend::load(ProgramCode &program, int) {
  times.resize(program.kernels.size() + 1);
  if (llvm::Error error = code.link(std::move(program.objects),
                                    getSymbols(interface.constants)))
    return error;
  auto main = code.find("main");
  if (!main)
    return main.takeError();
  entry = reinterpret_cast<mp_model>(*main);
  return llvm::Error::success();
}

llvm::Error CPUBackend::run(ArrayRef<Tensor> inputs, int64_t number,
                            SmallVectorImpl<Tensor> &results) {
  std::vector<mp_tensor> arguments(inputs.size());
  for (auto [index, input] : llvm::enumerate(inputs))
    arguments[index] = {input.getData(),
                        const_cast<int64_t *>(input.getSizes().data())};
  std::vector<mp_tensor> memory(interface.outputs.size());
  std::vector<SmallVector<int64_t, 4>> sizes;
  for (const ProgramValue &output : interface.outputs)
    sizes.push_back(output.sizes);
  for (unsigned index = 0; index < memory.size(); ++index)
    memory[index] = {nullptr, sizes[index].data()};
  currentTimes = times.data();
  if (mp_call(entry, arguments.data(), memory.data(), number, kept.data()) !=
      MP_OK)
    return llvm::createStringError(mp_last_error());
  results.clear();
  for (auto [index, output] : llvm::enumerate(interface.outputs)) {
    if (updatesInPlace && output.state >= 0) {
      results.push_back(inputs[output.state]);
      continue;
    }
    std::shared_ptr<void> owner(memory[index].data, mp_release);
    results.push_back(
        Tensor(output.kind, sizes[index], memory[index].data, owner));
  }
  return llvm::Error::success();
}

std::unique_ptr<Backend> createCPUBackend(const ModelInterface &interface,
                                          bool updateInPlace) {
  return std::make_unique<CPUBackend>(interface, updateInPlace);
}

} // namespace mp
