//===- State.h - What the emulated driver has -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EMULATION_DRIVER_STATE_H
#define MPOPT_LIB_EMULATION_DRIVER_STATE_H

#include "mp-opt/Emulation/EmulatedDriver.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

/// The functions' names: those of libcuda.so.1 where this is built as one.
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

/// Bytes of shared memory: without being asked for, and at most.
constexpr uint32_t commonShared = 48 * 1024, mostShared = 227 * 1024;

/// Done when the stream is waited for; what it returns is an error, 0, or
/// MP_CUDA_NOT_READY: it is to be called again.
using Work = std::function<int32_t()>;

struct Graph {
  std::vector<Work> work;
};

struct Stream {
  void add(Work work) { pending.push_back(std::move(work)); }
  /// Of all work that was ever in line.
  uint64_t getEnd() const { return done + pending.size(); }

  std::deque<Work> pending;
  uint64_t done = 0;
  /// The end when somebody has asked whether it is reached.
  uint64_t asked = 0;
  /// Null if nothing is recorded.
  std::unique_ptr<Graph> recorded;
  /// What must not be in a recording has been called.
  bool isInvalid = false;
};

/// All work of a stream up to an end.
struct Event {
  Stream *stream = nullptr;
  uint64_t end = 0;
  /// When that was done, if it can be asked for.
  bool hasTime = false;
  std::chrono::steady_clock::time_point time;
};

struct Function {
  const mp_emulated_kernel *kernel;
  uint32_t dynamicShared = commonShared;
  /// How many launches have run.
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
  /// The rest of the allocation behind an address; 0 if it is in none.
  uint64_t getBytesBehind(mp_device_address address) const;
  uint64_t getUsed() const { return used; }
  size_t getCount() const { return blocks.size(); }

  /// Lets kernels and copies reach it, until `close`.
  void open();
  void close();
  /// False if something was written behind the end of a block.
  bool isWhole() const;

private:
  struct Block {
    /// What was asked for; rounded up, which ends with a page.
    uint64_t bytes, rounded;
    /// All pages, those that stay closed at both ends included.
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
  /// Of MPOPT_EMULATED_FAIL: a function, and how many calls of it succeed.
  std::string failingFunction;
  int64_t failingNumber = 0;
  bool isStarted = false;
  int32_t contexts = 0;
  /// What a kernel has failed with.
  int32_t sticky = 0;
  Memory memory;
  std::set<void *> hostMemory;
  std::map<Stream *, std::unique_ptr<Stream>> streams;
  /// Records in line keep them.
  std::map<Event *, std::shared_ptr<Event>> events;
  std::map<Graph *, std::unique_ptr<Graph>> graphs;
  /// Graphs in line live as long as they have to.
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

/// Begins each function: holds the state, writes a line, and says whether it
/// may go on.
class Call {
public:
  enum Needs { Nothing, Start, Context };
  Call(Needs needs, const char *format, ...)
      __attribute__((format(printf, 3, 4)));

  /// What the function returns at once; 0 if it may go on.
  int32_t error = 0;
  State &state;

private:
  std::unique_lock<std::mutex> lock;
};

/// What cuGetErrorString says of the next error of this thread. Returns it.
int32_t complain(int32_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void writeLog(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Puts work in line, or into what is recorded.
int32_t add(State &state, void *stream, Work work);
/// Null, after a complaint, if there is no such stream.
Stream *findStream(State &state, void *handle, int32_t &error);
/// Nothing may be in line or recorded, for what `what` does.
int32_t checkQuiet(State &state, const char *what);

} // namespace mp::emulation

#endif // MPOPT_LIB_EMULATION_DRIVER_STATE_H
