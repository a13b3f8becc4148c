//===- ReductionSpeed.cpp - Means of buckets, beside MPI's own sums -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank of mpiexec: means of 25 MiB of fp32 in twenty tensors, in the order of
// ranks, and MPI_Allreduce of as many bytes in one piece, in turn. Rank 0
// prints the seconds of both, a pair a line.
// (test/Run/Ranks/test_reduction_speed.py compares them.)
//
//===----------------------------------------------------------------------===//

#include "Collectives/OrderedReduce.h"
#include "mp-opt/Runtime/Runtime.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <dlfcn.h>
#include <functional>
#include <vector>

using namespace mp;

namespace {
constexpr size_t numElements = 25 << 18, numTensors = 20;
constexpr int warmup = 2, pairs = 9;

/// MPI's own, whose handles are numbers or addresses.
using AllReduce = std::function<int(const float *from, float *to)>;
} // namespace

template <typename Function> static Function find(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

template <typename Handle>
static AllReduce bind(Handle type, Handle sum, Handle world) {
  using Function = int (*)(const void *, void *, int, Handle, Handle, Handle);
  auto function = find<Function>("MPI_Allreduce");
  return [=](const float *from, float *to) {
    return function(from, to, int(numElements), type, sum, world);
  };
}

static AllReduce findAllReduce(const Launch &launch) {
  if (launch.kind != Launch::OpenMPI)
    return bind<int>(0x4c00040a, 0x58000003, 0x44000000);
  return bind<void *>(find<void *>("ompi_mpi_float"),
                      find<void *>("ompi_mpi_op_sum"),
                      find<void *>("ompi_mpi_comm_world"));
}

static llvm::Error measure(const Launch &launch) {
  auto connected = connect(launch);
  if (!connected)
    return connected.takeError();
  Communicator &ranks = **connected;
  AllReduce allReduce = findAllReduce(launch);
  std::vector<float> elements(numElements, float(ranks.getRank())),
      sums(numElements);
  std::vector<Member<float>> tensors;
  for (size_t first = 0; first < numElements; first += numElements / numTensors)
    tensors.push_back(
        llvm::MutableArrayRef(elements).slice(first, numElements / numTensors));
  // The time of the slowest rank: all ranks begin together and wait for each
  // other.
  auto time = [&](auto work) -> llvm::Expected<double> {
    char own = 0;
    std::vector<char> all(size_t(ranks.getSize()));
    if (llvm::Error failed = ranks.allGather(&own, all.data(), 1))
      return std::move(failed);
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error failed = work())
      return std::move(failed);
    if (llvm::Error failed = ranks.allGather(&own, all.data(), 1))
      return std::move(failed);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  for (int pair = 0; pair < warmup + pairs; ++pair) {
    auto means = time([&] {
      uint64_t sent = 0;
      return orderedReduce<float>(ranks, tensors, MP_MEAN,
                                  /*isWireBF16=*/false, sent);
    });
    if (!means)
      return means.takeError();
    auto own = time([&]() -> llvm::Error {
      if (allReduce(elements.data(), sums.data()) != 0)
        return llvm::createStringError("MPI_Allreduce fails");
      return llvm::Error::success();
    });
    if (!own)
      return own.takeError();
    if (pair >= warmup && ranks.getRank() == 0)
      llvm::outs() << llvm::format("%.6f %.6f\n", *means, *own);
  }
  // Means of 0 to n - 1, which are all ranks' then.
  float expected = float(ranks.getSize() - 1) / 2;
  if (elements.back() != expected ||
      sums.back() != expected * float(ranks.getSize()))
    return llvm::createStringError("the sums are wrong");
  return llvm::Error::success();
}

int main() {
  auto launch = Launch::find();
  llvm::Error failed = launch ? measure(*launch) : launch.takeError();
  if (!failed)
    return 0;
  llvm::errs() << llvm::toString(std::move(failed)) << "\n";
  return 1;
}
