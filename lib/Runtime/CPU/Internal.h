//===- Internal.h - Internals of the run-time -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run-time is linked into programs that may be written in C, so it only
// uses parts of C++ that need no library. Objects with static lifetime have
// constant initializers and no destructors.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_INTERNAL_H
#define MPOPT_LIB_RUNTIME_INTERNAL_H

#include "mp-opt/Runtime/CompiledCode.h"
#include "mp-opt/Runtime/Runtime.h"

#include <pthread.h>

namespace mp::runtime {

class Mutex {
public:
  void lock() { pthread_mutex_lock(&mutex); }
  bool tryLock() { return pthread_mutex_trylock(&mutex) == 0; }
  void unlock() { pthread_mutex_unlock(&mutex); }
  pthread_mutex_t *get() { return &mutex; }

private:
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

class Lock {
public:
  explicit Lock(Mutex &mutex) : mutex(mutex) { mutex.lock(); }
  ~Lock() { mutex.unlock(); }
  Lock(const Lock &) = delete;

private:
  Mutex &mutex;
};

struct Call;

/// The call that the thread works for: that of the thread that made it.
Call *getCurrentCall();
/// Sets the current call of a thread of the pool.
void workFor(Call *call);
/// Ends the call, whose error is already recorded.
[[noreturn]] void endCall(int32_t code);

/// The collectives passed to mp_set_collectives; null for a single rank.
const mp_collectives *getCollectives();

/// Records the reason why a call cannot be made; it may concern the input
/// `name`. Returns `code`.
int32_t refuse(int32_t code, const char *name, const char *what);

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_INTERNAL_H
