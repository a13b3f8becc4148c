//===- Modules.cpp - Kernels of the emulated device -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace mp::emulation;

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

static int32_t addKernels(Module &module, const mp_emulated_kernel *kernels,
                          uint64_t count) {
  for (uint64_t index = 0; index < count; ++index)
    module.functions.emplace(kernels[index].name, Function{&kernels[index]});
  return 0;
}

/// The number of occurrences of `word` in `text`.
static uint32_t count(const std::string &text, const std::string &word) {
  uint32_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + word.size()))
    ++found;
  return found;
}

/// Checks that each entry of PTX is a kernel of the library with the same
/// number of parameters.
static int32_t checkEntries(Module &module, const std::string &ptx) {
  static const std::string entry = ".visible .entry ";
  std::map<std::string, Function> used;
  for (size_t at = ptx.find(entry); at != std::string::npos;
       at = ptx.find(entry, at + 1)) {
    size_t begin = at + entry.size(), end = ptx.find('(', begin);
    size_t close = end == std::string::npos ? end : ptx.find(')', end);
    if (close == std::string::npos)
      return complain(MP_CUDA_INVALID_IMAGE, "PTX ends within an entry");
    std::string name = ptx.substr(begin, end - begin);
    auto found = module.functions.find(name);
    if (found == module.functions.end())
      return complain(MP_CUDA_INVALID_IMAGE, "there is no emulated '%s'",
                      name.c_str());
    uint32_t parameters = count(ptx.substr(end, close - end), ".param ");
    if (parameters != found->second.kernel->parameters)
      return complain(MP_CUDA_INVALID_IMAGE,
                      "'%s' has %u parameters in PTX, %u if emulated",
                      name.c_str(), parameters,
                      found->second.kernel->parameters);
    used.insert(*found);
  }
  module.functions = std::move(used);
  return 0;
}

/// Checks that the device is supported by the target of the PTX.
static int32_t checkTarget(const mp_emulated_device &device,
                           const char *image) {
  static const char word[] = ".target sm_";
  const char *target = std::strstr(image, word);
  if (!target)
    return 0;
  char *end = nullptr;
  long architecture = std::strtol(target + sizeof(word) - 1, &end, 10);
  long capability = 10 * device.major + device.minor;
  bool isSpecific = *end == 'a';
  writeLog("  PTX for sm_%ld%s", architecture, isSpecific ? "a" : "");
  if (isSpecific ? capability == architecture : capability >= architecture)
    return 0;
  return complain(MP_CUDA_NO_BINARY_FOR_GPU,
                  "PTX for sm_%ld%s, but the device is sm_%ld", architecture,
                  isSpecific ? "a" : "", capability);
}

static int32_t loadPTX(Module &module, const mp_emulated_device &device,
                       const char *image) {
  if (!std::strstr(image, ".version"))
    return complain(MP_CUDA_INVALID_IMAGE, "the image is not PTX");
  if (int32_t error = checkTarget(device, image))
    return error;
  const char *path = std::getenv("MPOPT_EMULATED_KERNELS");
  module.library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!module.library)
    return complain(MP_CUDA_INVALID_IMAGE, "%s",
                    path ? dlerror() : "MPOPT_EMULATED_KERNELS is not set");
  auto *kernels = static_cast<const mp_emulated_kernel *>(
      dlsym(module.library, "mp_emulated_kernels"));
  auto *number = static_cast<const uint32_t *>(
      dlsym(module.library, "mp_emulated_kernel_count"));
  if (!kernels || !number)
    return complain(MP_CUDA_INVALID_IMAGE, "%s has no table of kernels", path);
  addKernels(module, kernels, *number);
  return checkEntries(module, image);
}

int32_t MP_EMULATED(cuModuleLoadDataEx)(void **result, const void *image,
                                        uint32_t numOptions, int32_t *,
                                        void **) {
  Call call(Call::Context, "cuModuleLoadDataEx with %u options", numOptions);
  if (call.error)
    return call.error;
  if (call.state.isRecording())
    return checkQuiet(call.state, "cuModuleLoadDataEx");
  auto module = std::make_unique<Module>();
  const auto *text = static_cast<const char *>(image);
  const auto *emulated = static_cast<const mp_emulated_image *>(image);
  int32_t error =
      std::strncmp(text, MP_EMULATED_MARK, sizeof(MP_EMULATED_MARK)) == 0
          ? addKernels(*module, emulated->kernels, emulated->count)
          : loadPTX(*module, call.state.device, text);
  if (error) {
    if (module->library)
      dlclose(module->library);
    return error;
  }
  *result = module.get();
  call.state.modules[module.get()] = std::move(module);
  return 0;
}

int32_t MP_EMULATED(cuModuleUnload)(void *handle) {
  Call call(Call::Context, "cuModuleUnload");
  if (call.error && call.error != call.state.sticky)
    return call.error;
  auto found = call.state.modules.find(static_cast<Module *>(handle));
  if (found == call.state.modules.end())
    return complain(MP_CUDA_INVALID_HANDLE, "there is no such module");
  if (!call.error)
    if (int32_t error = checkQuiet(call.state, "cuModuleUnload"))
      return error;
  if (found->second->library)
    dlclose(found->second->library);
  call.state.modules.erase(found);
  return call.error;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Function *State::findFunction(void *handle) {
  for (auto &module : modules)
    for (auto &entry : module.second->functions)
      if (&entry.second == handle)
        return &entry.second;
  complain(MP_CUDA_INVALID_HANDLE, "there is no such function");
  return nullptr;
}

int32_t MP_EMULATED(cuModuleGetFunction)(void **function, void *handle,
                                         const char *name) {
  Call call(Call::Context, "cuModuleGetFunction %s", name);
  if (call.error)
    return call.error;
  auto module = call.state.modules.find(static_cast<Module *>(handle));
  if (module == call.state.modules.end())
    return complain(MP_CUDA_INVALID_HANDLE, "there is no such module");
  auto found = module->second->functions.find(name);
  if (found == module->second->functions.end())
    return complain(MP_CUDA_NOT_FOUND, "the module has no kernel '%s'", name);
  *function = &found->second;
  return 0;
}

int32_t MP_EMULATED(cuFuncSetAttribute)(void *handle, int32_t attribute,
                                        int32_t value) {
  Call call(Call::Context, "cuFuncSetAttribute %d = %d", attribute, value);
  if (call.error)
    return call.error;
  Function *function = call.state.findFunction(handle);
  if (!function)
    return MP_CUDA_INVALID_HANDLE;
  if (attribute != MP_CUDA_FUNCTION_SHARED)
    return complain(MP_CUDA_INVALID_VALUE, "unknown attribute %d", attribute);
  if (value < 0 ||
      uint64_t(value) + function->kernel->static_shared > maxOptInShared)
    return complain(
        MP_CUDA_INVALID_VALUE,
        "%s: %d bytes of shared memory in addition to %u are too many",
        function->kernel->name, value, function->kernel->static_shared);
  function->dynamicShared = static_cast<uint32_t>(value);
  return 0;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

using Sizes = std::array<uint32_t, 3>;

static int32_t checkSizes(const mp_emulated_kernel &kernel, const Sizes &grid,
                          const Sizes &block) {
  for (int axis = 0; axis < 3; ++axis) {
    uint32_t most = axis == 0 ? INT32_MAX : 65535;
    if (!grid[axis] || grid[axis] > most)
      return complain(MP_CUDA_INVALID_VALUE,
                      "%s: a grid of %u x %u x %u blocks", kernel.name, grid[0],
                      grid[1], grid[2]);
  }
  uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
  uint64_t most = kernel.max_threads ? kernel.max_threads : 1024;
  bool isOther = kernel.block[0] &&
                 (kernel.block[0] != block[0] || kernel.block[1] != block[1] ||
                  kernel.block[2] != block[2]);
  if (!threads || threads > most || block[0] > 1024 || block[1] > 1024 ||
      block[2] > 64 || isOther)
    return complain(MP_CUDA_INVALID_VALUE,
                    "%s: a block of %u x %u x %u threads, which it is not made "
                    "for",
                    kernel.name, block[0], block[1], block[2]);
  return 0;
}

static int32_t checkShared(const Function &function, uint32_t bytes) {
  const mp_emulated_kernel &kernel = *function.kernel;
  // Without the attribute, `commonShared` limits static and dynamic memory
  // together.
  uint64_t all = uint64_t(bytes) + kernel.static_shared;
  bool isAskedFor = function.dynamicShared != commonShared;
  if (bytes > function.dynamicShared || (!isAskedFor && all > commonShared))
    return complain(MP_CUDA_INVALID_VALUE,
                    "%s: %u bytes of shared memory were not asked for by "
                    "cuFuncSetAttribute",
                    kernel.name, bytes);
  return 0;
}

/// Copies the parameters, all of which are pointers into the device's memory.
static int32_t copyParameters(const State &state,
                              const mp_emulated_kernel &kernel,
                              void **parameters,
                              std::vector<mp_device_address> &copies) {
  for (uint32_t index = 0; index < kernel.parameters; ++index) {
    mp_device_address address;
    std::memcpy(&address, parameters[index], sizeof(address));
    if (!state.memory.getBytesBehind(address))
      return complain(MP_CUDA_INVALID_VALUE,
                      "%s: parameter %u points to no memory of the device",
                      kernel.name, index);
    copies.push_back(address);
  }
  return 0;
}

/// Only the first launches of a kernel are checked for races: checks take most
/// of their time, and later launches use shared memory in the same way.
static mp_emulated_kernel chooseChecks(const Function &function) {
  constexpr uint64_t checkedLaunches = 2;
  mp_emulated_kernel kernel = *function.kernel;
  if ((*function.launches)++ >= checkedLaunches)
    kernel.flags &= ~uint32_t(MP_EMULATED_CHECKED);
  return kernel;
}

static int32_t runKernel(State &state, const Function &function,
                         const Sizes &grid, const Sizes &block, uint32_t shared,
                         std::vector<mp_device_address> addresses) {
  mp_emulated_kernel kernel = chooseChecks(function);
  std::vector<void *> pointers;
  for (mp_device_address &address : addresses)
    pointers.push_back(&address);
  pointers.push_back(nullptr);
  writeLog("  runs %s", kernel.name);
  if (mp_emulate_launch(&kernel, grid.data(), block.data(), shared,
                        pointers.data()))
    return complain(MP_CUDA_LAUNCH_FAILED, "%s", mp_emulation_error());
  if (!state.memory.isWhole())
    return complain(MP_CUDA_LAUNCH_FAILED,
                    "%s has written past the end of memory", kernel.name);
  return 0;
}

int32_t MP_EMULATED(cuLaunchKernel)(void *handle, uint32_t gridX,
                                    uint32_t gridY, uint32_t gridZ,
                                    uint32_t blockX, uint32_t blockY,
                                    uint32_t blockZ, uint32_t shared,
                                    void *stream, void **parameters,
                                    void **extra) {
  Call call(Call::Context, "cuLaunchKernel");
  if (call.error)
    return call.error;
  Function *function = call.state.findFunction(handle);
  if (!function)
    return MP_CUDA_INVALID_HANDLE;
  const mp_emulated_kernel &kernel = *function->kernel;
  writeLog("  %s grid %ux%ux%u block %ux%ux%u shared %u", kernel.name, gridX,
           gridY, gridZ, blockX, blockY, blockZ, shared);
  Sizes grid = {gridX, gridY, gridZ}, block = {blockX, blockY, blockZ};
  if (extra)
    return complain(MP_CUDA_INVALID_VALUE, "%s: found extra parameters",
                    kernel.name);
  int32_t error = checkSizes(kernel, grid, block);
  error = error ? error : checkShared(*function, shared);
  std::vector<mp_device_address> copies;
  error =
      error ? error : copyParameters(call.state, kernel, parameters, copies);
  if (error)
    return error;
  State &state = call.state;
  return add(state, stream, [=, &state, function = *function] {
    return runKernel(state, function, grid, block, shared, copies);
  });
}
