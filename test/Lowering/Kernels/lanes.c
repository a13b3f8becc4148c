// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for AMD's GPUs on the processor, for amd_kernels.py: threads of a
// block take turns, and change places where they wait for each other. Which
// lane of a product holds which elements is read off what AMD has published
// ("AMD matrix cores"; "How to accelerate AI applications on RDNA 3 using
// WMMA"), and not off the code that makes kernels.

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { maxThreads = 1024, maxWaves = maxThreads / 32, stackBytes = 1 << 16 };

/// Dynamic shared memory.
char mp_shared[1 << 16] __attribute__((aligned(1024)));

typedef struct {
  float a[16], b[16];
} Factors;

typedef void (*Kernel)(void *, void *, void *, void *, void *, void *, void *,
                       void *);

/// Threads that wait for each other: the number that has arrived, and how often
/// all have.
typedef struct {
  uint32_t arrived, times;
} ConvergencePoint;

static Kernel kernel;
static void **operands;
static ConvergencePoint all, waves[maxWaves];
static Factors factors[maxThreads];
/// The contexts in which threads begin; then the places where they are, and the
/// scheduler that calls them.
static ucontext_t beginnings[maxThreads];
static jmp_buf places[maxThreads], scheduler;
static char isBegun[maxThreads], isDone[maxThreads];
static uint32_t numThreads, ownThread, ownBlock, lanesOfWave;
/// Set where lanes do not hold what they have to.
static int isWrong;

uint32_t lanes_thread(void) { return ownThread; }
uint32_t lanes_block(void) { return ownBlock; }

/// Yields to other threads until `count` threads have arrived.
static void arrive(ConvergencePoint *point, uint32_t count) {
  uint32_t times = point->times;
  if (++point->arrived == count) {
    point->arrived = 0;
    ++point->times;
    return;
  }
  uint32_t thread = ownThread;
  while (point->times == times)
    if (!_setjmp(places[thread]))
      _longjmp(scheduler, 1);
}

void lanes_barrier(void) { arrive(&all, numThreads); }

static float toFloat(uint16_t bits, int isF16) {
  float value;
  if (isF16) {
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return (float)half;
  }
  uint32_t wide = (uint32_t)bits << 16;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/// Each lane shows its factors, and sees those of all.
static const Factors *exchange(const uint16_t *a, const uint16_t *b, int count,
                               int isF16) {
  uint32_t wave = ownThread / lanesOfWave;
  for (int i = 0; i < count; ++i) {
    factors[ownThread].a[i] = toFloat(a[i], isF16);
    factors[ownThread].b[i] = toFloat(b[i], isF16);
  }
  arrive(&waves[wave], lanesOfWave);
  return factors + wave * lanesOfWave;
}

static void finish(void) {
  arrive(&waves[ownThread / lanesOfWave], lanesOfWave);
}

/// 16 x 16 x 16 by 64 lanes: four factors and four sums of each.
void lanes_mfma(const uint16_t *a, const uint16_t *b, float *sums, int isF16) {
  const Factors *lanes = exchange(a, b, 4, isF16);
  uint32_t lane = ownThread % 64, column = lane % 16;
  isWrong |= lanesOfWave != 64;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t row = lane / 16 * 4 + i;
    for (uint32_t k = 0; k < 16; ++k)
      sums[i] += lanes[row + k / 4 * 16].a[k % 4] *
                 lanes[column + k / 4 * 16].b[k % 4];
  }
  finish();
}

/// 16 x 16 x 16 by 32 lanes: sixteen factors, which both halves hold, and eight
/// sums of each.
void lanes_wmma(const uint16_t *a, const uint16_t *b, float *sums, int isF16) {
  const Factors *lanes = exchange(a, b, 16, isF16);
  uint32_t lane = ownThread % 32, column = lane % 16;
  isWrong |= lanesOfWave != 32 ||
             memcmp(&lanes[lane], &lanes[lane ^ 16], sizeof *lanes) != 0;
  for (uint32_t i = 0; i < 8; ++i) {
    uint32_t row = 2 * i + lane / 16;
    for (uint32_t k = 0; k < 16; ++k)
      sums[i] += lanes[row].a[k] * lanes[column].b[k];
  }
  finish();
}

static void runThread(void) {
  kernel(operands[0], operands[1], operands[2], operands[3], operands[4],
         operands[5], operands[6], operands[7]);
  isDone[ownThread] = 1;
  _longjmp(scheduler, 1);
}

/// Runs a thread until it waits, or is done.
static void resume(uint32_t thread) {
  ownThread = thread;
  if (_setjmp(scheduler))
    return;
  if (isBegun[thread])
    _longjmp(places[thread], 1);
  isBegun[thread] = 1;
  setcontext(&beginnings[thread]);
}

/// 0 if lanes held what they have to.
int lanes_run(Kernel function, void **arguments, uint32_t blocks,
              uint32_t threads, uint32_t waveLanes) {
  static char *stacks;
  if (!stacks && !(stacks = malloc((size_t)maxThreads * stackBytes)))
    return 3;
  if (threads % waveLanes != 0 || threads > maxThreads)
    return 2;
  kernel = function;
  operands = arguments;
  numThreads = threads;
  lanesOfWave = waveLanes;
  isWrong = 0;
  for (ownBlock = 0; ownBlock < blocks; ++ownBlock) {
    // Memory that nobody has written holds NaN.
    memset(mp_shared, 0xff, sizeof mp_shared);
    for (uint32_t i = 0; i < threads; ++i) {
      getcontext(&beginnings[i]);
      beginnings[i].uc_stack.ss_sp = stacks + (size_t)i * stackBytes;
      beginnings[i].uc_stack.ss_size = stackBytes;
      makecontext(&beginnings[i], runThread, 0);
      isBegun[i] = isDone[i] = 0;
    }
    for (uint32_t left = threads; left > 0;)
      for (uint32_t i = 0; i < threads; ++i) {
        if (isDone[i])
          continue;
        resume(i);
        left -= isDone[i];
      }
  }
  return isWrong;
}
