//===- OrtABI.h - The part of onnxruntime's C interface in use --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// onnxruntime's C interface grows at the ends of its structures and never
// changes what they have. This file declares, in our own words, the structures
// that a plugin fills in, up to the members of version 23 (onnxruntime 1.23);
// OrtFunctions.def has the functions that it calls. No header of onnxruntime is
// needed. test/Provider calls each of them in the real library.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_ORTABI_H
#define MPOPT_LIB_PROVIDER_ORTABI_H

#include <cstddef>
#include <cstdint>

namespace mp::ort {

/// The version of the functions that are called: onnxruntime 1.24.
constexpr uint32_t apiVersion = 24;
/// The version of the structures that the plugin fills in.
constexpr uint32_t structVersion = 23;

// Objects of onnxruntime, which only it can look into.
struct Status;
struct Value;
struct TypeInfo;
struct TensorInfo;
struct KeyValuePairs;
struct SessionOptions;
struct Logger;
struct KernelContext;
struct ComputeContext;
struct Graph;
struct Node;
struct ValueInfo;
struct Attribute;
struct HardwareDevice;
struct Device;
struct GraphSupport;
struct Allocator;
struct MemoryInfo;
struct DataTransfer;
struct SyncStream;
struct MemoryDevice;

enum ErrorCode : int32_t {
  errorFail = 1,
  errorInvalidArgument = 2,
  errorEP = 11
};
enum LogLevel : int32_t { logInfo = 1, logWarning = 2 };
enum ValueKind : int32_t { kindTensor = 1 };
enum DeviceType : int32_t { deviceCPU = 0 };
enum AttributeKind : int32_t {
  attributeInt = 1,
  attributeInts,
  attributeFloat,
  attributeFloats,
  attributeString,
  attributeStrings,
  attributeGraph,
  attributeTensor
};

/// The two functions that every onnxruntime has. `getApi` returns a table of
/// functions, or null if onnxruntime is older than `version`.
struct ApiBase {
  const void *(*getApi)(uint32_t version);
  const char *(*getVersionString)();
};

/// Settings of a group of nodes that becomes one node.
struct FusionOptions {
  uint32_t version = structVersion;
  /// The plugin has copied the constants; onnxruntime may free them.
  bool dropsConstants = false;
};

/// The functions of one group of nodes. `compute` is called by several threads.
struct ComputeInfo {
  uint32_t version = structVersion;
  Status *(*createState)(ComputeInfo *, ComputeContext *, void **state) = {};
  Status *(*compute)(ComputeInfo *, void *state, KernelContext *) = {};
  void (*releaseState)(ComputeInfo *, void *state) = {};
};

/// An execution provider of one session. Null members have defaults.
struct Ep {
  uint32_t version = structVersion;
  const char *(*getName)(const Ep *) = {};
  Status *(*getCapability)(Ep *, const Graph *, GraphSupport *) = {};
  Status *(*compile)(Ep *, const Graph **graphs, const Node **fusedNodes,
                     size_t count, ComputeInfo **infos,
                     Node **contextNodes) = {};
  void (*releaseComputeInfos)(Ep *, ComputeInfo **infos, size_t count) = {};
  /// Data layouts (2), dynamic options, start and end of a run, allocator,
  /// stream, compatibility of compiled models.
  void (*unused[8])() = {};
};

/// Makes providers for sessions.
struct EpFactory {
  uint32_t version = structVersion;
  const char *(*getName)(const EpFactory *) = {};
  const char *(*getVendor)(const EpFactory *) = {};
  Status *(*getSupportedDevices)(EpFactory *, const HardwareDevice *const *,
                                 size_t numHardware, Device **devices,
                                 size_t maxDevices, size_t *numDevices) = {};
  Status *(*createEp)(EpFactory *, const HardwareDevice *const *,
                      const KeyValuePairs *const *metadata, size_t numDevices,
                      const SessionOptions *, const Logger *, Ep **) = {};
  void (*releaseEp)(EpFactory *, Ep *) = {};
  uint32_t (*getVendorId)(const EpFactory *) = {};
  const char *(*getVersion)(const EpFactory *) = {};
  /// Compatibility of compiled models.
  void (*unused)() = {};
  Status *(*createAllocator)(EpFactory *, const MemoryInfo *,
                             const KeyValuePairs *, Allocator **) = {};
  void (*releaseAllocator)(EpFactory *, Allocator *) = {};
  Status *(*createDataTransfer)(EpFactory *, DataTransfer **) = {};
  bool (*isStreamAware)(const EpFactory *) = {};
  Status *(*createSyncStream)(EpFactory *, const MemoryDevice *,
                              const KeyValuePairs *, SyncStream **) = {};
};

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_ORTABI_H
