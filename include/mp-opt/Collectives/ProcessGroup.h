//===- ProcessGroup.h - The ranks of a training run -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread makes all calls of the communicator, one after the other and
// concurrently with the model. Buckets of gradients begin when their last
// member is ready, in an order that is the same on all ranks.
//
// Sums are computed here; the library only transfers bytes. Each rank receives
// its shard of a bucket from all others, adds these up in the order of ranks,
// from +0 on and in the elements' own type, divides by the number of ranks, and
// sends the result to all. Therefore the bits do not depend on the library, and
// equal those of one rank that accumulates as many batches (mp-opt
// --accumulate).
//
// Models on devices do the same on the devices if NCCL connects them; otherwise
// their reductions go through the host.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_COLLECTIVES_PROCESSGROUP_H
#define MPOPT_COLLECTIVES_PROCESSGROUP_H

#include "mp-opt/Collectives/Communicator.h"
#include "mp-opt/Runtime/Device.h"
#include "mp-opt/Runtime/NCCL.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <vector>

namespace mp {

/// The transport for reductions of models on devices.
enum class DeviceCollectives {
  /// NCCL if all ranks have it and each has its own device, else MPI.
  Auto,
  NCCL,
  /// MPI, through the host.
  MPI
};

/// The names in flags, in the enumeration's order.
llvm::ArrayRef<llvm::StringRef> getCollectivesWords();

struct ProcessGroupOptions {
  /// Seconds after which an unfinished collective operation ends the process,
  /// because other ranks have stopped or never reached it. 0 for no limit.
  double timeout = 600;
  /// Sends f32 gradients as bf16, rounded to nearest before they are sent and
  /// once more after the sum, which is in f32. This halves the bytes, with a
  /// relative error of about 2^-9 for any number of ranks. fp16 is not an
  /// option: unscaled gradients would leave its range.
  bool isWireBF16 = false;
  /// The number in Launch, by which ranks of one machine share its devices.
  int localRank = 0;
  DeviceCollectives deviceCollectives = DeviceCollectives::Auto;
  /// For tests, slows every operation down by this time per byte, in seconds.
  double secondsPerByte = 0;
};

/// The exit code of a process that the time limit ends: EX_TEMPFAIL.
constexpr int exitTimedOut = 75;

/// Totals of the communication by this rank's steps.
struct ProcessGroupFigures {
  /// Sent.
  uint64_t bytes = 0;
  /// The time of operations, and the time that the model has waited for them,
  /// i.e. that does not overlap.
  double busySeconds = 0, waitSeconds = 0;
};

/// The driver of this rank's device, and the driver's number of it.
struct RankDevice {
  const mp_driver *driver = nullptr;
  int number = 0;
};

/// Opens libnccl.so.2, or the library named by MPOPT_NCCL_LIBRARY.
llvm::Expected<const mp_nccl *> openNCCL();

/// All ranks of a training run.
class ProcessGroup {
public:
  /// Connects to the launcher's other processes.
  static llvm::Expected<std::unique_ptr<ProcessGroup>>
  join(const Launch &launch, ProcessGroupOptions options = {});
  /// Joins with another connection function, which is called by the thread that
  /// uses its result. `who` begins the error line if the time limit ends the
  /// process.
  using ConnectFn =
      std::function<llvm::Expected<std::unique_ptr<Communicator>>()>;
  static llvm::Expected<std::unique_ptr<ProcessGroup>>
  join(ConnectFn connect, std::string who, ProcessGroupOptions options);
  ~ProcessGroup();

  int getRank() const;
  int getSize() const;
  const std::string &getLibrary() const;
  const ProcessGroupOptions &getOptions() const;
  ProcessGroupFigures getFigures() const;

  /// Makes the destructor not wait for other ranks. When the process ends, its
  /// launcher ends them.
  void abandon();

  // Each of these is called by all ranks, by one thread.

  /// Sends rank 0's bytes to all others.
  llvm::Error broadcast(void *data, size_t bytes);
  /// Gathers the bytes of all ranks, which must have the same size.
  llvm::Expected<std::vector<char>> allGather(llvm::ArrayRef<char> own);
  template <typename T> llvm::Expected<std::vector<T>> allGatherNumbers(T own) {
    auto bytes = allGather(
        llvm::ArrayRef<char>(reinterpret_cast<const char *>(&own), sizeof(T)));
    if (!bytes)
      return bytes.takeError();
    std::vector<T> all(bytes->size() / sizeof(T));
    std::copy(bytes->begin(), bytes->end(),
              reinterpret_cast<char *>(all.data()));
    return all;
  }

  /// Replaces these elements by their means over all ranks.
  llvm::Error average(llvm::MutableArrayRef<float> elements);

  /// Decides if models on devices can reduce there; the decision is the same on
  /// all ranks. Otherwise their memory goes through the host, and
  /// `getDeviceNote` gives the reason; with DeviceCollectives::NCCL this is an
  /// error. `open` returns NCCL's functions.
  llvm::Error
  agreeOnDevices(const RankDevice &device,
                 llvm::function_ref<llvm::Expected<const mp_nccl *>()> open);
  /// Connects the devices after `agreeOnDevices`. If this fails on one rank,
  /// others may wait for it until the time limit ends them.
  llvm::Error connectDevices();
  /// The transport of devices, or the reason why they do not reduce; empty
  /// without devices.
  const std::string &getDeviceNote() const;

  /// The functions that models call.
  const mp_collectives &getCollectives() const;
  /// Makes the models of this process use it from now on, until its
  /// destruction.
  void serveModels();

private:
  struct Impl;
  explicit ProcessGroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mp

#endif // MPOPT_COLLECTIVES_PROCESSGROUP_H
