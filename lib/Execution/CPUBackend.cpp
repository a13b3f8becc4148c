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
#include <cstring>
#include <optional>

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
                  SmallVectorImpl<Tensor> &results,
                  MeanwhileFn meanwhile) override;
  llvm::Error runInto(ArrayRef<Tensor> inputs, int64_t number,
                      OutputMemoryFn place) override;
  ArrayRef<int64_t> getTimes() const override { return times; }

private:
  struct Outputs;
  llvm::Error call(ArrayRef<Tensor> inputs, int64_t number, Outputs &outputs);

  const ModelInterface &interface;
  bool updatesInPlace;
  /// Slots for values that calls keep.
  std::vector<void *> kept;
  LinkedCode code;
  mp_model entry = nullptr;
  std::vector<int64_t> times;
};

/// The outputs of one call.
struct CPUBackend::Outputs {
  explicit Outputs(const ModelInterface &interface)
      : memory(interface.outputs.size()) {
    for (const ProgramValue &output : interface.outputs)
      sizes.push_back(output.sizes);
    for (auto [entry, list] : llvm::zip(memory, sizes))
      entry = {nullptr, list.data()};
  }

  std::vector<SmallVector<int64_t, 4>> sizes;
  std::vector<mp_tensor> memory;
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

llvm::Error CPUBackend::call(ArrayRef<Tensor> inputs, int64_t number,
                             Outputs &outputs) {
  SmallVector<mp_tensor, 16> arguments;
  for (const Tensor &input : inputs)
    arguments.push_back(
        {input.getData(), const_cast<int64_t *>(input.getSizes().data())});
  currentTimes = times.data();
  if (mp_call(entry, arguments.data(), outputs.memory.data(), number,
              kept.data()) != MP_OK)
    return llvm::createStringError(mp_last_error());
  return llvm::Error::success();
}

llvm::Error CPUBackend::run(ArrayRef<Tensor> inputs, int64_t number,
                            SmallVectorImpl<Tensor> &results, MeanwhileFn) {
  Outputs outputs(interface);
  if (llvm::Error error = call(inputs, number, outputs))
    return error;
  results.clear();
  for (auto [index, output] : llvm::enumerate(interface.outputs)) {
    if (updatesInPlace && output.state >= 0) {
      results.push_back(inputs[output.state]);
      continue;
    }
    void *data = outputs.memory[index].data;
    std::shared_ptr<void> owner(data, mp_release);
    results.push_back(Tensor(output.kind, outputs.sizes[index], data, owner));
  }
  return llvm::Error::success();
}

/// The place of an output without elements: compiled code allocates memory for
/// null.
static int64_t emptyOutput;

llvm::Error CPUBackend::runInto(ArrayRef<Tensor> inputs, int64_t number,
                                OutputMemoryFn place) {
  if (updatesInPlace)
    return Backend::runInto(inputs, number, place);
  Outputs outputs(interface);
  auto getPlace = [&](unsigned index) -> void * {
    std::optional<int64_t> bytes = getByteCount(
        outputs.sizes[index], getElementBytes(interface.outputs[index].kind));
    void *memory = place(index, outputs.sizes[index]);
    return bytes && *bytes ? memory : &emptyOutput;
  };
  auto missing = [](unsigned index) {
    return llvm::createStringError("output " + Twine(index) + " has no memory");
  };
  SmallVector<unsigned> late;
  for (unsigned index = 0; index < outputs.memory.size(); ++index) {
    if (llvm::any_of(outputs.sizes[index], [](int64_t s) { return s < 0; }))
      late.push_back(index);
    else if (!(outputs.memory[index].data = getPlace(index)))
      return missing(index);
  }
  if (llvm::Error error = call(inputs, number, outputs))
    return error;
  SmallVector<Tensor> results;
  for (unsigned index : late) {
    void *data = outputs.memory[index].data;
    std::shared_ptr<void> owner(data, mp_release);
    results.push_back(Tensor(interface.outputs[index].kind,
                             outputs.sizes[index], data, owner));
  }
  for (auto [index, result] : llvm::zip(late, results)) {
    void *memory = getPlace(index);
    if (!memory)
      return missing(index);
    if (memory != &emptyOutput)
      std::memcpy(memory, result.getData(), result.getNumBytes());
  }
  return llvm::Error::success();
}

std::unique_ptr<Backend> createCPUBackend(const ModelInterface &interface,
                                          bool updateInPlace) {
  return std::make_unique<CPUBackend>(interface, updateInPlace);
}

} // namespace mp
