//===- Ranks.h - What the ranks of a training run share ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread makes all calls of the communicator, one after the other, beside
// the model: buckets of gradients begin when their last member is there, in the
// order in which that happens, which is the same on all ranks.
//
// Sums are made here, the library carries bytes: each rank gets its part of a
// bucket from all others, adds these up in the order of ranks, from +0 on and
// in the elements' own type, divides by their number, and sends the result to
// all. So the bits do not depend on the library, and are those of one rank that
// accumulates as many batches (mp-opt --accumulate).
//
// Models on devices do the same there where NCCL connects these; else what they
// reduce goes through the host.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_COLLECTIVES_RANKS_H
#define MPOPT_COLLECTIVES_RANKS_H

#include "mp-opt/Collectives/Communicator.h"
#include "mp-opt/Runtime/Device.h"
#include "mp-opt/Runtime/NCCL.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <vector>

namespace mp {

/// What models on devices reduce by.
enum class DeviceCollectives {
  /// NCCL where all ranks have it and each a device of its own, else MPI.
  Auto,
  NCCL,
  /// Through the host.
  MPI
};

/// The words for them, in the enumeration's order.
llvm::ArrayRef<llvm::StringRef> getCollectivesWords();

struct RanksOptions {
  /// Seconds after which a collective operation that is not done ends the
  /// process: its ranks have stopped, or never came to it. 0 for no limit.
  double timeout = 600;
  /// Gradients of f32 travel in bf16, rounded to nearest before they are sent
  /// and once more behind the sum, which is in f32. Half of the bytes; with a
  /// relative error of 2^-9 or so, however many ranks there are. Never fp16:
  /// unscaled gradients would leave its range.
  bool isWireBF16 = false;
  /// Launch's, by which ranks of one machine share its devices.
  int localRank = 0;
  DeviceCollectives deviceCollectives = DeviceCollectives::Auto;
  /// Slows every operation down, for tests: seconds for each byte.
  double secondsPerByte = 0;
};

/// The exit code of a process that the time limit ends: EX_TEMPFAIL.
constexpr int exitTimedOut = 75;

/// What this rank's steps have communicated so far.
struct RanksFigures {
  /// Sent.
  uint64_t bytes = 0;
  /// Of operations, and of the model waiting for them: what does not overlap.
  double busySeconds = 0, waitSeconds = 0;
};

/// The device of this rank, as its driver counts them.
struct RankDevice {
  const mp_driver *driver = nullptr;
  int number = 0;
};

/// Opens libnccl.so.2, or what MPOPT_NCCL_LIBRARY names.
llvm::Expected<const mp_nccl *> openNCCL();

class Ranks {
public:
  /// Connects to the launcher's other processes.
  static llvm::Expected<std::unique_ptr<Ranks>> join(const Launch &launch,
                                                     RanksOptions options = {});
  /// The same by another way to connect, which is asked from the thread that
  /// uses what it gives. `who` begins the line of a process that the time limit
  /// ends.
  using ConnectFn =
      std::function<llvm::Expected<std::unique_ptr<Communicator>>()>;
  static llvm::Expected<std::unique_ptr<Ranks>>
  join(ConnectFn connect, std::string who, RanksOptions options);
  ~Ranks();

  int getRank() const;
  int getSize() const;
  const std::string &getLibrary() const;
  const RanksOptions &getOptions() const;
  RanksFigures getFigures() const;

  /// Leaves the others alone: the end of this object waits for nobody. When the
  /// process ends, its launcher ends them.
  void abandon();

  // Each of these is called by all ranks, by one thread.

  /// Rank 0's bytes, to all others.
  llvm::Error broadcast(void *data, size_t bytes);
  /// Of each rank as many bytes as of this one.
  llvm::Expected<std::vector<char>> gather(llvm::ArrayRef<char> own);
  template <typename T> llvm::Expected<std::vector<T>> gatherNumbers(T own) {
    auto bytes = gather(
        llvm::ArrayRef<char>(reinterpret_cast<const char *>(&own), sizeof(T)));
    if (!bytes)
      return bytes.takeError();
    std::vector<T> all(bytes->size() / sizeof(T));
    std::copy(bytes->begin(), bytes->end(),
              reinterpret_cast<char *>(all.data()));
    return all;
  }

  /// Means over all ranks in the places of these elements.
  llvm::Error average(llvm::MutableArrayRef<float> elements);

  /// Whether models on devices can reduce there: all ranks find the same. Where
  /// they cannot, their memory goes through the host, and `getDeviceNote` says
  /// why; with DeviceCollectives::NCCL that is an error. `open` gives NCCL's
  /// functions.
  llvm::Error
  agreeOnDevices(const RankDevice &device,
                 llvm::function_ref<llvm::Expected<const mp_nccl *>()> open);
  /// Behind that, lets them do so. Where it fails on one rank, others may wait
  /// for that one until the time limit ends them.
  llvm::Error connectDevices();
  /// What devices reduce by, or why they do not; empty without devices.
  const std::string &getDeviceNote() const;

  /// What models call.
  const mp_collectives &getCollectives() const;
  /// The models of this process call it from now on, until the end of this
  /// object.
  void serveModels();

private:
  struct Impl;
  explicit Ranks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mp

#endif // MPOPT_COLLECTIVES_RANKS_H
