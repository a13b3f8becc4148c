//===- NCCL.cpp - Devices that reach each other ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceProcessGroup.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

/// Names a library to open instead.
static constexpr const char *ncclVariable = "MPOPT_NCCL_LIBRARY";

/// Opens the first library that is found. Packages of Python's index install
/// their libraries next to each other: mp_opt/bin/mp-run,
/// nvidia/nccl/lib/libnccl.so.2.
static void *openLibrary(std::string &name) {
  constexpr const char *usual = "libnccl.so.2";
  const char *given = std::getenv(ncclVariable);
  name = given && *given ? given : usual;
  // The library is never closed, since it has its own threads.
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library || name != usual)
    return library;
  std::string program =
      sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&openNCCL));
  SmallString<128> bundled = sys::path::parent_path(program);
  sys::path::append(bundled, "../../nvidia/nccl/lib", usual);
  library = dlopen(bundled.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library)
    name = bundled.str();
  else
    // Repeated, so that the error is that of the usual library.
    dlopen(usual, RTLD_NOW | RTLD_LOCAL);
  return library;
}

Expected<const mp_nccl *> openNCCL() {
  static mp_nccl found = {};
  std::string name;
  void *library = openLibrary(name);
  if (!library)
    return createStringError(Twine(dlerror()) + "; " + ncclVariable +
                             " may name one");
#define MP_NCCL_FUNCTION(NAME, PARAMETERS)                                     \
  found.NAME = reinterpret_cast<decltype(found.NAME)>(dlsym(library, #NAME));  \
  if (!found.NAME)                                                             \
    return createStringError(Twine(name) + " has no " #NAME);
#include "mp-opt/Runtime/NCCLFunctions.def"
  found.ncclGetErrorString =
      reinterpret_cast<decltype(found.ncclGetErrorString)>(
          dlsym(library, "ncclGetErrorString"));
  found.ncclGetLastError = reinterpret_cast<decltype(found.ncclGetLastError)>(
      dlsym(library, "ncclGetLastError"));
  if (!found.ncclGetErrorString)
    return createStringError(Twine(name) + " has no ncclGetErrorString");
  return &found;
}

std::string printNCCLVersion(int32_t version) {
  // Up to 2.8, minor versions had one digit.
  int32_t major = version < 10000 ? version / 1000 : version / 10000;
  int32_t minor =
      version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
  return (Twine(major) + "." + Twine(minor) + "." + Twine(version % 100)).str();
}

//===----------------------------------------------------------------------===//
// The start and the end
//===----------------------------------------------------------------------===//

namespace {
/// Makes the device's context current for the thread during its lifetime.
class Current {
public:
  Current(const mp_driver &driver, void *context)
      : driver(driver), error(driver.cuCtxPushCurrent_v2(context)) {}
  ~Current() {
    void *context;
    if (!error)
      driver.cuCtxPopCurrent_v2(&context);
  }

private:
  const mp_driver &driver;

public:
  const int32_t error;
};
} // namespace

DeviceProcessGroup::DeviceProcessGroup(const mp_nccl &nccl,
                                       const RankDevice &device,
                                       const ProcessGroupOptions &options,
                                       std::string who)
    : nccl(nccl), device(device), watchdog(options.timeout, std::move(who)) {
  functions.context = this;
  functions.is_wire_bf16 = options.isWireBF16;
  functions.exchange = [](void *context, mp_device_address shards,
                          mp_device_address from, uint64_t bytes,
                          void *stream) {
    return static_cast<DeviceProcessGroup *>(context)->allToAll(shards, from,
                                                                bytes, stream);
  };
  functions.gather = [](void *context, mp_device_address own,
                        mp_device_address all, uint64_t bytes, void *stream) {
    return static_cast<DeviceProcessGroup *>(context)->allGather(own, all,
                                                                 bytes, stream);
  };
  functions.watch = [](void *context, int32_t bucket) {
    return static_cast<DeviceProcessGroup *>(context)->watch(bucket);
  };
  functions.measured = [](void *context, const mp_reduction_time *times,
                          uint64_t count) {
    ProcessGroupFigures &figures =
        static_cast<DeviceProcessGroup *>(context)->figures;
    for (const mp_reduction_time &time : ArrayRef(times, count)) {
      figures.busySeconds += time.done - time.begun;
      figures.waitSeconds += time.resumed - time.needed;
    }
  };
  functions.error = [](void *context) {
    return static_cast<DeviceProcessGroup *>(context)->text.c_str();
  };
}

int32_t DeviceProcessGroup::check(int32_t error, const char *function) {
  if (error == 0)
    return 0;
  text =
      std::string("NCCL: ") + function + ": " + nccl.ncclGetErrorString(error);
  const char *more =
      nccl.ncclGetLastError ? nccl.ncclGetLastError(communicator) : nullptr;
  if (more && *more)
    text += std::string(" (") + StringRef(more).rtrim().str() + ")";
  return 1;
}

Expected<std::unique_ptr<DeviceProcessGroup>> DeviceProcessGroup::create(
    const mp_nccl &nccl, const RankDevice &device, const mp_nccl_id &id,
    int rank, int size, const ProcessGroupOptions &options, std::string who) {
  std::unique_ptr<DeviceProcessGroup> made(
      new DeviceProcessGroup(nccl, device, options, std::move(who)));
  int32_t number = 0;
  if (device.driver->cuDeviceGet(&number, device.number) ||
      device.driver->cuDevicePrimaryCtxRetain(&made->context, number)) {
    made->context = nullptr;
    return createStringError("device " + Twine(device.number) +
                             ": its context cannot be used for NCCL");
  }
  Current current(*device.driver, made->context);
  made->functions.rank = rank;
  made->functions.size = size;
  made->watchdog.begin("the start of NCCL");
  int32_t failed =
      made->check(nccl.ncclCommInitRank(&made->communicator, size, id, rank),
                  "ncclCommInitRank");
  made->watchdog.end();
  if (!failed)
    return made;
  made->communicator = nullptr;
  return createStringError(made->text);
}

DeviceProcessGroup::~DeviceProcessGroup() {
  if (isServing)
    mp_set_device_ranks(nullptr);
  if (!context)
    return;
  {
    Current current(*device.driver, context);
    if (communicator && !isAbandoned) {
      watchdog.begin("the end of NCCL");
      nccl.ncclCommDestroy(communicator);
      watchdog.end();
    }
  }
  int32_t number = 0;
  if (device.driver->cuDeviceGet(&number, device.number) == 0)
    device.driver->cuDevicePrimaryCtxRelease_v2(number);
}

void DeviceProcessGroup::serveSessions() {
  isServing = true;
  mp_set_device_ranks(&functions);
}

//===----------------------------------------------------------------------===//
// Operations within steps
//===----------------------------------------------------------------------===//

static void *asPointer(mp_device_address address) {
  return reinterpret_cast<void *>(address);
}

int32_t DeviceProcessGroup::abort() {
  watchdog.begin("the end of NCCL");
  nccl.ncclCommAbort(communicator);
  watchdog.end();
  communicator = nullptr;
  return 1;
}

int32_t DeviceProcessGroup::allToAll(mp_device_address shards,
                                     mp_device_address from,
                                     uint64_t shardBytes, void *stream) {
  if (!communicator)
    return 1;
  // The first collective establishes connections, for which ranks wait for each
  // other.
  watchdog.begin("what devices exchange");
  int32_t failed = check(nccl.ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < functions.size && !failed; ++rank) {
    uint64_t offset = uint64_t(rank) * shardBytes;
    failed = check(nccl.ncclSend(asPointer(shards + offset), shardBytes,
                                 MP_NCCL_BYTES, rank, communicator, stream),
                   "ncclSend");
    if (!failed)
      failed = check(nccl.ncclRecv(asPointer(from + offset), shardBytes,
                                   MP_NCCL_BYTES, rank, communicator, stream),
                     "ncclRecv");
  }
  int32_t ended = nccl.ncclGroupEnd();
  if (!failed)
    failed = check(ended, "ncclGroupEnd");
  watchdog.end();
  figures.bytes += shardBytes * uint64_t(functions.size - 1);
  return failed ? abort() : 0;
}

int32_t DeviceProcessGroup::allGather(mp_device_address own,
                                      mp_device_address all,
                                      uint64_t shardBytes, void *stream) {
  if (!communicator)
    return 1;
  watchdog.begin("what devices gather");
  int32_t failed =
      check(nccl.ncclAllGather(asPointer(own), asPointer(all), shardBytes,
                               MP_NCCL_BYTES, communicator, stream),
            "ncclAllGather");
  watchdog.end();
  figures.bytes += shardBytes * uint64_t(functions.size - 1);
  return failed ? abort() : 0;
}

int32_t DeviceProcessGroup::watch(int32_t bucket) {
  if (bucket != awaited) {
    watchdog.end();
    if (bucket >= 0)
      watchdog.begin("bucket " + std::to_string(bucket) +
                     " of gradients on devices");
    awaited = bucket;
  }
  if (!communicator)
    return 1;
  int32_t error = 0;
  if (check(nccl.ncclCommGetAsyncError(communicator, &error),
            "ncclCommGetAsyncError") == 0) {
    if (error == 0 || error == MP_NCCL_IN_PROGRESS)
      return 0;
    // The rank that failed has reported the reason, and the launcher ends all
    // others. This rank ends itself if the launcher does not.
    if (error == MP_NCCL_REMOTE_ERROR && !isLost)
      lost = std::chrono::steady_clock::now();
    isLost |= error == MP_NCCL_REMOTE_ERROR;
    if (isLost && std::chrono::steady_clock::now() < lost + timeToEnd)
      return 0;
    check(error, "reducing over ranks");
  }
  return abort();
}

} // namespace mp
