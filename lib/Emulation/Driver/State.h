//===- State.h - State of the emulated driver -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EMULATION_DRIVER_STATE_H
#define MPOPT_LIB_EMULATION_DRIVER_STATE_H

#include "mp-opt/Codegen/Target/GPULimits.h"
#include "mp-opt/Emulation/EmulatedDriver.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// The names of the functions: those of libcuda.so.1 if this is built as a
/// replacement of it.
#ifdef MPOPT_EXPORT_CUDA
#define MP_EMULATED(NAME) NAME
#else
#define MP_EMULATED(NAME) mp_emulated_##NAME
#endif

extern "C" {
#define MP_DRIVER_FUNCTION(NAME, PARAMETERS)                                   \
  int32_t MP_EMULATED(NAME) PARAMETERS;
#include "mp-opt/Runtime/DriverFunctions.def"
}

namespace mp::emulation {

/// Bytes of shared memory of a block: by default, and at most with an opt-in.
constexpr uint32_t commonShared = device::maxStaticShared,
                   maxOptInShared = device::maxHopperShared;

/// A queued work item, run when the stream is waited for. Returns an error, 0,
/// or MP_CUDA_NOT_READY to be called again later.
using Work = std::function<int32_t()>;

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  void add(Work work) { pending.push_back(std::move(work)); }
  /// The number of all work items that were ever queued.
  uint64_t getEnd() const { return done + pending.size(); }

  /// In the log: streams are counted from 1 as they are created.
  unsigned number = 0;
  std::deque<Work> pending;
  uint64_t done = 0;
  /// The end at the time of the last query of the stream.
  uint64_t asked = 0;
  /// Null if nothing is recorded.
  std::unique_ptr<Graph> recorded;
  /// A function that is not allowed during recording was called.
  bool isInvalid = false;
};

/// Represents all work of a stream up to an end.
struct Event {
  Stream *stream = nullptr;
  uint64_t end = 0;
  /// The time at which that was done, if timing is enabled.
  bool hasTime = false;
  std::chrono::steady_clock::time_point time;
};

struct Function {
  const mp_emulated_kernel *kernel;
  uint32_t dynamicShared = commonShared;
  /// The number of launches that have run.
  std::shared_ptr<uint64_t> launches = std::make_shared<uint64_t>(0);
};

struct Module {
  std::map<std::string, Function> functions;
  void *library = nullptr;
};

/// Memory of the device, in pages that the host cannot touch.
class Memory {
public:
  int32_t allocate(uint64_t bytes, uint64_t limit, mp_device_address &address);
  int32_t free(mp_device_address address);
  /// True if all of it is in one allocation.
  bool contains(mp_device_address address, uint64_t bytes) const;
  /// The number of bytes from an address to the end of its allocation; 0 if it
  /// is in none.
  uint64_t getBytesBehind(mp_device_address address) const;
  uint64_t getUsed() const { return used; }
  size_t getCount() const { return blocks.size(); }

  /// Makes memory accessible for kernels and copies until `close`.
  void open();
  void close();
  /// False if bytes after the end of a block were written.
  bool isWhole() const;

private:
  struct Block {
    /// The requested size, and the size rounded up to end with a page.
    uint64_t bytes, rounded;
    /// All pages, including the inaccessible ones at both ends.
    char *pages;
    uint64_t pageBytes;
  };
  void protect(const Block &block, mp_device_address address, int flags);

  std::map<mp_device_address, Block> blocks;
  uint64_t used = 0;
};

struct State {
  std::mutex mutex;
  mp_emulated_device device;
  int64_t calls = 0, failingCall = -1;
  int32_t injected = 0;
  /// Parsed from MPOPT_EMULATED_FAIL: a function, and the number of its calls
  /// that succeed.
  std::string failingFunction;
  int64_t failingNumber = 0;
  bool isStarted = false;
  int32_t contexts = 0;
  /// The error with which a kernel has failed.
  int32_t sticky = 0;
  Memory memory;
  /// Pinned memory of the host, and its sizes.
  std::map<char *, size_t> hostMemory;
  unsigned numStreams = 0;
  /// Streams that nothing waits for run as early as possible.
  bool isEarly = false;
  std::map<Stream *, std::unique_ptr<Stream>> streams;
  /// Queued records keep their events alive.
  std::map<Event *, std::shared_ptr<Event>> events;
  std::map<Graph *, std::unique_ptr<Graph>> graphs;
  /// Queued graphs are kept alive as long as necessary.
  std::map<Graph *, std::shared_ptr<Graph>> executables;
  std::map<Module *, std::unique_ptr<Module>> modules;

  State();
  void readFailure(const char *text);
  /// Counts a call.
  bool isToFail(const char *call);
  bool isRecording() const;
  bool isPending() const;
  Function *findFunction(void *handle);
};

State &getState();

/// Begins each function: locks the state, writes a line to the log, and decides
/// if the function may continue.
class Call {
public:
  enum Needs { Nothing, Start, Context };
  Call(Needs needs, const char *format, ...)
      __attribute__((format(printf, 3, 4)));

  /// The error to return at once; 0 to continue.
  int32_t error = 0;
  State &state;

private:
  std::unique_lock<std::mutex> lock;
};

/// Sets the text of cuGetErrorString for the next error of this thread. Returns
/// `error`.
int32_t complain(int32_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void writeLog(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Queues work, or adds it to the recording of the stream.
int32_t add(State &state, void *stream, Work work);
/// Returns null after a complaint if the stream does not exist.
Stream *findStream(State &state, void *handle, int32_t &error);
/// Fails if work is queued or recorded, which the action `what` forbids.
int32_t checkQuiet(State &state, const char *what);

} // namespace mp::emulation

#endif // MPOPT_LIB_EMULATION_DRIVER_STATE_H
