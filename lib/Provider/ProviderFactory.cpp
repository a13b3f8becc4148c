//===- ProviderFactory.cpp - Providers for sessions -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two functions that onnxruntime looks for in a library of providers.
//
//===----------------------------------------------------------------------===//

#include "Provider.h"

namespace mp::ort {

/// Memory is the processor's, which onnxruntime allocates.
static void setMemoryFunctions(EpFactory &factory) {
  factory.createAllocator = [](EpFactory *, const MemoryInfo *,
                               const KeyValuePairs *,
                               Allocator **allocator) -> Status * {
    *allocator = nullptr;
    return nullptr;
  };
  factory.releaseAllocator = [](EpFactory *, Allocator *) {};
  factory.createDataTransfer = [](EpFactory *,
                                  DataTransfer **transfer) -> Status * {
    *transfer = nullptr;
    return nullptr;
  };
  factory.isStreamAware = [](const EpFactory *) { return false; };
  factory.createSyncStream = [](EpFactory *, const MemoryDevice *,
                                const KeyValuePairs *,
                                SyncStream **stream) -> Status * {
    *stream = nullptr;
    return nullptr;
  };
}

ProviderFactory::ProviderFactory(const ApiBase &base) : api(base) {
  EpFactory::getName = [](const EpFactory *) { return providerName; };
  EpFactory::getVendor = [](const EpFactory *) { return providerName; };
  EpFactory::getVendorId = [](const EpFactory *) { return uint32_t(0); };
  EpFactory::getVersion = [](const EpFactory *) -> const char * {
    return MPOPT_VERSION;
  };
  EpFactory::getSupportedDevices = [](EpFactory *self,
                                      const HardwareDevice *const *hardware,
                                      size_t numHardware, Device **devices,
                                      size_t maxDevices, size_t *numDevices) {
    auto *own = static_cast<ProviderFactory *>(self);
    return own->api.guard(errorEP, [&] {
      own->findDevices(hardware, numHardware, devices, maxDevices, numDevices);
    });
  };
  EpFactory::createEp = [](EpFactory *self, const HardwareDevice *const *,
                           const KeyValuePairs *const *, size_t,
                           const SessionOptions *session, const Logger *logger,
                           Ep **ep) {
    auto *own = static_cast<ProviderFactory *>(self);
    *ep = nullptr;
    return own->api.guard(errorInvalidArgument, [&] {
      *ep = new Provider(own->api, session, logger);
    });
  };
  EpFactory::releaseEp = [](EpFactory *, Ep *ep) {
    delete static_cast<Provider *>(ep);
  };
  setMemoryFunctions(*this);
}

void ProviderFactory::findDevices(const HardwareDevice *const *hardware,
                                  size_t numHardware, Device **devices,
                                  size_t maxDevices, size_t *numDevices) {
  *numDevices = 0;
  for (size_t index = 0; index < numHardware; ++index)
    if (*numDevices < maxDevices &&
        api.HardwareDevice_Type(hardware[index]) == deviceCPU)
      devices[(*numDevices)++] =
          api.get<Device *>(api.CreateEpDevice, static_cast<EpFactory *>(this),
                            hardware[index], nullptr, nullptr);
}

} // namespace mp::ort

using namespace mp::ort;

extern "C" {

__attribute__((visibility("default"))) Status *
CreateEpFactories(const char *, const ApiBase *base, const Logger *,
                  EpFactory **factories, size_t maxFactories,
                  size_t *numFactories) {
  *numFactories = 0;
  try {
    if (maxFactories < 1)
      return Api::makeStatus(*base, "mp-opt: no place for its factory");
    factories[0] = new ProviderFactory(*base);
    *numFactories = 1;
    return nullptr;
  } catch (const std::exception &thrown) {
    return Api::makeStatus(*base, thrown.what());
  }
}

__attribute__((visibility("default"))) Status *
ReleaseEpFactory(EpFactory *factory) {
  delete static_cast<ProviderFactory *>(factory);
  return nullptr;
}

} // extern "C"
