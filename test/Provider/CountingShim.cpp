//===- CountingShim.cpp - Calls of onnxruntime, counted -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A provider library that passes everything on to that of mp-opt, whose path is
// in MPOPT_PROVIDER, but with tables of functions that count calls. A test can
// thus show that each declared function was called in the real onnxruntime: a
// wrong place in a table would be another function.
//
//===----------------------------------------------------------------------===//

#include "OrtABI.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace mp::ort {

/// The slots that are copied; more than the largest in use.
constexpr unsigned numSlots = 415, numEpSlots = 3;

template <int Table, unsigned Slot, typename Function> struct Counted;
template <int Table, unsigned Slot, typename Result, typename... Parameters>
struct Counted<Table, Slot, Result(Parameters...)> {
  static inline Result (*real)(Parameters...) = nullptr;
  static inline std::atomic<unsigned> calls{0};
  static Result call(Parameters... parameters) {
    ++calls;
    return real(parameters...);
  }

  static void install(void **table) {
    real = reinterpret_cast<Result (*)(Parameters...)>(table[Slot]);
    table[Slot] = reinterpret_cast<void *>(&call);
  }
};

static void *table[numSlots], *epTable[numEpSlots];
static const ApiBase *realBase;

/// GetEpApi is called before the tables are in use; it returns ours.
static const void *getEpTable() {
  ++Counted<0, 317, const void *()>::calls;
  return epTable;
}

static const void *getTable(uint32_t version) {
  const void *found = realBase->getApi(version);
  if (!found)
    return nullptr;
  std::memcpy(table, found, sizeof(table));
  const void *own = reinterpret_cast<const void *(*)()>(table[317])();
  std::memcpy(epTable, own, sizeof(epTable));
#define MP_ORT_FUNCTION(SLOT, NAME, RESULT, PARAMETERS)                        \
  Counted<0, SLOT, RESULT PARAMETERS>::install(table);
#define MP_ORT_EP_FUNCTION(SLOT, NAME, RESULT, PARAMETERS)                     \
  Counted<1, SLOT, RESULT PARAMETERS>::install(epTable);
#include "OrtFunctions.def"
  table[317] = reinterpret_cast<void *>(&getEpTable);
  return table;
}

static const char *getVersion() { return realBase->getVersionString(); }

static void *findReal(const char *name) {
  const char *path = std::getenv("MPOPT_PROVIDER");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  void *found = library ? dlsym(library, name) : nullptr;
  if (!found)
    std::abort();
  return found;
}

} // namespace mp::ort

using namespace mp::ort;

extern "C" {

Status *CreateEpFactories(const char *name, const ApiBase *base,
                          const Logger *logger, EpFactory **factories,
                          size_t maxFactories, size_t *numFactories) {
  static const ApiBase own = {&getTable, &getVersion};
  realBase = base;
  auto *real = reinterpret_cast<decltype(&CreateEpFactories)>(
      findReal("CreateEpFactories"));
  return real(name, &own, logger, factories, maxFactories, numFactories);
}

Status *ReleaseEpFactory(EpFactory *factory) {
  return reinterpret_cast<decltype(&ReleaseEpFactory)>(
      findReal("ReleaseEpFactory"))(factory);
}

/// The names of functions that were not called, and the number of those that
/// were.
const char *mp_uncalled(unsigned *called) {
  static std::string names;
  names.clear();
  *called = 0;
  auto add = [&](const char *name, unsigned calls) {
    *called += calls > 0;
    if (!calls)
      names += std::string(names.empty() ? "" : " ") + name;
  };
#define MP_ORT_FUNCTION(SLOT, NAME, RESULT, PARAMETERS)                        \
  add(#NAME, Counted<0, SLOT, RESULT PARAMETERS>::calls);
#define MP_ORT_EP_FUNCTION(SLOT, NAME, RESULT, PARAMETERS)                     \
  add(#NAME, Counted<1, SLOT, RESULT PARAMETERS>::calls);
#include "OrtFunctions.def"
  return names.c_str();
}

} // extern "C"
